"""The loop on a running cluster (``penstock watch``): one watcher, a turn every few seconds.

A turn reads the engine (:mod:`penstock.engines.reading`), makes an observation of it, lets
:func:`penstock.control.loop.turn` decide, writes the journal, and acts as far as it may.
"""

"""What topologies run on: engines behind one protocol, the lab of unlike machines, Java.

:mod:`penstock.engines.base` says what an engine is, :mod:`penstock.engines.registry` which there
are. Nothing above this package knows one engine from another.
"""

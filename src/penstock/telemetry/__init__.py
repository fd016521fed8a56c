"""The Spark pipeline: samples in, tables, a profile and the history out.

The flow is in this folder: ``source``, ``ingest`` with ``checks``, ``clean``, ``windows``, the
tables (``streams``, ``traffic``, ``usage``), ``measure``, ``drift``, ``quality``; ``pipeline`` runs
it. Beside it: ``storm`` reads what Storm writes by itself, ``fit`` turns windows into costs,
``history`` keeps what was planned and what came of it, ``synthetic`` makes telemetry of known
truth, ``pdsp`` studies the measured runs of PDSP-Bench.
"""

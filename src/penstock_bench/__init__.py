"""The harness: benchmarks, the papers' evaluations, recorded and synthetic data, contract suites.

A distribution of its own (``penstock-bench``); nothing of it is needed to plan or to watch.
"""

__version__ = "0.1.0"

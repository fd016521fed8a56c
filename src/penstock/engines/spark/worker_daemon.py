"""Spark's daemon of Python workers, with what their tasks need loaded once, before it forks them.

PySpark's own loads nothing: each worker then spends a second of CPU on libraries, and Spark starts
one for each core. Nothing that is loaded here starts a thread, which would be lost in a fork
(OpenBLAS is told not to, :mod:`penstock.engines.spark.session`).
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark import daemon

#: The worker itself, and the tasks of the telemetry pipeline with all that they load.
PRELOADED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "penstock.telemetry.slots.take_in",
    "penstock.telemetry.slots.hour_task",
    "penstock.telemetry.slots.fit_task",
)


def main() -> None:
    for name in PRELOADED:
        import_module(name)
    # Workers share what is loaded now for as long as nobody writes to it.
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()

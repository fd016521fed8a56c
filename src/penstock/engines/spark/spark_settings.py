"""What Spark is told at its start: the same on any machine, in UTC, quiet and soon ready."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from penstock.engines.spark.class_archive import ClassArchive
from penstock.engines.spark.spark_log import has_java

DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
#: Our own code.
PACKAGE = Path(__file__).parents[2]
#: Java moves bytes and plans; what takes long is done in Python. Compiled in haste is well enough.
#: Checking a record takes more code than Java compiles by itself; interpreted, it crawls.
_JAVA_OPTIONS = (
    "-Duser.timezone=UTC", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData",
    "-XX:-DontCompileHugeMethods",
)  # fmt: skip
#: Forks workers that have loaded what they need.
_WORKER_DAEMON = "penstock.engines.spark.worker_daemon"
#: Python workers keep the memory they free: the next batch needs as much, and getting pages from
#: the system anew costs more than reading a file.
KEEP_MEMORY = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "1073741824",
    "MALLOC_TOP_PAD_": "16777216",
}


def java_options(master: str, log4j: Path, archive: ClassArchive) -> dict[str, str]:
    """What Java is started with, here and on executors."""
    # A Java that runs already is told nothing any more.
    shared = archive.options_to_use() if has_java() else archive.options()
    driver = (f"-Dlog4j2.configurationFile=file:{log4j}", *_JAVA_OPTIONS, *shared)
    # Executors elsewhere have no such file.
    executor = (*_JAVA_OPTIONS, *(archive.options_to_use() if _is_here(master) else ()))
    return {
        DRIVER_OPTIONS: " ".join(driver),
        "spark.executor.extraJavaOptions": " ".join(executor),
    }


def _is_here(master: str) -> bool:
    """Whether all of this Spark runs on this computer, with our files."""
    return master.startswith(("local", "spark://127.", "spark://localhost"))


def shares_code(master: str) -> bool:
    """Whether workers have our Python, with all that is installed for it."""
    return _is_here(master) and os.environ.get("PYSPARK_PYTHON") == sys.executable


def usual_settings(master: str, driver_memory: str, scratch: str) -> dict[str, str]:
    """What Spark is told where the user says nothing else."""
    settings = {
        "spark.driver.memory": driver_memory,
        **{f"spark.executorEnv.{name}": value for name, value in KEEP_MEMORY.items()},
        # A worker has one core; threads would be lost where it is forked.
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # One file per hour and task at the same time, instead of sorting all rows by hour.
        "spark.sql.maxConcurrentOutputFileWriters": "64",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # One writer per store; the success marker would be the only file that differs between runs.
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if shares_code(master):
        # Workers load the code that runs here, all of them at once.
        paths = filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")])
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(paths)
        settings["spark.python.daemon.module"] = _WORKER_DAEMON
    if master.startswith(("spark://127.", "spark://localhost")):
        # Workers on this machine find the driver here, whatever its name resolves to.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if master.startswith("local"):
        cores = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": scratch,
            # Spark's 200 is for a cluster; adaptive execution only ever merges partitions.
            "spark.sql.shuffle.partitions": str(max(4, 2 * cores)),
        }
    return settings

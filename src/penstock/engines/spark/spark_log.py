"""Where Spark's own output goes: to a file, never to the user's terminal.

Everything that Java and the Python workers below it print (log lines, stack traces of its threads,
what a user's function prints) goes to one file for as long as Java runs. The file is removed when
this process ends, unless Spark failed or the caller asked for it by name.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from penstock.engines.spark.java_start import (
    JavaDidNotStart,
    StartingJava,
    has_gateway,
    spark_home,
)
from penstock.engines.spark.spark_secret import SECRET
from penstock.errors import InputError
from penstock.telemetry.spark_errors import LONGEST_REASON, SparkFailed, reason_of

LOG4J = """rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
# Spark makes this one's level that of the root, and would choose it by itself.
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = warn
"""
#: A call fails a moment before the process that it went to is gone.
_ENDS_WITHIN_S = 1.0


@dataclass
class SparkLog:
    """The file that Java writes to."""

    path: Path
    is_kept: bool

    @classmethod
    def at(cls, path: Path | None) -> SparkLog:
        """A log at a path of the caller's, which stays, or at one of our own, which may go."""
        if path is None:
            number, name = tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")
            os.close(number)
            return cls(Path(name), is_kept=False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
        return cls(path, is_kept=True)

    def keep(self) -> str:
        """Let it outlive this process; a sentence that says where it is."""
        self.is_kept = True
        return f"Spark's log is {self.path}"

    def remove_unless_kept(self) -> None:
        if not self.is_kept:
            self.path.unlink(missing_ok=True)

    @property
    def last_line(self) -> str:
        """The last thing said that is no line of a stack trace."""
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        messages = [line.strip() for line in lines if line.strip() and not line.startswith("\t")]
        return messages[-1][:LONGEST_REASON] if messages else "it said nothing"


def start_java(
    settings: Mapping[str, str], log_file: Path | None, meanwhile: Callable[[], None]
) -> None:
    """Start Spark's Java with its output in a file, unless this process has one already.

    ``meanwhile`` is done while Java starts.
    """
    home = spark_home()
    if has_java() or home is None or has_gateway():
        meanwhile()
        return
    log = SparkLog.at(log_file)
    atexit.register(log.remove_unless_kept)
    # These go onto Java's command line, which everybody on this computer can read.
    public = {key: value for key, value in settings.items() if key != SECRET}
    with log.path.open("ab") as file, _signals_held_back():
        java = StartingJava.begin(home, public, file)
        try:
            meanwhile()
            gateway = java.connect()
        except JavaDidNotStart:
            raise SparkFailed(f"Spark did not start: {log.last_line}; {log.keep()}") from None
        except BaseException:
            java.give_up()
            raise
    gateway.penstock_log = log
    from pyspark import SparkContext

    SparkContext._ensure_initialized(gateway=gateway)


def has_java() -> bool:
    """Whether this process talks to a Java; not before PySpark is loaded."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._gateway is not None


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Ctrl-C and SIGTERM act at the end of the block; a second one acts at once.

    Interrupted while it waits for Java's port, PySpark removes the folder where Java is to write
    it, and a Java that cannot write it goes on for ever, with nobody to talk to.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def hold_back(number: int, _frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {n: signal.signal(n, hold_back) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if received:
        signal.raise_signal(received[0])


def current_log() -> SparkLog | None:
    """The log of this process's Java; none where somebody else started it."""
    from pyspark import SparkContext

    return getattr(SparkContext._gateway, "penstock_log", None)


@contextmanager
def failures_name_the_log() -> Iterator[None]:
    """What Spark fails with comes out of the block in one line, with the log's place."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (SparkFailed, Py4JError, PySparkException, ConnectionError) as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from error
        if isinstance(error, SparkFailed):
            raise type(error)(_with_log(str(error))) from error
        if reason := _how_java_ended(error):
            raise SparkFailed(_with_log(reason)) from error
        if isinstance(error, ConnectionError):
            raise
        raise SparkFailed(_with_log(f"Spark failed: {reason_of(error)}")) from error


def _how_java_ended(error: Exception) -> str:
    """What to say where a call failed because Java is gone; empty where it is not."""
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or isinstance(error, (Py4JJavaError, PySparkException)):
        return ""
    try:
        code = process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        return ""
    return f"Spark's Java process ended with {code} (not enough memory?)"


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an interruption is behind a failure.

    It breaks off the talk with Java, and what PySpark still says on its way out then fails.
    """
    seen: set[int] = set()
    # An error may be its own cause, where somebody raised it again from itself.
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _with_log(reason: str) -> str:
    log = current_log()
    return reason if log is None else f"{reason}; {log.keep()}"

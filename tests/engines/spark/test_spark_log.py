"""Where Spark's output goes, and what its failures come out as; no Java is started."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.engines.spark.java_start import JavaDidNotStart, StartingJava
from penstock.engines.spark.spark_log import SparkLog, failures_name_the_log, start_java
from penstock.telemetry.spark_errors import SparkFailed


def test_a_log_of_the_callers_stays_and_one_of_our_own_only_if_it_is_kept(tmp_path: Path) -> None:
    named = SparkLog.at(tmp_path / "run" / "spark.log")
    own, kept = SparkLog.at(None), SparkLog.at(None)
    assert kept.keep() == f"Spark's log is {kept.path}"
    for log in (named, own, kept):
        log.remove_unless_kept()
    assert [log.path.exists() for log in (named, own, kept)] == [True, False, True]
    kept.path.unlink()


def test_the_last_line_of_a_log_is_no_line_of_a_stack_trace(tmp_path: Path) -> None:
    log = SparkLog.at(tmp_path / "spark.log")
    assert log.last_line == "it said nothing"
    log.path.write_text("Invalid maximum heap size\n\n\tat java.base/java.lang.Thread.run\n")
    assert log.last_line == "Invalid maximum heap size"


def test_a_java_that_went_away_is_a_failure_of_one_line() -> None:
    with pytest.raises(SparkFailed) as told, failures_name_the_log():
        raise Py4JNetworkError("Answer from Java side is empty")
    assert str(told.value).startswith("Spark failed: Answer from Java side is empty")
    assert "\n" not in str(told.value)


def test_an_interruption_that_breaks_off_the_talk_with_java_is_no_failure_of_spark() -> None:
    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JNetworkError("Answer from Java side is empty")

    def explained() -> None:
        try:
            interrupted()
        except Py4JNetworkError as error:
            raise SparkFailed("Spark gave up") from error

    with pytest.raises(KeyboardInterrupt), failures_name_the_log():
        interrupted()
    with pytest.raises(KeyboardInterrupt), failures_name_the_log():
        explained()


def test_a_failure_that_is_its_own_cause_is_told_as_one() -> None:
    def raised_from_itself() -> None:
        try:
            raise SparkFailed("Spark gave up")
        except SparkFailed as error:
            raise error from error

    with pytest.raises(SparkFailed, match="Spark gave up"), failures_name_the_log():
        raised_from_itself()


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_while_java_starts_acts_when_java_has_told_its_port(tmp_path, monkeypatch) -> None:
    """Before that nobody can end the Java that was started."""
    told: list[str] = []

    class Interrupted(StartingJava):
        def connect(self):
            os.kill(os.getpid(), signal.SIGINT)
            told.append("port")
            return SimpleNamespace(jvm=None)

    begun = Interrupted(None, tmp_path)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setattr(StartingJava, "begin", lambda *_: begun)
    with pytest.raises(KeyboardInterrupt):
        start_java({}, tmp_path / "spark.log", lambda: told.append("loaded"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert told == ["loaded", "port"]


# -- a Java of our own -----------------------------------------------------------------------------

#: As Java tells them: port 4711 and a secret of six characters, each with four bytes before it.
TOLD = (4711).to_bytes(4, "big") + (6).to_bytes(4, "big") + b"secret"


def starting(tmp_path: Path, script: str) -> StartingJava:
    """A program in place of ``spark-submit``, that is to write its port and secret."""
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "spark-submit"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    with (tmp_path / "spark.log").open("ab") as log:
        return StartingJava.begin(home, {"spark.a": "b c"}, log)


def test_pyspark_is_told_port_and_secret_of_the_java_that_was_started(tmp_path, monkeypatch):
    (tmp_path / "told").write_bytes(TOLD)
    script = f'echo "$@"; cp {tmp_path}/told "$_PYSPARK_DRIVER_CONN_INFO_PATH"; exec cat'
    java = starting(tmp_path, script)
    seen: list[tuple[str, str]] = []

    def launch_gateway():
        seen.append((os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]))
        return SimpleNamespace(proc=None)

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch_gateway)
    gateway = java.connect()
    assert (seen, gateway.proc) == ([("4711", "secret")], java.process)
    assert "PYSPARK_GATEWAY_PORT" not in os.environ
    assert not java.folder.exists()
    assert (tmp_path / "spark.log").read_text() == "--conf spark.a=b c pyspark-shell\n"
    # It ends with its standard input, however this process ends.
    java.process.stdin.close()
    assert java.process.wait(10) == 0


def test_a_java_that_ends_before_it_has_told_its_port_did_not_start(tmp_path):
    java = starting(tmp_path, "exit 3")
    with pytest.raises(JavaDidNotStart):
        java.connect()
    assert not java.folder.exists()


def test_a_java_that_is_not_needed_any_more_ends(tmp_path):
    java = starting(tmp_path, "exec cat")
    java.give_up()
    assert java.process.returncode == -signal.SIGKILL
    assert not java.folder.exists()

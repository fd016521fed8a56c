"""Ends of runs that could go on for ever: time, Ctrl-C, SIGTERM; what there is gets written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock import app
from penstock.app import sweeps
from penstock.cli import examples
from penstock.cli.stopping import Stop, stoppable
from penstock.engines.spark.runner import Runner
from penstock.engines.spark.sweep_job import finished
from penstock.model.profile import Profile
from penstock.telemetry.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture
def send_within(monkeypatch):
    """Send this process a signal in the middle of a method, in whichever thread that runs."""

    def send(number: int, owner: type, name: str) -> None:
        real = getattr(owner, name)

        def wrapped(*args, **options):
            os.kill(os.getpid(), number)
            return real(*args, **options)

        monkeypatch.setattr(owner, name, wrapped)

    return send


def test_time_counts_from_the_first_question():
    moments = iter([100.0, 104.9, 105.0])
    stop = Stop(5.0, clock=lambda: next(moments))
    assert [stop(), stop(), stop()] == [False, False, True]
    assert stop.exit_code is None


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_the_first_signal_asks_and_the_second_cuts_off(number, code, capsys):
    with stoppable() as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        assert stop.exit_code == code
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            os.kill(os.getpid(), number)
    assert capsys.readouterr().err == "ending after this batch; Ctrl-C again to give up\n"


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_before_anything_runs_a_signal_ends_the_command_at_once(run, monkeypatch, number, code):
    def interrupted(*_arguments):
        with stoppable():
            os.kill(os.getpid(), number)

    monkeypatch.setattr(examples, "show", interrupted)
    assert run("examples") == (code, "", "interrupted\n")


# -- profile --follow --------------------------------------------------------------------------


@pytest.mark.spark
def test_a_follower_whose_time_is_up_ends_after_its_batch_and_writes_the_profile(
    run, spark, telemetry: Path
):
    command = f"profile {telemetry} --follow --store tables --out p.json --name mine --seconds 0"
    code, out, err = run(f"{command} --json")
    assert code == 0, err
    assert json.loads(out)["quality"]["records_in"] > 0
    profile = app.load("p.json")
    assert isinstance(profile, Profile)
    assert profile.name == "mine"
    Path("p.json").unlink()
    # Started again, nothing is new; what the store has is still an answer.
    code, out, err = run(command)
    assert code == 0, err
    assert "Costs" in out
    assert "no new telemetry came in; this is the result of what was read before" in err
    assert isinstance(app.load("p.json"), Profile)


@pytest.mark.spark
def test_ctrl_c_within_a_batch_ends_the_follower_after_it(run, spark, telemetry: Path, send_within):
    send_within(signal.SIGINT, Pipeline, "measure")
    code, out, err = run(f"profile {telemetry} --follow --out p.json")
    assert code == 130, err
    assert "ending after this batch" in err
    assert "Costs" in out
    assert "Traceback" not in err
    assert isinstance(app.load("p.json"), Profile)


@pytest.mark.spark
def test_a_follower_that_saw_no_file_says_so_and_fails(run, spark):
    Path("empty").mkdir()
    code, out, err = run("profile empty --follow --format jsonl --seconds 0 --out p.json")
    assert (code, out) == (1, "")
    assert "no telemetry came in, so there is no profile; wait longer with --seconds" in err
    assert not Path("p.json").exists()


@pytest.mark.spark
def test_a_follower_without_a_profile_at_its_end_fails_and_says_what_is_missing(
    run, spark, telemetry: Path
):
    first = json.loads((telemetry / "part-00000.jsonl").read_text().splitlines()[0])
    Path("few").mkdir()
    Path("few/a.jsonl").write_text(json.dumps(first) + "\n")
    code, out, err = run("profile few --follow --seconds 0 --out p.json")
    assert code == 1
    assert "Not ready" in out
    assert "not ready: 1 of 1 costs are missing" in err
    assert not Path("p.json").exists()


def test_seconds_without_follow_is_a_mistake(run):
    code, _, err = run("profile telemetry --seconds 5")
    assert code == 2
    assert "--seconds needs --follow" in err


# -- run and sweep -----------------------------------------------------------------------------


@pytest.mark.spark
def test_a_run_whose_time_is_up_ends_after_its_first_batch(run, spark):
    code, out, err = run("run --example wordcount --rows 200 --seconds 0 --json")
    assert code == 0, err
    assert json.loads(out)["batches"] == 1


@pytest.mark.spark
def test_sigterm_within_a_batch_ends_the_run_after_it(run, spark, send_within):
    send_within(signal.SIGTERM, Runner, "_run_batch")
    code, out, err = run("run --example wordcount --rows 200 --json -o kept")
    assert code == 143, err
    assert json.loads(out)["batches"] == 1
    assert Path("kept/telemetry/000000000.jsonl").is_file()
    assert "results, state and telemetry are in kept" in err


@pytest.mark.spark
def test_a_run_that_saw_no_file_says_so_and_fails(run, spark):
    Path("empty").mkdir()
    code, out, err = run("run --example wordcount --files empty --seconds 0")
    assert (code, out) == (1, "")
    assert "no batch ended: no new file came into empty; wait longer with --seconds" in err


@pytest.mark.spark
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_ends_a_sweep_with_the_table_of_finished_cells(
    run, spark, monkeypatch, number, code
):
    def one_and_a_signal(_spark, tasks, work, keep, progress):
        keep(finished(tasks[0], work))
        os.kill(os.getpid(), number)

    monkeypatch.setattr(sweeps, "run_tasks", one_and_a_signal)
    suite = "{format: penstock/sweep, version: 1, problems: [{topology: linear}], runs: 1,\n"
    suite += " schedulers: [default], seeds: 2, scenarios: [{load: 0.5, seconds: 5}]}\n"
    Path("suite.yaml").write_text(suite)
    ended, _, err = run("sweep suite.yaml -o results")
    assert ended == code, err
    assert "1 of 2 cells" in err
    assert pq.read_table("results/results.parquet").num_rows == 1


# -- what Spark prints -------------------------------------------------------------------------

NOISY = """
from penstock.engines.spark.session import spark_session
from penstock.engines.spark.spark_log import current_log
from penstock.telemetry.spark_errors import SparkFailed

log = None
try:
    with spark_session("local[1]", driver_memory="512m") as spark:
        java = spark._jvm
        log = current_log().path
        java.java.lang.RuntimeException("a stack trace of Java's").printStackTrace()
        {then}
except SparkFailed as error:
    print(error)
else:
    print(log)
"""


def in_a_process_of_its_own(then: str) -> tuple[str, Path]:
    """What a program says whose Java prints a stack trace, and where Java's log is or was."""
    ended = subprocess.run(
        [sys.executable, "-c", NOISY.format(then=then)], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout, Path(ended.stdout.split()[-1])


@pytest.mark.spark
def test_where_spark_fails_its_log_is_named_and_kept():
    said, log = in_a_process_of_its_own("java.java.lang.Integer.parseInt('x')")
    assert said == f'Spark failed: For input string: "x"; Spark\'s log is {log}\n'
    assert "RuntimeException: a stack trace of Java's" in log.read_text()
    log.unlink()


@pytest.mark.spark
def test_a_java_that_is_gone_is_told_as_that():
    said, log = in_a_process_of_its_own("java.java.lang.Runtime.getRuntime().halt(3)")
    assert said.startswith("Spark's Java process ended with 3 (not enough memory?); Spark's log")
    log.unlink()


@pytest.mark.spark
def test_where_all_is_well_the_log_goes_with_the_process():
    _, log = in_a_process_of_its_own("pass")
    assert log.name.startswith("penstock-spark-")
    assert not log.exists()


@pytest.mark.spark
def test_a_java_that_does_not_start_is_told_in_one_line(telemetry: Path, tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-m", "penstock", "profile", str(telemetry), "--driver-memory", "1q"],
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    _, error = ended.stderr.splitlines()
    assert error.startswith("error: Spark did not start: ")
    (log,) = tmp_path.glob("penstock-spark-*.log")
    assert error.endswith(f"; Spark's log is {log}")

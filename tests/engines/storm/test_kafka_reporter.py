"""The reporter of the plugin's jar writes to a real broker that is killed; the pipeline reads."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kafka_broker import Broker, broker_jars

from penstock.engines.java import find_java
from penstock.engines.storm.home import StormMissing, find_home, plugin_jar
from penstock.telemetry.store_reader import read_table

pytestmark = [pytest.mark.storm, pytest.mark.kafka, pytest.mark.spark]

PROGRAM = Path(__file__).parents[2] / "fixtures" / "kafka" / "ReportToKafka.java"
WITHIN_S = 180.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(broker_jars(), tmp_path_factory.mktemp("kafka") / "broker")
    broker.start()
    yield broker
    broker.stop(signal.SIGKILL)


def class_path(kafka: bool) -> str:
    """As a worker's: the plugin's jar, Storm's, and Kafka's client where somebody has put it."""
    try:
        path = find_home(os.environ).class_path(plugin_jar())
    except StormMissing as missing:
        pytest.skip(str(missing))
    (client,) = broker_jars().glob("kafka-clients-*.jar")
    return f"{path}{os.pathsep}{client}" if kafka else path


class ReportingWorker:
    """A Java process with the reporter in it."""

    def __init__(self, folder: Path, address: str, config: str, *, kafka: bool = True) -> None:
        java = find_java(os.environ).java
        assert java is not None
        (folder / "client.properties").write_text(config)
        self.folder, self.log = folder, folder / "worker.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [str(java.executable), "-cp", class_path(kafka), str(PROGRAM), address,
                 str(folder / "client.properties")],
                cwd=folder, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while text not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.1)

    def end(self) -> None:
        self.process.communicate(b"\n", timeout=WITHIN_S)
        assert self.process.returncode == 0, self.said


def measured(folder: Path, source: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "penstock", "profile", source, "--store", "store", "--json",
               "--partial", "--master", "local[2]", *options]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def windows(folder: Path, task: int) -> list[tuple[int, int]]:
    """Beginning and end of each window of a task, in the order of time."""
    rows = read_table(folder / "store", "samples").select(["task", "time_ms", "window_ms"])
    return sorted(
        (row["time_ms"] - row["window_ms"], row["time_ms"])
        for row in rows.to_pylist()
        if row["task"] == task
    )


def test_no_window_is_lost_while_the_broker_is_killed_and_comes_back(
    broker: Broker, tmp_path: Path
) -> None:
    worker = ReportingWorker(tmp_path, broker.locked_location("reported"), broker.client_config())
    try:
        worker.wait_for("ssl.truststore")  # the client has logged its settings: it has begun
        time.sleep(3)
        broker.stop(signal.SIGKILL)
        time.sleep(3)
        broker.start()
        time.sleep(3)
        worker.end()
    finally:
        worker.process.kill()
    assert "did not get through" not in worker.said
    found = measured(tmp_path, broker.location("reported"))
    assert found["quality"]["kept"] >= 12
    # A line that was sent twice is a repeat; nothing else may be wrong with any.
    assert set(found["quality"]["set_aside"]) <= {"duplicate"}
    for task in (1, 2):
        seen = sorted(set(windows(tmp_path, task)))
        assert len(seen) >= 6
        # Each begins where the one before ended: none is missing, from the first to the last.
        assert all(one[1] == later[0] for one, later in itertools.pairwise(seen))


def test_without_kafkas_client_the_worker_writes_files(tmp_path: Path) -> None:
    worker = ReportingWorker(tmp_path, "kafka://127.0.0.1:9/none", "", kafka=False)
    try:
        worker.wait_for("telemetry goes to files and not to kafka://127.0.0.1:9/none")
        time.sleep(3)
        worker.end()
    finally:
        worker.process.kill()
    assert "copy the jar of kafka-clients to Storm's extlib/" in worker.said
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1

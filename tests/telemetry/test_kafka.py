"""Kafka as a source: how it is spelt, how clients log in; and a real broker that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kafka_broker import PASSWORD, Broker, broker_jars

from penstock.app.telemetry import TelemetrySelection
from penstock.errors import InputError
from penstock.telemetry.kafka import KafkaTopic, client_properties

Run = Callable[..., tuple[int, str, str]]


# -- without a broker --------------------------------------------------------------------------


def test_a_location_names_brokers_and_a_topic() -> None:
    topic = KafkaTopic.at("kafka://b1:9092,b2:9092/telemetry")
    assert (topic.brokers, topic.topic) == ("b1:9092,b2:9092", "telemetry")


@pytest.mark.parametrize(
    "location",
    [
        "kafka://b1:9092",
        "kafka://b1/telemetry",
        "kafka:///telemetry",
        "kafka://b1:9092/a/b",
        "b1/a",
    ],
)
def test_another_spelling_is_refused_with_the_right_one(location: str) -> None:
    with pytest.raises(InputError, match="write kafka://broker:port/topic"):
        KafkaTopic.at(location)


def test_client_properties_are_read_as_kafkas_own_tools_read_them(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# how we log in\n\nsecurity.protocol = SASL_SSL\n"
        'sasl.jaas.config=PlainLoginModule required \\\n    username="me" password="a=b";\n'
    )
    assert client_properties(file) == {
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": 'PlainLoginModule required  username="me" password="a=b";',
    }


def test_wrong_lines_are_named_by_number_and_no_value_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("group.id=mine\nsasl.jaas.config:secret-7\nbootstrap.servers=b:9092\n")
    with pytest.raises(InputError) as refused:
        client_properties(file)
    text = str(refused.value)
    assert f"{file}:1: group.id cannot be set: Spark keeps offsets in its checkpoint" in text
    assert f"{file}:2: is not name=value" in text
    assert f"{file}:3: bootstrap.servers cannot be set: the location names the brokers" in text
    assert "secret" not in text


def test_a_topic_shows_no_password() -> None:
    topic = KafkaTopic.at("kafka://b:9092/t", {"sasl.jaas.config": "secret-7"})
    assert "secret" not in repr(topic)


def test_a_topic_among_folders_of_telemetry_is_known_before_spark_starts() -> None:
    assert TelemetrySelection(("/a", "kafka://b:9092/t")).topic == "kafka://b:9092/t"
    assert TelemetrySelection(("/a", "hdfs://n/t")).topic is None


def test_client_properties_go_with_a_topic_only(run: Run, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("security.protocol=SSL\n")
    code, _, err = run("profile . --kafka-config client.properties")
    assert code == 2
    assert "--kafka-config needs a source kafka://broker:port/topic" in err


def test_old_spellings_still_work_and_say_so(run: Run) -> None:
    _, _, err = run("profile kafka://broker/topic --format kafka")
    assert "warning: --format kafka is not needed any more" in err
    assert "write kafka://broker:port/topic" in err
    code, _, err = run("run --example linear --kafka kafka://broker/topic")
    assert code == 1
    assert "warning: --kafka of penstock run is now called --source" in err
    assert "write kafka://broker:port/topic" in err


# -- with one ----------------------------------------------------------------------------------

#: 2026-01-01, one.
START_MS = 1_767_229_200_000
RATES = (20.0, 60.0, 100.0)
#: For jobs of a hundred records.
SMALL = ("--master", "local[2]", "--config", "spark.sql.shuffle.partitions=2", "--config",
         "spark.ui.enabled=false")  # fmt: skip


TOPOLOGY = """
format: penstock/topology
version: 1
name: lengths
components:
  read: {kind: spout, streams: [{to: measure}]}
  measure: {}
"""
CODE = """
streams = {"read": "value string", "measure": "length bigint"}
def measure(rows): return rows["value"].str.len().to_frame("length")
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(broker_jars(), tmp_path_factory.mktemp("kafka") / "broker")
    broker.start()
    yield broker
    broker.stop(signal.SIGKILL)


def telemetry(first: int, last: int) -> list[str]:
    """Windows of ten seconds; a tuple/s costs 0.1 points, and 2 are always there."""
    return [
        json.dumps(
            {
                "version": 1, "time_ms": START_MS + 10_000 * number, "window_ms": 10_000,
                "topology": "t", "run": "r", "component": "b", "task": 1, "host": "h1",
                "machine_type": "M1", "worker": "6700", "outputs": [],
                "inputs": [{"component": "a", "stream": "default",
                            "tuples": 10 * RATES[number % 3]}],
                "cpu_points": 2.0 + 0.1 * RATES[number % 3],
            }
        )
        for number in range(first, last)
    ]  # fmt: skip


class Follower:
    """A penstock in a process group of its own, so that Spark's Java dies with it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.log = folder / f"{len(list(folder.glob('*.out')))}.out"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *arguments],
                cwd=folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                env=os.environ | {"PENSTOCK_HISTORY": str(folder / "history")},
            )  # fmt: skip

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 900
        while text not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def measured(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """What ``penstock profile`` says of all that is in the topic now."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "profile", *arguments, *SMALL, "--json"],
        cwd=folder, capture_output=True, text=True, timeout=900, check=False,
        env=os.environ | {"PENSTOCK_HISTORY": str(folder / "history")},
    )  # fmt: skip
    return done, json.loads(done.stdout) if done.stdout else None


@pytest.mark.spark
@pytest.mark.kafka
def test_every_record_counts_once_though_driver_and_broker_are_killed(
    broker: Broker, tmp_path: Path
) -> None:
    source = broker.location("telemetry")
    follow = ("profile", source, "--store", "store", "--follow", "--every", "1", *SMALL)
    broker.send("telemetry", telemetry(0, 60))
    first = Follower(tmp_path, *follow)
    first.wait_for("taking in batch 0")
    first.kill()  # in the middle of its first batch
    broker.send("telemetry", telemetry(60, 90))
    second = Follower(tmp_path, *follow)
    second.wait_for("cleaning, windows")
    broker.stop(signal.SIGKILL)
    broker.start()
    broker.send("telemetry", telemetry(90, 120))
    second.wait_for("taking in batch 1")
    second.kill()  # and in the middle of the one after the broker came back
    done, found = measured(tmp_path, source, "--store", "store")
    assert done.returncode == 0, done.stderr
    # A record taken in twice would be there as a repeat that was set aside.
    assert (found["quality"]["records_in"], found["quality"]["set_aside"]) == (120, {})
    cost = found["profile"]["rows"]["b"]["on"]["M1"]
    assert (cost["e"], cost["met"]) == (pytest.approx(0.1), pytest.approx(2.0))


@pytest.mark.spark
@pytest.mark.kafka
def test_a_broker_that_we_know_by_its_certificate_gets_the_password_and_nobody_else_does(
    broker: Broker, tmp_path: Path
) -> None:
    broker.send("locked", telemetry(0, 60))
    config = tmp_path / "client.properties"
    config.write_text(broker.client_config())
    config.chmod(0o600)
    source = broker.locked_location("locked")
    log = [f"--config=spark.eventLog.{name}" for name in ("enabled=true", "compress=false")]
    done, found = measured(
        tmp_path,
        source,
        "--kafka-config",
        str(config),
        "--store",
        "store",
        *log,
        f"--config=spark.eventLog.dir={tmp_path}",
    )
    assert done.returncode == 0, done.stderr
    assert found["quality"]["records_in"] == 60
    assert PASSWORD not in done.stdout + done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != config]
    assert [path for path in written if PASSWORD.encode() in path.read_bytes()] == []
    config.write_text(broker.client_config(password="wrong-8"))
    refused, _ = measured(tmp_path, source, "--kafka-config", str(config))
    assert refused.returncode == 1
    assert "Authentication failed" in refused.stderr, refused.stderr
    assert "wrong-8" not in refused.stderr


@pytest.mark.spark
@pytest.mark.kafka
def test_a_topology_runs_on_the_values_of_a_topic(broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "lengths.yaml").write_text(TOPOLOGY)
    (tmp_path / "lengths.py").write_text(CODE)
    broker.send("words", ["to be", "or", "not to be"] * 10)
    command = ["run", "lengths.yaml", "--source", broker.location("words")]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *command, "--batches", "1", *SMALL, "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    tuples = {name: figures["tuples"] for name, figures in answer["components"].items()}
    assert tuples == {"read": 30, "measure": 30}

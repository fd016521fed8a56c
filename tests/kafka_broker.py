"""A real Kafka broker for tests: one process, its jars from Maven Central, its log in a folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.engines.java import find_java
from penstock.engines.maven import copy_jars, find_maven
from penstock.engines.storm.home import cache_folder
from penstock.errors import PenstockError

_POM = Path(__file__).parent / "fixtures" / "kafka" / "pom.xml"
_VERSION = "4.1.0"
_UP_WITHIN_S = 120.0

USER, PASSWORD = "penstock", "tell-nobody-7"
_STORE_PASSWORD = "opens-the-key-5"
_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def broker_jars() -> Path:
    """The folder of a broker's jars; skips where there is no Java or no Maven to resolve them."""
    folder = cache_folder(os.environ) / f"kafka-{_VERSION}"
    if find_java(os.environ).java is None:
        pytest.skip("no Java here")
    if folder.is_dir():
        return folder
    maven = find_maven(os.environ)
    if maven is None:
        pytest.skip("no Kafka here, and no Maven to resolve it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".kafka-") as scratch:
        jars = Path(scratch) / "jars"
        try:
            copy_jars(maven, _POM, jars, os.environ, what="Kafka", error=PenstockError)
        except PenstockError as error:
            pytest.skip(str(error))
        shutil.move(jars, folder)
    return folder


def _java() -> Path:
    java = find_java(os.environ).java
    assert java is not None
    return java.executable


def _keytool() -> Path:
    """That of the Java itself: what is called may be a script of ours that calls it."""
    command = [_java(), "-XshowSettings:properties", "-version"]
    settings = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    home = re.search(r"java\.home = (.+)", settings.stderr)
    assert home is not None, settings.stderr
    return Path(home[1].strip(), "bin", "keytool")


@dataclass
class Broker:
    """A broker with a listener that lets anybody in, and one with TLS that asks for a password."""

    jars: Path
    folder: Path
    port: int = field(default_factory=free_port)
    sasl_port: int = field(default_factory=free_port)
    controller_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def location(self, topic: str) -> str:
        return f"kafka://127.0.0.1:{self.port}/{topic}"

    def locked_location(self, topic: str) -> str:
        return f"kafka://127.0.0.1:{self.sasl_port}/{topic}"

    def client_config(self, password: str = PASSWORD) -> str:
        login = f'{_JAAS} username="{USER}" password="{password}";'
        return (
            "# who the broker is, and who we are\n"
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
            f"sasl.jaas.config={login}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={self.certificate}\n"
        )

    def start(self) -> None:
        config = self.folder / "server.properties"
        if not config.exists():
            self._format(config)
        with (self.folder / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(
                self._java("kafka.Kafka", str(config)), stdout=log, stderr=log, cwd=self.folder
            )
        self._wait()

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None

    def send(self, topic: str, lines: Iterable[str]) -> None:
        """Append records to a topic, each acknowledged."""
        producer = self._java(
            "org.apache.kafka.tools.ConsoleProducer",
            "--bootstrap-server", f"127.0.0.1:{self.port}", "--topic", topic,
        )  # fmt: skip
        text = "".join(f"{line}\n" for line in lines)
        subprocess.run(producer, input=text.encode(), check=True, capture_output=True, timeout=120)

    def _format(self, config: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_certificate()
        settings = self._settings()
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        made = self._java("kafka.tools.StorageTool", "random-uuid")
        identity = subprocess.run(made, check=True, capture_output=True, text=True, timeout=120)
        number = identity.stdout.split()[-1]
        command = self._java("kafka.tools.StorageTool", "format", "-t", number, "-c", str(config))
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    @property
    def certificate(self) -> Path:
        """What clients know the broker by."""
        return self.folder / "broker.pem"

    @property
    def _key_store(self) -> Path:
        return self.folder / "broker.p12"

    def _make_certificate(self) -> None:
        """A certificate that the broker has signed itself, for the address it listens on."""
        store = [
            "-alias",
            "broker",
            "-keystore",
            str(self._key_store),
            "-storepass",
            _STORE_PASSWORD,
        ]
        for command in (
            ["-genkeypair", "-keyalg", "EC", "-dname", "CN=broker", "-ext", "san=ip:127.0.0.1",
             "-storetype", "PKCS12"],
            ["-exportcert", "-rfc", "-file", str(self.certificate)],
        ):  # fmt: skip
            subprocess.run(
                [_keytool(), *command, *store], check=True, capture_output=True, timeout=120
            )

    def _settings(self) -> Mapping[str, str]:
        here, locked = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.sasl_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "OPEN",
            "listeners": f"OPEN://{here},LOCKED://{locked},"
            f"CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"OPEN://{here},LOCKED://{locked}",
            "listener.security.protocol.map": "OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT,LOCKED:SASL_SSL",
            "listener.name.locked.ssl.keystore.type": "PKCS12",
            "listener.name.locked.ssl.keystore.location": str(self._key_store),
            "listener.name.locked.ssl.keystore.password": _STORE_PASSWORD,
            "listener.name.locked.ssl.key.password": _STORE_PASSWORD,
            "listener.name.locked.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.locked.plain.sasl.jaas.config": f'{_JAAS} user_{USER}="{PASSWORD}";',
            "log.dirs": str(self.folder / "data"),
            "num.partitions": "3",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }

    def _java(self, main: str, *arguments: str) -> list[str]:
        java = _java()
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        class_path = str(self.jars / "*")
        return [str(java), "-Xmx256m", quiet, "-cp", class_path, main, *arguments]

    def _wait(self) -> None:
        deadline = time.monotonic() + _UP_WITHIN_S
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process is None or self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError((self.folder / "broker.log").read_text(errors="replace")[-2000:])

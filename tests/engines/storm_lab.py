"""A small real Storm for tests: ZooKeeper, Nimbus and two supervisors, gone when the test is."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engines.storm import daemons
from penstock.engines.storm.bridge import Bridge, BridgeError, open_bridge
from penstock.engines.storm.home import StormHome, find_home, plugin_jar, require_java

MACHINES = (("large", "lab-90"), ("small", "lab-30"))


@dataclass
class StormLab:
    """Where it is, and its processes by name."""

    folder: Path
    home: StormHome
    java: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def plan_file(self) -> Path:
        return self.folder / "plan.json"

    @property
    def storm_yaml(self) -> Path:
        return self.folder / "nimbus" / "storm.yaml"

    @contextmanager
    def bridge(self) -> Iterator[Bridge]:
        with open_bridge(conf_dir=self.storm_yaml.parent) as bridge:
            yield bridge

    def start(
        self,
        name: str,
        main: str,
        settings: dict[str, object],
        jars: tuple[Path, ...] = (),
        arguments: tuple[str, ...] = (),
    ) -> None:
        folder = self.folder / name
        daemons.write_settings(folder, settings)
        with (folder / "out.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                daemons.command(self.java, self.home, main, folder, jars=jars, arguments=arguments),
                cwd=folder,
                env=os.environ | {"STORM_CONF_DIR": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def workers_of(self, machine: str) -> list[int]:
        """Process ids of the workers that a supervisor has started: the names of these folders."""
        return [
            int(pid.name)
            for pid in (self.folder / machine / "data" / "workers").glob("*/pids/*")
            if pid.name.isdigit()
        ]

    def kill(self, machine: str) -> None:
        """The supervisor first, so that it does not start its workers again."""
        os.killpg(self.processes[machine].pid, signal.SIGKILL)
        for pid in self.workers_of(machine):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        for name in ("large", "small", "nimbus", "zookeeper"):
            if name not in self.processes:
                continue
            for pid in self.workers_of(name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.killpg(self.processes[name].pid, signal.SIGKILL)
            self.processes[name].wait()


@contextmanager
def storm_lab(folder: Path) -> Iterator[StormLab]:
    lab = StormLab(folder, find_home(os.environ), require_java(os.environ))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(lab.end)
        zookeeper, nimbus, *ports = _free_ports(2 + 3 * len(MACHINES))
        shared = daemons.shared_settings(zookeeper, nimbus, folder)
        keeper = daemons.zookeeper_arguments(zookeeper, folder)
        lab.start("zookeeper", daemons.ZOOKEEPER, shared, arguments=keeper)
        until(lambda: _listens(zookeeper), 60, "ZooKeeper listens")
        settings = shared | daemons.nimbus_settings(folder, lab.plan_file)
        lab.start("nimbus", daemons.NIMBUS, settings, (plugin_jar(),))
        for number, (name, kind) in enumerate(MACHINES):
            first, second, thrift = ports[3 * number : 3 * number + 3]
            machine = daemons.Machine(name, kind, f"127.0.0.{31 + number}", (first, second), thrift)
            own = daemons.supervisor_settings(machine, lab.home, folder)
            lab.start(name, daemons.SUPERVISOR, shared | own)
        until(lambda: _listens(nimbus), 60, "Nimbus listens")
        with lab.bridge() as bridge:
            until(lambda: _supervisors(bridge) == len(MACHINES), 60, "all supervisors are there")
        yield lab


def _supervisors(bridge: Bridge) -> int:
    try:
        return len(bridge.ask("cluster")["supervisors"])
    except BridgeError:  # Nimbus has no leader yet
        return 0


def until(true: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.5)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0

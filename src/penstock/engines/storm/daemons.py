"""How Storm's daemons are started: command lines and settings, no processes.

Each has a folder of its own, with its storm.yaml first on its class path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.storm.home import StormHome
from penstock.system.private_folder import PrivateFolder

#: Not Storm's DevZookeeper, which deletes all it knew when it starts again.
ZOOKEEPER = "org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServerMain"
NIMBUS = "org.apache.storm.daemon.nimbus.Nimbus"
SUPERVISOR = "org.apache.storm.daemon.supervisor.Supervisor"
#: Where the plan scheduler looks, and what it is called.
PLAN_FILE = "penstock.plan.file"
SCHEDULER_CLASS = "penstock.storm.PlanScheduler"
#: Java's first compiler only: what a tuple costs is steady within seconds. The second one works for
#: minutes on a third of a core, and everything becomes cheaper meanwhile.
QUICK_COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_WORKER_OPTIONS = f"-Xmx256m {QUICK_COMPILER}"


@dataclass(frozen=True)
class StormMachine:
    """A supervisor of a small Storm on one computer."""

    name: str
    type: str
    host: str
    ports: tuple[int, ...]
    thrift_port: int
    #: What it tells Storm it has; 100 points are a core.
    cpu_points: float = 100.0
    memory_mb: float = 4096.0


def shared_settings(zookeeper_port: int, nimbus_port: int, folder: Path) -> dict[str, object]:
    """Settings of all daemons of a small Storm on this computer.

    Its clocks are faster than Storm's defaults: a lost machine is noticed within seconds.
    """
    return {
        "storm.zookeeper.servers": ["127.0.0.1"],
        "storm.zookeeper.port": zookeeper_port,
        "storm.zookeeper.session.timeout": 8000,
        "nimbus.seeds": ["127.0.0.1"],
        "nimbus.thrift.port": nimbus_port,
        "nimbus.monitor.freq.secs": 2,
        "nimbus.task.timeout.secs": 12,
        "nimbus.task.launch.secs": 60,
        "supervisor.worker.timeout.secs": 12,
        "supervisor.worker.start.timeout.secs": 60,
        "task.heartbeat.frequency.secs": 2,
        "worker.heartbeat.frequency.secs": 1,
        # Until it is seen to run, nothing is moved: a minute by default.
        "executor.metrics.frequency.secs": 4,
        # A machine that comes back may be used at once.
        "blacklist.scheduler.tolerance.count": 1_000_000,
        "storm.local.hostname": "127.0.0.1",
        "topology.worker.max.heap.size.mb": 1024.0,
        "worker.profiler.enabled": False,
        "storm.workers.artifacts.dir": str(folder / "workers"),
    }


def zookeeper_arguments(zookeeper_port: int, folder: Path) -> tuple[str, ...]:
    return (str(zookeeper_port), str(folder / "zookeeper" / "data"))


def nimbus_settings(folder: Path, plan: Path) -> dict[str, object]:
    return {
        "storm.local.dir": str(folder / "nimbus" / "data"),
        "storm.scheduler": SCHEDULER_CLASS,
        PLAN_FILE: str(plan),
    }


def kept_to(address: str, agent: Path) -> str:
    """An option of Java: what would listen on all addresses listens on this one.

    Storm has no setting for it.
    """
    return f"-javaagent:{agent}={address}"


def supervisor_settings(
    machine: StormMachine, home: StormHome, folder: Path, agent: Path
) -> dict[str, object]:
    return {
        "worker.childopts": f"{kept_to(machine.host, agent)} {_WORKER_OPTIONS}",
        "storm.local.dir": str(folder / machine.name / "data"),
        "storm.local.hostname": machine.host,
        "storm.log4j2.conf.dir": str(home.path / "log4j2"),
        "supervisor.slots.ports": list(machine.ports),
        "supervisor.thrift.port": machine.thrift_port,
        "supervisor.cpu.capacity": machine.cpu_points,
        "supervisor.memory.capacity.mb": machine.memory_mb,
        "supervisor.scheduler.meta": {"machine": machine.name, "machine-type": machine.type},
        "storm.workers.artifacts.dir": str(folder / machine.name / "workers"),
    }


def write_settings(folder: Path, settings: Mapping[str, object]) -> None:
    """A storm.yaml; JSON is YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(settings, indent=1)
    PrivateFolder(folder).write("storm.yaml", (text + "\n").encode())


def command(
    java: Path,
    home: StormHome,
    main: str,
    folder: Path,
    *,
    arguments: Sequence[str] = (),
    jars: Sequence[Path] = (),
    heap_mb: int = 300,
    listens_on: str,
    agent: Path,
) -> list[str]:
    """The command of a daemon whose storm.yaml is in ``folder``."""
    return [
        str(java),
        kept_to(listens_on, agent),
        f"-Xmx{heap_mb}m",
        *QUICK_COMPILER.split(),
        f"-Dstorm.home={home.path}",
        f"-Dstorm.log.dir={folder / 'logs'}",
        f"-Dlog4j2.configurationFile={home.path / 'log4j2' / 'cluster.xml'}",
        "-Dzookeeper.admin.enableServer=false",
        "-cp",
        home.class_path(folder, *jars, daemon=True),
        main,
        *arguments,
    ]

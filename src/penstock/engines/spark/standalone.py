"""Standalone Spark on this computer: a master and workers as processes of their own.

A plain cluster for tests and benchmarks, and the daemons of the lab of unlike machines. Every
worker announces its machine and machine type as custom resources, which is how instances of a plan
find their place. All listen on loopback only, and talk only to those that know their secret
(:mod:`penstock.engines.spark.spark_secret`), also in the browser.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from penstock.engines.lab.daemons import Daemons, free_port, listens
from penstock.engines.lab.groups import ControlGroup
from penstock.engines.lab.lab import Lab
from penstock.engines.spark.machine import MACHINE_TYPE_VARIABLE, MACHINE_VARIABLE
from penstock.engines.spark.placement import EXECUTOR_MB, MORE_CORES, resource_name
from penstock.engines.spark.session import require_spark
from penstock.engines.spark.spark_secret import (
    SECRET,
    PageKey,
    authentication,
    new_secret,
    page_key,
)
from penstock.system.private_folder import PrivateFolder, scratch_folder

_HOST = "127.0.0.1"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_PAGE_FILTER = "org.apache.spark.ui.JWSFilter"
_PAGE_KEY_BYTES = 64
_REGISTERED = re.compile(r"[Ss]uccessfully registered with master")
#: Spark sets aside memory beyond the heap of an executor that runs Python.
_EXECUTORS_PER_WORKER = 2
_ROOM_PER_EXECUTOR_MB = EXECUTOR_MB + 400


@dataclass(frozen=True)
class StandaloneCluster:
    """A running cluster."""

    master: str
    daemons: Daemons


@contextmanager
def standalone_cluster(
    workers: int,
    *,
    cores: int = 1,
    memory_mb: int = 1200,
    groups: Sequence[ControlGroup] = (),
) -> Iterator[StandaloneCluster]:
    """Start a master and so many like workers; all end with the block.

    ``groups`` are control groups, one for each worker with all that it starts.
    """
    scratch = scratch_folder()
    folder = scratch.make_folder("cluster-")
    daemons = Daemons(folder)
    try:
        master = start_master(daemons)
        for number in range(workers):
            group = groups[number] if groups else None
            _start_worker(daemons, master, f"worker-{number}", cores, memory_mb, group=group)
        _wait_for_workers(daemons)
        yield StandaloneCluster(master, daemons)
    finally:
        daemons.end()
        scratch.remove_folder(folder)


def start_lab(lab: Lab) -> str:
    """Spark on the machines of a lab; the master's address."""
    master = start_master(lab.daemons)
    for machine in lab.machines:
        _start_worker(
            lab.daemons,
            master,
            machine.name,
            lab.slots(machine) + MORE_CORES,
            _EXECUTORS_PER_WORKER * _ROOM_PER_EXECUTOR_MB,
            group=lab.group(machine.name),
            machine_type=machine.type,
        )
    _wait_for_workers(lab.daemons)
    return master


def start_master(daemons: Daemons) -> str:
    port, page_port = free_port(), free_port()
    master = f"spark://{_HOST}:{port}"
    page = PageKey(f"http://{_HOST}:{page_port}", secrets.token_bytes(_PAGE_KEY_BYTES))
    settings = _closed(new_secret(daemons.folder, master, page), page)
    daemons.start(
        "master",
        [
            _spark_class(), _MASTER, "--host", _HOST, "--port", str(port),
            "--webui-port", str(page_port),
            "--properties-file", _properties(daemons.folder, "master", settings),
        ],
        _environment(daemons.folder / "master"),
    )  # fmt: skip
    daemons.wait_for(lambda: listens(port), "Spark's master does not listen")
    return master


def _closed(secret: str, page: PageKey) -> dict[str, str]:
    """Settings of daemons that let in only those who know the secret, and no browser."""
    return {
        "spark.authenticate": "true",
        SECRET: secret,
        # Another way to submit programs, which cannot authenticate.
        "spark.master.rest.enabled": "false",
        "spark.ui.killEnabled": "false",
        # Pages show commands and logs; the key that opens them lies beside the secret.
        "spark.ui.filters": _PAGE_FILTER,
        f"spark.{_PAGE_FILTER}.param.secretKey": page.text,
    }


def _properties(folder: Path, name: str, settings: Mapping[str, str]) -> Path:
    """A file of settings that only this user can read."""
    lines = "".join(f"{key} {value}\n" for key, value in settings.items())
    return PrivateFolder(folder).write(f"{name}.conf", lines.encode())


def _start_worker(
    daemons: Daemons,
    master: str,
    name: str,
    cores: int,
    memory_mb: int,
    *,
    group: ControlGroup | None = None,
    machine_type: str = "",
) -> None:
    folder = daemons.folder / name
    folder.mkdir(mode=0o700)
    environment = _environment(folder)
    page = page_key(master)
    assert page is not None
    settings = _closed(authentication(master)[SECRET], page)
    command: list[str | Path] = [
        _spark_class(), _WORKER, "--host", _HOST, "--webui-port", "0", "--cores", str(cores),
        "--memory", f"{memory_mb}m", "--work-dir", folder / "work",
    ]  # fmt: skip
    if machine_type:
        environment |= {MACHINE_VARIABLE: name, MACHINE_TYPE_VARIABLE: machine_type}
        settings |= _announced(folder, [machine_type, name])
    command += ["--properties-file", _properties(folder, "worker", settings)]
    daemons.start(name, [*command, master], environment, group)


def _announced(folder: Path, names: list[str]) -> dict[str, str]:
    """Settings of a worker with these resources: for the instances, and for stages of no place."""
    resources = [resource_name(name) for name in names]
    file = folder / "resources.json"
    entries = [
        {"id": {"componentName": "spark.worker", "resourceName": name}, "addresses": ["0", "1"]}
        for name in resources
    ]
    file.write_text(json.dumps(entries), encoding="utf-8")
    amounts = {f"spark.worker.resource.{name}.amount": "2" for name in resources}
    return amounts | {"spark.worker.resourcesFile": str(file)}


def _wait_for_workers(daemons: Daemons) -> None:
    for daemon in daemons.running[1:]:
        daemons.wait_for(
            lambda daemon=daemon: bool(_REGISTERED.search(daemon.output)),  # type: ignore[misc]
            f"{daemon.name} did not register with Spark's master",
        )


def _spark_class() -> Path:
    return _home() / "bin" / "spark-class"


def _home() -> Path:
    require_spark()
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _environment(folder: Path) -> dict[str, str]:
    mine: Mapping[str, str] = {
        "JAVA_HOME": str(require_spark()),
        "SPARK_HOME": str(_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        # What pages in the browser and everything else without a setting listen on.
        "SPARK_LOCAL_IP": _HOST,
    }
    return {**os.environ, **mine}

"""Storm on the machines of a lab: ZooKeeper, Nimbus with our scheduler, a supervisor on each.

ZooKeeper and Nimbus belong to no machine. The address of the lab is Nimbus' storm.yaml, which every
command that talks to Storm takes (``--storm-yaml``).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from penstock.engines.lab.daemons import Daemon, free_port, listens
from penstock.engines.lab.groups import ControlGroup
from penstock.engines.lab.lab import Lab
from penstock.engines.storm import daemons
from penstock.engines.storm.bridge import Bridge, BridgeError, open_bridge
from penstock.engines.storm.home import StormHome, find_home, plugin_jar, require_java
from penstock.engines.storm.lab_secrets import authenticated
from penstock.engines.storm.lab_topology import plan_file_in

#: Worker processes that a machine can hold.
_SLOTS = 3
#: Supervisors need addresses of their own; these all lead here.
_FIRST_HOST = 31


def plan_file(lab: Lab) -> Path:
    """Where Nimbus looks for a plan."""
    return plan_file_in(lab.folder)


def start_lab(lab: Lab) -> str:
    """Start Storm on a lab; the path of Nimbus' storm.yaml."""
    home, jar = find_home(os.environ), plugin_jar()
    # Options of workers are split at blanks, which the jar's own path may have.
    agent = Path(shutil.copy(jar, lab.folder / "agent.jar"))
    zookeeper, nimbus = free_port(), free_port()
    shared = daemons.shared_settings(zookeeper, nimbus, lab.folder) | authenticated(lab.folder)
    start = _Starter(lab, home, require_java(os.environ, home), agent)
    start("zookeeper", daemons.ZOOKEEPER, shared,
          arguments=daemons.zookeeper_arguments(zookeeper, lab.folder))  # fmt: skip
    lab.daemons.wait_for(lambda: listens(zookeeper), "ZooKeeper does not listen")
    start("nimbus", daemons.NIMBUS, shared | daemons.nimbus_settings(lab.folder, plan_file(lab)),
          jars=(jar,))  # fmt: skip
    for number, machine in enumerate(lab.machines):
        settings = daemons.StormMachine(
            machine.name,
            machine.type,
            f"127.0.0.{_FIRST_HOST + number}",
            tuple(free_port() for _ in range(_SLOTS)),
            free_port(),
            cpu_points=machine.points,
        )
        own = daemons.supervisor_settings(settings, home, lab.folder, agent)
        start(
            machine.name, daemons.SUPERVISOR, shared | own,
            group=lab.group(machine.name), host=settings.host,
        )  # fmt: skip
    lab.daemons.wait_for(lambda: listens(nimbus), "Nimbus does not listen")
    conf = lab.folder / "nimbus"
    with open_bridge(conf_dir=conf) as bridge:
        lab.daemons.wait_for(
            lambda: _supervisors(bridge) == len(lab.machines), "not all supervisors came up"
        )
    return str(conf / "storm.yaml")


class _Starter:
    """Starts daemons that differ in their settings."""

    def __init__(self, lab: Lab, home: StormHome, java: Path, agent: Path) -> None:
        self.lab, self.home, self.java, self.agent = lab, home, java, agent

    def __call__(
        self,
        name: str,
        main: str,
        settings: dict[str, object],
        *,
        jars: tuple[Path, ...] = (),
        arguments: tuple[str, ...] = (),
        group: ControlGroup | None = None,
        host: str = "127.0.0.1",
    ) -> Daemon:
        folder = self.lab.folder / name
        daemons.write_settings(folder, settings)
        command = daemons.command(
            self.java, self.home, main, folder, jars=jars, arguments=arguments,
            listens_on=host, agent=self.agent,
        )  # fmt: skip

        environment = {**os.environ, "STORM_CONF_DIR": str(folder)}
        return self.lab.daemons.start(name, command, environment, group)


def _supervisors(bridge: Bridge) -> int:
    try:
        return len(bridge.ask("cluster")["supervisors"])
    except BridgeError:  # Nimbus has no leader yet
        return 0

"""``penstock agent``: tell what this machine is and does, and how far the others are."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from penstock.agent.echo import LEAST_KEY_BYTES
from penstock.agent.load import ENGINE_PROCESSES
from penstock.agent.prober import Address
from penstock.agent.record_file import RecordFile
from penstock.agent.run import AgentSetting, run
from penstock.cli.output import say, write_json
from penstock.cli.stopping import stoppable
from penstock.errors import EXIT_DONE, UsageError
from penstock.model.machine_record import MachineRecord

_LEAST_WINDOW_S = 1.0


def command(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the records; may be that of telemetry."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of this machine. Default: its host name.")
    ] = None,
    machines: Annotated[
        Path | None,
        typer.Option(
            "--machines",
            help="Machines to probe: a file of `name: host:port`, this one among them.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="Key that the agents share; only you may read it."),
    ] = None,
    machine_type: Annotated[
        str | None, typer.Option("--type", help="Type of this machine, to stand in the records.")
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="Region of this machine.")] = None,
    rack: Annotated[str | None, typer.Option("--rack", help="Rack of this machine.")] = None,
    interface: Annotated[
        str | None, typer.Option("--interface", help="Link whose speed counts. Default: that out.")
    ] = None,
    every: Annotated[
        float, typer.Option("--every", help="Seconds between records.", min=_LEAST_WINDOW_S)
    ] = 60.0,
    probe_every: Annotated[
        float, typer.Option("--probe-every", help="Seconds between probes of one machine.", min=0.5)
    ] = 10.0,
    own_processes: Annotated[
        list[str] | None,
        typer.Option(
            "--own-process",
            help="Text on command lines of processes that run tuples. Default: Storm's, Spark's.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="End after so long. Default: never.", min=0)
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print one record as JSON, after --every, and end.")
    ] = False,
) -> int:
    """Tell this machine's hardware, load and round-trip times to others, until stopped.

    penstock agent --once --every 1

    penstock agent --name m1 --out telemetry --machines machines.yaml --key-file key
    """
    if out is None and not once:
        raise UsageError("say where records go with --out, or print one with --once")
    own_name = name or socket.gethostname()
    if "/" in own_name or not own_name.isprintable():
        raise UsageError(f'--name must be a name without slashes, not "{own_name}"')
    addresses, key = _probing(own_name, machines, key_file)
    place = {"machine_type": machine_type, "region": region, "rack": rack}
    setting = AgentSetting(
        own_name,
        socket.gethostname(),
        {what: value for what, value in place.items() if value is not None},
        interface=interface,
        every_s=every,
        machines=addresses,
        key=key,
        probe_every_s=probe_every,
        own_marks=tuple(own_processes or ENGINE_PROCESSES),
    )
    done: list[MachineRecord] = []
    file = None if out is None else RecordFile(out, own_name)

    def take(record: MachineRecord) -> None:
        if file is not None:
            file.append(record)
        if once:
            done.append(record)
            write_json(record.to_dict())

    with stoppable(seconds) as stop:
        if file is not None:
            say(f"writing to {file.path}")
        run(setting, take, lambda: bool(stop()) or bool(done))
    return stop.exit_code or EXIT_DONE


def _probing(
    name: str, machines: Path | None, key_file: Path | None
) -> tuple[Mapping[str, Address], bytes]:
    """The machines that probe each other, and their key; nothing without a list of them."""
    if machines is None and key_file is None:
        return {}, b""
    if machines is None or key_file is None:
        raise UsageError("--machines and --key-file go together")
    from penstock.files.agent_machines import load_agent_machines
    from penstock.system.secret_file import read_secret

    return load_agent_machines(machines, name), read_secret(key_file, LEAST_KEY_BYTES)

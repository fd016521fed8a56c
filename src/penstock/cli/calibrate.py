"""``penstock calibrate``: measure on purpose what a machine can do."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.agent.hardware import hardware
from penstock.agent.record_file import RecordFile
from penstock.app.calibrations import USUAL_SECONDS, fingerprint_facts
from penstock.calibration.fingerprint import Fingerprint
from penstock.cli import options
from penstock.cli.output import say, show, write_file, write_json
from penstock.errors import EXIT_DONE, UsageError
from penstock.files.answer_formats import answer_head
from penstock.model.machine_record import MachineRecord
from penstock.report.pages.fingerprint import fingerprint_dict, fingerprint_page

_MS = 1e3


def command(
    fingerprint: Annotated[
        bool,
        typer.Option("--fingerprint", help="How fast this machine does five kinds of work."),
    ] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Seconds of CPU to measure for, on each core.", min=2)
    ] = USUAL_SECONDS,
    cluster: options.Cluster = None,
    machine_type: Annotated[
        str | None,
        typer.Option("--type", help="Machine type of the cluster that this machine is of."),
    ] = None,
    telemetry: Annotated[
        Path | None,
        typer.Option("--telemetry", help="Folder of machine records that gets one with this."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of this machine. Default: its host name.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Fingerprint this machine, so that costs measured on another can be estimated for it.

    penstock calibrate --fingerprint

    penstock calibrate --fingerprint --cluster cluster.yaml --type large --out cluster.yaml
    """
    if not fingerprint:
        raise UsageError("say what to measure: --fingerprint")
    if len({cluster is None, machine_type is None, out is None}) > 1:
        raise UsageError("--cluster, --type and --out go together: which file, which type, whither")
    # Read before a minute is spent on it.
    file = app.cluster_with_type(cluster, machine_type) if cluster and machine_type else None
    taken = app.fingerprint(seconds, say=say)
    if file is not None and machine_type is not None and out is not None:
        marked = app.with_fingerprint(file, machine_type, taken)
        write_file(out, app.dumps(marked, json=out.suffix.lower() == ".json"))
    if telemetry is not None:
        _record(taken, telemetry, name or socket.gethostname())
    if as_json:
        write_json({**answer_head("fingerprint"), **fingerprint_dict(taken)})
    else:
        show(fingerprint_page(taken))
    for path in (out, telemetry):
        if path is not None:
            say(f"wrote {path}")
    return EXIT_DONE


def _record(taken: Fingerprint, folder: Path, name: str) -> None:
    """A machine record with the fingerprint, as an agent would write it."""
    facts = {**hardware(), **fingerprint_facts(taken)}
    now_ms = int(_MS * time.time())
    RecordFile(folder, name).append(MachineRecord(name, socket.gethostname(), now_ms, 0, facts))

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
from penstock.cli.stopping import stoppable
from penstock.cli.values import fraction_of
from penstock.engines.spark.session import LOCAL
from penstock.errors import EXIT_DONE, EXIT_FAILURE, UsageError
from penstock.files.answer_formats import answer_head
from penstock.model.machine_record import MachineRecord
from penstock.planning.numbers import percent
from penstock.report.pages.fingerprint import fingerprint_dict, fingerprint_page
from penstock.report.pages.profile import measurement_dict, profile_page

_MS = 1e3
_USUAL_ERROR = 0.05


def command(
    topology: Annotated[
        str | None, typer.Argument(help="Topology file; its code is in the .py beside it.")
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", "-e", help="Name of a shipped topology.")
    ] = None,
    code: Annotated[
        Path | None, typer.Option("--code", help="Python file with the components' functions.")
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            parser=fraction_of("--error"),
            metavar="<fraction>",
            help="Half of the 95 % interval that every cost must have. Default: 5%.",
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", help="End after so long, known or not.")
    ] = 15.0,
    every: Annotated[
        float, typer.Option("--every", help="Seconds between batches, each of one load.", min=0.1)
    ] = 2.0,
    master: options.Master = LOCAL,
    settings: options.SparkSettings = None,
    runs: Annotated[
        Path | None, typer.Option("--runs", help="Keep the runs and their telemetry here.")
    ] = None,
    fingerprint: Annotated[
        bool,
        typer.Option("--fingerprint", help="Measure this machine, on five kinds of work."),
    ] = False,
    seconds: Annotated[
        float,
        typer.Option("--seconds", help="Fingerprint: seconds of CPU, on each core.", min=2),
    ] = USUAL_SECONDS,
    cluster: options.Cluster = None,
    machine_type: Annotated[
        str | None,
        typer.Option("--type", help="Fingerprint: type of the cluster that this machine is of."),
    ] = None,
    telemetry: Annotated[
        Path | None,
        typer.Option("--telemetry", help="Fingerprint: folder of machine records to add one to."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Of the profile; fingerprint: of this machine.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Measure what a topology's components cost, or how fast this machine is.

    penstock calibrate --example wordcount --error 5% --out profile.json

    penstock calibrate --fingerprint --cluster cluster.yaml --type large --out cluster.yaml
    """
    named = topology or example
    if fingerprint:
        if named or runs or code:
            raise UsageError("--fingerprint measures this machine, without a topology")
        return _fingerprint(seconds, cluster, machine_type, telemetry, name, out, as_json=as_json)
    if named is None or (topology and example):
        raise UsageError("name a topology to measure, or --fingerprint for this machine")
    if cluster or machine_type or telemetry:
        raise UsageError("--cluster, --type and --telemetry need --fingerprint")
    config = options.spark_config(settings or [])
    target = app.engine("spark", master=master, config=config)
    good_enough = _USUAL_ERROR if error is None else error
    wanted = app.CalibrationOptions(good_enough, minutes, every, name or "calibrated")
    with stoppable() as stop:
        result = app.calibrate(named, target, wanted, code=code, out=runs, stop=stop, say=say)
    return _show_costs(result, out, good_enough, as_json=as_json) or stop.exit_code or EXIT_DONE


def _show_costs(
    result: app.CalibrationResult, out: Path | None, error: float, *, as_json: bool
) -> int:
    """What was measured; a failure where costs are missing or not known well enough."""
    measured = result.measured
    if as_json:
        write_json(measurement_dict(measured))
    else:
        show(profile_page(measured))
    say(f"{result.batches} batches in {result.seconds / 60:.1f} minutes")
    for cost in result.open_costs:
        say(f"not within {percent(error)}: {cost}")
    if measured.profile is None or measured.not_ready:
        say("not all costs are known; more --minutes, or a lower load beside it, may help")
        return EXIT_FAILURE
    if out is not None:
        is_yaml = out.suffix.lower() in (".yaml", ".yml")
        write_file(out, app.dumps(measured.profile, json=not is_yaml), is_printed=True)
        say(f"wrote {out}")
    return EXIT_FAILURE if result.open_costs else EXIT_DONE


def _fingerprint(
    seconds: float,
    cluster: str | None,
    machine_type: str | None,
    telemetry: Path | None,
    name: str | None,
    out: Path | None,
    *,
    as_json: bool,
) -> int:
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

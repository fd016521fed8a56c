"""Fresh telemetry of a running Storm: where it lies, which of it counts, and what it says."""

from __future__ import annotations

import glob
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import history_options
from penstock.cli.output import say
from penstock.engines.lab import keeper
from penstock.engines.spark.session import spark_session
from penstock.engines.storm.snapshot import ACKER
from penstock.errors import Finding, InputError, UsageError
from penstock.files.receipt_file import read_receipts
from penstock.model.cluster import Cluster
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.telemetry.history.reader import TABLES
from penstock.telemetry.writer_lock import writing_to

if TYPE_CHECKING:
    from penstock.change.history import Outcome
    from penstock.telemetry.findings import Measurement
    from penstock.telemetry.pipeline import Pipeline
    from penstock.telemetry.selection import Lot

#: In place of a profile's name: measured now, from the cluster's telemetry.
LIVE = "live"
#: Files that the reporter has ended; those it still writes begin with a dot.
PATTERN = "*.jsonl*"
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SHOWN = 10

Telemetry = Annotated[
    list[str] | None,
    typer.Option(
        "--telemetry",
        help="Folder of the reporter's files; several, or a pattern. Of a lab, found by itself.",
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", help="Only lines of the last 90s, 10m, 2h or 1d.")
]


@dataclass(frozen=True)
class Fresh:
    """Which telemetry is meant."""

    folders: tuple[str, ...]
    since_s: float | None = None

    @classmethod
    def asked(cls, telemetry: Sequence[str] | None, since: str | None = None) -> Fresh:
        return cls(tuple(_folders(telemetry or [])), _seconds(since))


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if found is None or float(found[1]) <= 0:
        raise UsageError(f'--since takes a time such as 90s, 10m, 2h or 1d, not "{text}"')
    return float(found[1]) * _UNITS_S[found[2]]


def _folders(given: Sequence[str]) -> list[str]:
    if not given:
        return _of_the_lab()
    found: list[str] = []
    findings = []
    for text in given:
        if "://" in text:
            found.append(text)
            continue
        matching = sorted(glob.glob(text)) if glob.has_magic(text) else [text]  # noqa: PTH207
        there = [str(Path(name).absolute()) for name in matching if Path(name).exists()]
        if not there:
            findings.append(Finding("no such file or folder", text))
        found += there
    if findings:
        raise InputError(*findings)
    return list(dict.fromkeys(found))


def _of_the_lab() -> list[str]:
    lab = keeper.find("storm")
    if lab is None:
        raise UsageError(
            "say with --telemetry where the reporter's files are: penstock.telemetry.dir of the "
            "topologies, or the workers' log folders (docs/storm.md)"
        )
    folders = sorted({str(file.parent) for file in Path(lab.folder).rglob("*.jsonl")})
    if not folders:
        raise InputError(f"the lab has no telemetry yet below {lab.folder}")
    return folders


def types_of_hosts(cluster: Cluster) -> dict[str, str]:
    """Machine types by every name that telemetry may have for a machine."""
    by_host: dict[str, set[str]] = {}
    for machine in cluster.machines:
        if machine.host:
            by_host.setdefault(machine.host, set()).add(machine.type)
    # Machines that share a host can be told apart by their own names only.
    shared = {host: kinds.pop() for host, kinds in by_host.items() if len(kinds) == 1}
    return shared | {machine.name: machine.type for machine in cluster.machines}


def take_in(pipeline: Pipeline, folders: Sequence[str]) -> None:
    """Every file that the reporters have ended."""
    from penstock.telemetry.source import SourceFormat, open_source

    for folder in folders:
        source = open_source(pipeline.spark, folder, SourceFormat.JSON_LINES)
        pipeline.take_in_history(replace(source, pattern=PATTERN, rotated=True))


def require_lines(pipeline: Pipeline, fresh: Fresh) -> list[Lot]:
    """What was taken in, or an error that says why that is nothing."""
    from penstock.telemetry.selection import survey

    lots = survey(pipeline.store.read(pipeline.store.manifest(), "samples"))
    if not lots:
        raise InputError(_no_lines(pipeline, fresh))
    return lots


def choose(pipeline: Pipeline, snapshot: Snapshot, fresh: Fresh) -> None:
    """Leave out what is not of the running cluster, or an error if nothing else is there."""
    from penstock.telemetry.selection import Selection, require_some

    lots = require_lines(pipeline, fresh)
    now_ms = int(time.time() * 1000)
    since_ms = None if fresh.since_s is None else int(now_ms - 1000 * fresh.since_s)
    names = frozenset(t.name for t in snapshot.topologies)
    selection = Selection(names, types_of_hosts(snapshot.cluster), since_ms)
    require_some(lots, selection, now_ms, say)
    pipeline.only = selection


def _no_lines(pipeline: Pipeline, fresh: Fresh) -> str:
    places = ", ".join(fresh.folders)
    aside = pipeline.tables.set_aside(pipeline.store.manifest())
    if aside:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(aside.items()))
        return f"{places}: every line was set aside: {reasons}"
    return (
        f"no telemetry lines in {places}; is penstock.storm.TelemetryReporter in the topology's "
        "topology.metrics.reporters? Its files appear after a minute"
    )


def measured_now(snapshot: Snapshot, fresh: Fresh, history: Path | None = None) -> Profile:
    """The profile that fresh telemetry gives, for a plan; an error says what is missing."""
    say("starting Spark to measure what tuples cost")
    with (
        spark_session() as spark,
        tempfile.TemporaryDirectory(prefix="penstock-tables-") as folder,
    ):
        from penstock.telemetry.pipeline import Pipeline
        from penstock.telemetry.store import Store

        types = types_of_hosts(snapshot.cluster)
        pipeline = Pipeline(
            spark, Store(spark, folder), machine_types=types, types_win=True, progress=say
        )
        take_in(pipeline, fresh.folders)
        choose(pipeline, snapshot, fresh)
        found = pipeline.measure(name=LIVE)
        look_back(pipeline, history_options.folder(history))
        return _ready(found, snapshot)


def _ready(found: Measurement, snapshot: Snapshot) -> Profile:
    """The profile, if it has all that planning these topologies on these machines takes."""
    used = {machine.type for machine in snapshot.cluster.machines}
    wanted = {
        row
        for (topology, component), row in found.findings.rows.items()
        if not component.startswith("__") and topology in {t.name for t in snapshot.topologies}
    }
    missing = [n for n in found.not_ready if n.row in wanted and n.machine_type in used]
    if found.profile is not None and found.profile.covers(wanted, used):
        for lacking in missing[:_SHOWN]:
            say(f"estimated: {lacking.row} on {lacking.machine_type}: {lacking.why}")
        return _without_half_known_ackers(found.profile, used)
    findings = [
        Finding(f"{lacking.row} on {lacking.machine_type}: {lacking.why}")
        for lacking in missing[:_SHOWN]
    ]
    raise InputError(*findings, "the telemetry does not give all costs yet; see above")


def _without_half_known_ackers(profile: Profile, used: set[str]) -> Profile:
    """Ackers measured on some machine types only are left to the plugin, as unmeasured ones are."""
    if profile.covers({ACKER}, used):
        return profile
    return replace(profile, costs=tuple(c for c in profile.costs if c.row != ACKER))


@contextmanager
def measuring(history: Path) -> Iterator[None]:
    """Be the only one that adds measurements to a history, where there is one."""
    with writing_to(history) if history.is_dir() else nullcontext():
        yield


def look_back(pipeline: Pipeline, history: Path) -> dict[str, Outcome]:
    """Hold the plans that were applied against the telemetry just taken in."""
    receipts, findings = read_receipts(history)
    for finding in findings:
        say(f"left out of the history: {finding}")
    if not receipts:
        return {}
    from penstock.telemetry.history.tables import HistoryTables
    from penstock.telemetry.store import Store

    tables = HistoryTables(Store(pipeline.spark, str((history / TABLES).absolute())))
    taken = tables.take_in(receipts)
    manifest = pipeline.tables.compute()
    rates = pipeline.store.read(manifest, "rates")
    outcomes = tables.measure(rates, [applied for applied, _ in receipts])
    say(f"history: {taken} receipts taken in, {len(outcomes)} plans measured; penstock history")
    return outcomes

"""The plans that were applied, and what was measured of them since."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.app.clusters import silent, types_of_hosts
from penstock.app.history_folder import history_folder
from penstock.app.journal_file import JOURNAL
from penstock.app.journal_reader import journal_rows
from penstock.app.telemetry import SparkOptions, TelemetrySelection, require_lines, take_in
from penstock.change.history import Entry, MeasuredOutcome
from penstock.engines.base import Say
from penstock.engines.spark.session import spark_session
from penstock.errors import Finding, InputError, UnknownNameError
from penstock.files.receipt_file import read_receipts
from penstock.planning.numbers import counted
from penstock.telemetry.history.reader import TABLES, read_history
from penstock.telemetry.writer_lock import writing_to

if TYPE_CHECKING:
    from penstock.telemetry.pipeline import Pipeline

LAST = "last"


@dataclass(frozen=True)
class PlanHistory:
    """Applied plans, oldest first, and what could not be read."""

    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...] = ()

    def of_topology(self, topology: str) -> PlanHistory:
        """Only plans of this topology."""
        known = sorted({name for e in self.entries for name in e.applied.topologies})
        if topology not in known:
            raise UnknownNameError("topology in the history", topology, known)
        return replace(
            self, entries=tuple(e for e in self.entries if topology in e.applied.topologies)
        )

    def newest(self, number: int) -> PlanHistory:
        return replace(self, entries=self.entries[-number:])

    def entry(self, key: str) -> Entry:
        """The one whose id begins so, whose plan's id it is, or the ``last``."""
        if key == LAST and self.entries:
            return self.entries[-1]
        matching = [
            e for e in self.entries if e.applied.id.startswith(key) or e.applied.plan_id == key
        ]
        if not matching:
            ids = [e.applied.id for e in self.entries]
            raise UnknownNameError("applied plan", key, ids[::-1])
        if len(matching) > 1:
            names = ", ".join(e.applied.id for e in matching)
            raise InputError(f'"{key}" matches several plans: {names}')
        return matching[0]


def history(folder: Path | None = None) -> PlanHistory:
    """The plans that were applied: what was predicted and what was measured."""
    entries, findings = read_history(history_folder(folder))
    return PlanHistory(tuple(entries), tuple(findings))


#: A journal as it says itself, the oldest row first.
JournalRows = list[dict[str, Any]]


def loop_journal(journal: Path | None, folder: Path | None = None) -> JournalRows | None:
    """A journal of the loop: as given, else the history's; ``None`` where there is none."""
    if journal is None:
        journal = history_folder(folder) / JOURNAL
        if not journal.exists():
            return None
    return journal_rows(journal)


def measure_history(
    selection: TelemetrySelection,
    folder: Path | None = None,
    *,
    warm_up_s: float = 60.0,
    rebuild: bool = False,
    spark: SparkOptions | None = None,
    say: Say = silent,
) -> PlanHistory:
    """Take receipts into the history's tables, and measure the plans by the telemetry since."""
    place, options = history_folder(folder), spark or SparkOptions()
    receipts, findings = read_receipts(place)
    if not receipts:
        message = "has no receipts; penstock apply leaves one for each plan"
        raise InputError(*findings, Finding(message, str(place)))
    types = {
        name: kind
        for receipt, _ in receipts
        for name, kind in types_of_hosts(receipt.plan.problem.cluster).items()
    }
    say(f"starting Spark on {options.master}")
    with (
        measuring(place),
        spark_session(
            options.master, driver_memory=options.driver_memory, config=options.config
        ) as session,
        tempfile.TemporaryDirectory(prefix="penstock-tables-") as scratch,
    ):
        from penstock.telemetry.pipeline import Pipeline
        from penstock.telemetry.settings import Settings
        from penstock.telemetry.store import Store

        pipeline = Pipeline(
            session,
            Store(session, scratch),
            Settings(warm_up_s=warm_up_s),
            machine_types=types,
            progress=say,
        )
        take_in(pipeline, selection.folders)
        require_lines(pipeline, selection)
        if rebuild:
            _put_aside(place, say)
        look_back(pipeline, place, say)
    return history(place)


@contextmanager
def measuring(folder: Path) -> Iterator[None]:
    """Be the only one that adds measurements to a history, where there is one."""
    with writing_to(folder) if folder.is_dir() else nullcontext():
        yield


def look_back(pipeline: Pipeline, folder: Path, say: Say = silent) -> dict[str, MeasuredOutcome]:
    """Hold the plans that were applied against the telemetry just taken in."""
    receipts, findings = read_receipts(folder)
    for finding in findings:
        say(f"left out of the history: {finding}")
    if not receipts:
        return {}
    from penstock.telemetry.cost_fits import rates_view
    from penstock.telemetry.history.tables import HistoryTables
    from penstock.telemetry.store import Store

    tables = HistoryTables(Store(pipeline.spark, str((folder / TABLES).absolute())))
    number = tables.take_in(receipts)
    manifest, _ = pipeline.tables.compute()
    rates = rates_view(pipeline.tables, manifest)
    outcomes = tables.measure(rates, [receipt for receipt, _ in receipts])
    read, measured = counted(number, "receipt"), counted(len(outcomes), "plan")
    say(f"history: {read} read, {measured} measured; see penstock history")
    return outcomes


def _put_aside(folder: Path, say: Say) -> None:
    if (folder / TABLES).exists():
        aside = folder / f"{TABLES}-{int(time.time())}"
        (folder / TABLES).rename(aside)
        say(f"the previous tables are now in {aside}")

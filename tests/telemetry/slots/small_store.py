"""A store without Spark: batches of records, and the tables of their hours, in this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from tests.telemetry.frames import Row

from penstock.telemetry.arrow_record import record_schema
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.schemas import RATES, TABLES
from penstock.telemetry.slots.bundles import read_bundle
from penstock.telemetry.slots.fit_points import LOTS
from penstock.telemetry.slots.fit_task import FitTask
from penstock.telemetry.slots.hour_task import QUARANTINE, HourReport, HourTask, HourWork
from penstock.telemetry.slots.keys import hour_of, shifted
from penstock.telemetry.slots.rates_task import HourSamples, RatesTask
from penstock.telemetry.slots.samples import WindowSettings
from penstock.telemetry.slots.summaries import Summaries, SummaryReader
from penstock.telemetry.slots.sums import SampleSizes
from penstock.telemetry.slots.take_in import TakeIn

HOUR_TABLES = ("streams", "traffic", "places", "workers", "utilisation")
_RECORDS = pa.schema([*record_schema(), pa.field("file", pa.string())])
_USUAL: Row = {
    "version": 1, "topology": "t", "run": "", "component": "b", "task": 1, "host": "h1",
    "machine_type": "M1", "worker": "6700", "rack": "", "window_ms": 10_000, "counters": "delta",
    "sample_rate": 1.0, "file": "f",
}  # fmt: skip


@dataclass
class SmallStore:
    """Does what :class:`penstock.telemetry.tables.Tables` has Spark do, hour by hour."""

    root: str
    warm_up_s: float = 60.0
    window_s: float = 0.0
    totals: bool = False
    sizes: SampleSizes = field(default_factory=lambda: SampleSizes({}, {}))
    manifest: Manifest = field(default_factory=Manifest)
    #: Key, file and reason of the records set aside, by slot.
    repeats: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    #: What each computation has said, by hour.
    reports: dict[str, HourReport] = field(default_factory=dict)
    _batches: int = 0
    _pending: set[str] = field(default_factory=set)

    # -- in -----------------------------------------------------------------------------------

    def take_in(self, rows: Iterable[Row]) -> None:
        """One batch of records that passed every check."""
        table = pa.Table.from_pylist([{**_USUAL, **row} for row in rows], schema=_RECORDS)
        self._batches += 1
        taking = TakeIn(self.root, f"samples/part=b{self._batches}", now_ms=0)
        (batch,) = taking.accepted(table.combine_chunks().to_batches())
        report = json.loads(batch.column("report")[0].as_py())
        samples = {
            f"{slot}/b{self._batches}/{n:05d}": path
            for n, (slot, path) in enumerate(report["files"])
        }
        self._pending |= {slot for slot, _ in report["files"]}
        self.totals = self.totals or bool(report["totals"])
        self.manifest = self.manifest.with_parts("samples", samples)

    def compute(self) -> None:
        """The tables of all hours with new records, once for all batches since the last time."""
        samples, settings = self.samples(), self.settings
        pending = {slot for slot in self._pending if slot in samples}
        if settings.needs_hours:
            hours = {hour_of(slot) for slot in pending}
            hours |= {shifted(hour, 1) for hour in hours}
            pending = {slot for slot in samples if hour_of(slot) in hours}
        task = HourTask(
            settings, f"c{self._batches}", self.sizes,
            {name: to_arrow_schema(TABLES[name]) for name in (*HOUR_TABLES, QUARANTINE)},
        )  # fmt: skip
        for hour in sorted({hour_of(slot) for slot in pending}):
            self._compute_hour(task, hour, sorted(s for s in pending if hour_of(s) == hour))
        self._pending = set()

    def _compute_hour(self, task: HourTask, hour: str, slots: list[str]) -> None:
        samples, parts = self.samples(), self.manifest.parts
        before = shifted(hour, -1)
        work = HourWork(
            hour=hour,
            slots={slot: samples[slot] for slot in slots},
            earlier=self._paths(before) if self.totals else [],
            stored={
                slot: path for slot, path in parts.get("slots", {}).items()
                if hour_of(slot) == hour and slot not in slots
            },
            points=parts.get("points", {}).get(hour, ""),
        )  # fmt: skip
        text = json.dumps(asdict(work))
        (batch,) = task.run([pa.record_batch([pa.array([text])], names=["work"])])
        report = HourReport(**json.loads(batch.column("report")[0].as_py()))
        self.reports[hour] = report
        self.repeats |= {slot: [] for slot in slots}
        for slot, path in report.quarantine.items():
            rows = pq.read_table(f"{self.root}/{path}", partitioning=None).to_pylist()
            assert {row["hour"] for row in rows} == {hour}
            self.repeats[slot] = [_aside(row) for row in rows]
            assert Counter(reason for *_, reason in self.repeats[slot]) == report.repeats[slot]
        for table, path in report.tables.items():
            self.manifest = self.manifest.with_parts(table, {hour: path})
        self.manifest = (
            self.manifest.with_parts("slots", dict.fromkeys(report.slots, report.partials))
            .with_parts("hours", {hour: report.summaries})
            .with_parts("points", {hour: report.points})
        )

    # -- out ----------------------------------------------------------------------------------

    @property
    def settings(self) -> WindowSettings:
        return WindowSettings(self.root, self.warm_up_s, self.window_s, self.totals)

    def samples(self) -> dict[str, list[str]]:
        slots: dict[str, list[str]] = {}
        for key, path in sorted(self.manifest.parts.get("samples", {}).items()):
            slots.setdefault(key.partition("/")[0], []).append(path)
        return slots

    def table(self, name: str) -> list[Row]:
        """All hours of a table."""
        return [
            row
            for path in self.manifest.parts.get(name, {}).values()
            for row in pq.read_table(f"{self.root}/{path}", partitioning=None).to_pylist()
        ]

    def summaries(self) -> Summaries:
        return SummaryReader(self.root).read(self.manifest)

    def dropped(self) -> dict[str, Any]:
        """By file of samples, the rows that do not count."""
        rows: dict[str, set[int]] = {}
        for slot, path in self.manifest.parts.get("slots", {}).items():
            table = read_bundle(self.root, path, {"dropped"})["dropped"]
            for row in table.to_pylist():
                if row["slot"] == slot:
                    rows.setdefault(row["path"], set()).add(row["row"])
        return {path: np.array(sorted(own)) for path, own in rows.items()}

    def rates(self) -> list[Row]:
        """The table of rates."""
        hours = sorted({hour_of(slot) for slot in self.samples()})
        samples = HourSamples(
            self.settings,
            [
                (h, self._paths(h), self._paths(shifted(h, -1)) if self.totals else [])
                for h in hours
            ],
            {} if self.settings.needs_hours else self.dropped(),
        )
        numbers = pa.record_batch([pa.array(range(len(hours)), pa.int64())], names=["id"])
        task = RatesTask(samples, to_arrow_schema(RATES))
        return [row for batch in task.run([numbers]) for row in batch.to_pylist()]

    def fits(self) -> list[Row]:
        """Costs fitted to the samples of windows, before the step over all of them."""
        paths = [path for _, path in sorted(self.manifest.parts.get("points", {}).items())]
        sizes = self.summaries().sizes()
        task = FitTask(self.root, paths, sizes, frozenset(sizes.groups))
        lots = pa.record_batch([pa.array(range(LOTS), pa.int64())], names=["id"])
        return [row for batch in task.run([lots]) for row in batch.to_pylist()]

    def _paths(self, hour: str) -> list[str]:
        samples = self.samples()
        return [p for slot in sorted(samples) if hour_of(slot) == hour for p in samples[slot]]


def _aside(row: Row) -> tuple[Any, ...]:
    record = json.loads(row["raw"])
    key = tuple(record[name] for name in ("topology", "run", "task", "time_ms"))
    return *key, row["file"], row["reason"]

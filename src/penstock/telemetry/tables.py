"""From records in a store to its tables, by slots of ten minutes and by hours.

Two steps, each ended by one commit, both safe to repeat:

- *take in*: a batch of raw records is judged and written by slot. What is written under a batch's
  key replaces what was there, and a batch already taken in is left alone.
- *compute*: partial sums of every slot that got new records are made anew from all its records,
  and the tables of its hour from the partial sums of all its slots. So it does not matter in which
  batches, in which order or how late the records came.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.telemetry.intake import WriteAside
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.schemas import TABLES
from penstock.telemetry.selection import Selection
from penstock.telemetry.settings import Settings, fitting_warm_up_s
from penstock.telemetry.slots.hour_files import SLOTS, paths_of_hour, samples_by_slot
from penstock.telemetry.slots.hour_task import (
    HOUR_TABLES,
    QUARANTINE,
    HourReport,
    HourTask,
    HourWork,
)
from penstock.telemetry.slots.keys import hour_of, shifted, slot_of
from penstock.telemetry.slots.samples import ChosenRecords, WindowSettings
from penstock.telemetry.slots.sums import SampleSizes
from penstock.telemetry.slots.take_in import (
    RecordsSeen,
    TaskReport,
    count_nothing,
    doubtful_folder,
)
from penstock.telemetry.store import Store

#: Where records go that failed a check: beside the hours.
ASIDE = "aside"
#: What profiles need of each hour, and points of fits. Only the pipeline reads them.
HOURS, POINTS = "hours", "points"
#: Batches of one stream whose keys are remembered: Spark only ever brings back the last.
_REMEMBERED = 20

#: Takes a batch into the folder given: a report, and how many records were set aside.
TakeBatch = Callable[[str], tuple[TaskReport, Counter[str]]]


@dataclass
class Tables:
    """The tables of one store, and how they come about."""

    store: Store
    settings: Settings = field(default_factory=Settings)
    #: Records that count; all of them without.
    only: Selection | None = None
    #: Told by tasks how many records they have read.
    seen: RecordsSeen = count_nothing

    # -- take in ------------------------------------------------------------------------------

    def is_taken_in(self, key: str) -> bool:
        return key in self.store.manifest().facts.get("batches", {})

    def take_in(self, key: str, take: TakeBatch) -> int:
        """Take in a batch; known or not, it is in the store once afterwards.

        How many records it had, and none if it was known.
        """
        if self.is_taken_in(key):
            return 0
        self.store.discard(f"quarantine/part={key}")
        folder = f"samples/part={key}"
        report, aside = take(folder)
        if report.doubtful:
            self.store.discard(doubtful_folder(folder))
        manifest = self.store.manifest()
        samples = {
            f"{slot}/{key}/{number:05d}": path for number, (slot, path) in enumerate(report.files)
        }
        updated = manifest.with_parts("samples", samples)
        if aside:
            folder = f"quarantine/part={key}/slot={ASIDE}"
            updated = updated.with_parts(QUARANTINE, {f"{ASIDE}/{key}": folder})
        self.store.commit(updated.with_facts(**_with_report(manifest.facts, report, aside, key)))
        return report.records + aside.total()

    def write_aside(self, key: str) -> WriteAside:
        """Writes records that were set aside on the way in, and says how many by reason."""

        def write(aside: DataFrame) -> dict[str, int]:
            rows = aside.groupBy("reason").count().collect()
            if rows:
                whole = aside.withColumns({"hour": F.lit(ASIDE), "slot": F.lit(ASIDE)})
                self.store.write_by("slot", "quarantine", whole, key, mode="append")
            return {str(row["reason"]): int(row["count"]) for row in rows}

        return write

    # -- compute ------------------------------------------------------------------------------

    def compute(self) -> tuple[Manifest, int]:
        """Bring the tables up to date with the records taken in; how many records that took."""
        manifest = self.store.manifest()
        pending = self._slots_to_compute(manifest)
        if not pending:
            return manifest, 0
        settings = self.window_settings(manifest)
        work = self._work(manifest, pending, settings)
        task = HourTask(
            settings=settings,
            part=f"{manifest.number + 1:08d}",
            sizes=_least_sizes(manifest),
            schemas={name: to_arrow_schema(TABLES[name]) for name in HOUR_TABLES},
            seen=self.seen,
        )
        reports = _run_hours(self.store, task, work)
        updated = _with_hours(manifest, reports)
        repeats = dict(manifest.facts.get("repeats", {}))
        for report in reports:
            repeats |= {slot: report.repeats.get(slot, {}) for slot in report.slots}
        facts = {
            "pending": [],
            "warm_up_s": self.warm_up_s(manifest),
            "window_s": self.settings.window_s,
            "repeats": {slot: counts for slot, counts in sorted(repeats.items()) if counts},
        }
        records = sum(report.records for report in reports)
        return self.store.commit(updated.with_facts(**facts)), records

    def window_settings(self, manifest: Manifest) -> WindowSettings:
        chosen = self.only
        return WindowSettings(
            root=self.store.root,
            warm_up_s=self.warm_up_s(manifest),
            window_s=self.settings.window_s,
            totals=bool(manifest.facts.get("totals")),
            only=None
            if chosen is None
            else ChosenRecords(chosen.topologies, frozenset(chosen.hosts), chosen.since_ms),
        )

    def warm_up_s(self, manifest: Manifest) -> float:
        """Seconds of a worker that are left out: as set, or as fits what the store has seen."""
        if self.settings.warm_up_s is not None:
            return self.settings.warm_up_s
        return fitting_warm_up_s(*(manifest.facts.get("uptimes_s") or [None, None]))

    def _slots_to_compute(self, manifest: Manifest) -> list[str]:
        pending = set(manifest.facts.get("pending", []))
        present = {slot_of(key) for key in manifest.parts.get("samples", {})}
        warm_up_s = self.warm_up_s(manifest)
        if manifest.facts.get("warm_up_s", warm_up_s) != warm_up_s:
            return sorted(present)  # what slots before this one left out is not what is now
        if pending and self.window_settings(manifest).needs_hours:
            hours = {hour_of(slot) for slot in pending}
            if manifest.facts.get("totals"):
                # A total is a difference to the one before: the hour after depends on it too.
                hours |= {shifted(hour, 1) for hour in hours}
            return sorted(slot for slot in present if hour_of(slot) in hours)
        return sorted(pending & present)

    def _work(
        self, manifest: Manifest, pending: Iterable[str], settings: WindowSettings
    ) -> list[HourWork]:
        samples, partials = samples_by_slot(manifest), manifest.parts.get(SLOTS, {})
        by_hour: dict[str, list[str]] = {}
        for slot in pending:
            by_hour.setdefault(hour_of(slot), []).append(slot)
        return [
            HourWork(
                hour=hour,
                slots={slot: samples[slot] for slot in slots},
                earlier=paths_of_hour(samples, shifted(hour, -1)) if settings.totals else [],
                stored={s: p for s, p in partials.items() if hour_of(s) == hour and s not in slots},
                points=manifest.parts.get(POINTS, {}).get(hour, ""),
            )
            for hour, slots in sorted(by_hour.items())
        ]

    # -- facts --------------------------------------------------------------------------------

    def set_aside(self, manifest: Manifest) -> dict[str, int]:
        """Records set aside, by reason."""
        counts = Counter(manifest.facts.get("aside", {}))
        for repeats in manifest.facts.get("repeats", {}).values():
            counts.update(repeats)
        return {reason: number for reason, number in sorted(counts.items()) if number}

    def records_in(self, manifest: Manifest) -> int:
        return int(manifest.facts.get("records", 0))


def _run_hours(store: Store, task: HourTask, work: Sequence[HourWork]) -> list[HourReport]:
    texts = [json.dumps(asdict(hour)) for hour in work]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = batch.column("id").to_pylist()
            yield from task.run([pa.record_batch([pa.array([texts[n] for n in ids])], ["work"])])

    numbers = store.spark.range(0, len(texts), 1, len(texts))
    rows = numbers.mapInArrow(run, "report string").collect()
    return [HourReport(**json.loads(row["report"])) for row in rows]


def _with_hours(manifest: Manifest, reports: Iterable[HourReport]) -> Manifest:
    for report in sorted(reports, key=lambda report: report.hour):
        for table, path in report.tables.items():
            manifest = manifest.with_parts(table, {report.hour: path})
        manifest = manifest.with_parts(SLOTS, dict.fromkeys(report.slots, report.partials))
        manifest = manifest.with_parts(HOURS, {report.hour: report.summaries})
        manifest = manifest.with_parts(POINTS, {report.hour: report.points})
        # Repeated records of a slot in place of those of the same slot before.
        manifest = manifest.with_parts(QUARANTINE, report.quarantine, replacing=report.slots)
    return manifest


def _with_report(
    facts: Mapping[str, Any], report: TaskReport, aside: Counter[str], key: str
) -> dict[str, Any]:
    """Facts after a batch."""
    records = report.records + aside.total()
    batches = {**facts.get("batches", {}), key: {"records": records, "aside": aside.total()}}
    uptimes_s = [*facts.get("uptimes_s", []), *report.uptimes_s]
    groups = {tuple(names): n for *names, n in facts.get("groups", [])}
    for *names, number in report.groups:
        groups[tuple(names)] = groups.get(tuple(names), 0) + number
    workers = dict(facts.get("workers", []))
    for kind, number in report.workers:
        workers[kind] = workers.get(kind, 0) + number
    slots = {slot for slot, _ in report.files}
    return {
        "pending": sorted({*facts.get("pending", []), *slots}),
        "batches": _recent(batches),
        "records": int(facts.get("records", 0)) + records,
        "aside": Counter(facts.get("aside", {})) + aside,
        "newest_ms": max(int(facts.get("newest_ms", 0)), report.newest_ms),
        "totals": bool(facts.get("totals") or report.totals),
        "uptimes_s": [min(uptimes_s), max(uptimes_s)] if uptimes_s else [],
        "groups": [[*names, number] for names, number in sorted(groups.items())],
        "workers": sorted(workers.items()),
    }


def _recent(batches: Mapping[str, Any]) -> dict[str, Any]:
    """The last batches of each stream, and all that have a name of their own."""
    streams: dict[str, list[str]] = {}
    for key in sorted(batches):
        stream, dash, _ = key.rpartition("-")
        streams.setdefault(stream if dash else key, []).append(key)
    kept = {key for keys in streams.values() for key in keys[-_REMEMBERED:]}
    return {key: value for key, value in batches.items() if key in kept}


def _least_sizes(manifest: Manifest) -> SampleSizes:
    """At least so many windows there will be: repeats and warm-ups are hardly half of them."""
    facts = manifest.facts
    return SampleSizes(
        groups={(t, c, m): n // 2 for t, c, m, n in facts.get("groups", [])},
        workers={kind: n // 2 for kind, n in facts.get("workers", [])},
    )

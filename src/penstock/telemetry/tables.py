"""From records in a store to its tables, hour by hour.

Two steps, each ended by one commit, both safe to repeat:

- *take in*: a batch of raw records is judged and written. What is written under a batch's key
  replaces what was there, and a batch already taken in is left alone.
- *compute*: the tables of every hour that got new records are made anew from all of its records.
  So it does not matter in which batches, in which order or how late the records came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.telemetry import Counters
from penstock.telemetry import traffic, usage
from penstock.telemetry.clean import (
    Settings,
    differences,
    doubtful,
    fitting_warm_up_s,
    repeated_keys,
    set_aside,
    without_repeats,
)
from penstock.telemetry.retention import EXPIRED_ASIDE
from penstock.telemetry.selection import Selection
from penstock.telemetry.store import Manifest, Store
from penstock.telemetry.streams import stream_blocks
from penstock.telemetry.windows import merged, rates

#: Where records go that failed a check: beside the hours, in the same write.
ASIDE = "aside"
_HOUR = "yyyy-MM-dd-HH"
_HOUR_PYTHON = "%Y-%m-%d-%H"
#: Fewer repeated keys than this are sent to every executor instead of sorting all samples.
_MOST_BROADCAST = 2_000_000


@dataclass
class Tables:
    """The tables of one store, and how they come about."""

    store: Store
    settings: Settings = field(default_factory=Settings)
    #: Records that count; all of them without.
    only: Selection | None = None
    _held: list[DataFrame] = field(default_factory=list)

    # -- take in ------------------------------------------------------------------------------

    def is_taken_in(self, key: str) -> bool:
        return key in self.store.manifest().facts.get("batches", {})

    def take_in(self, judged: DataFrame, key: str) -> None:
        """Write a batch of judged records; known or not, it is in the store once afterwards."""
        manifest = self.store.manifest()
        if key in manifest.facts.get("batches", {}):
            return
        hour = F.date_format(F.timestamp_millis("time_ms"), _HOUR)
        accepted = F.col("reason").isNull()
        frame = judged.withColumn("hour", F.when(accepted, hour).otherwise(ASIDE))
        folders = self.store.write("samples", frame, key, by_hour=True)
        hours = sorted(h for h in folders if h != ASIDE)
        samples = {f"{h}/{key}": folders[h] for h in hours}
        updated = manifest.with_parts("samples", samples)
        if ASIDE in folders:
            updated = updated.with_parts("quarantine", {f"{ASIDE}/{key}": folders[ASIDE]})
        written = self.store.read_part("samples", key)
        is_total = F.col("counters") == Counters.TOTAL.value
        uptime = F.when(F.col("reason").isNull(), F.col("uptime_s"))
        counts = written.agg(
            F.count("*"), F.count("reason"), F.count_if(is_total), F.min(uptime), F.max(uptime)
        )
        records, aside, totals, first, longest = counts.collect()[0]
        facts = manifest.facts
        uptimes_s = [s for s in (*facts.get("uptimes_s", []), first, longest) if s is not None]
        self.store.commit(
            updated.with_facts(
                pending=sorted({*facts.get("pending", []), *hours}),
                batches={**facts.get("batches", {}), key: {"records": records, "aside": aside}},
                totals=bool(facts.get("totals") or totals),
                uptimes_s=[min(uptimes_s), max(uptimes_s)] if uptimes_s else [],
            )
        )

    # -- compute ------------------------------------------------------------------------------

    def compute(self) -> Manifest:
        """Bring the tables up to date with the records taken in."""
        manifest = self.store.manifest()
        pending = self._hours_to_compute(manifest)
        if not pending:
            return manifest
        part = f"{manifest.number + 1:08d}"
        try:
            windows, aside = self._cleaned(manifest, pending)
            frames = {
                "rates": windows,
                "streams": stream_blocks(windows),
                "traffic": traffic.instance_traffic(windows),
                "quarantine": aside,
            }
            updated = self._write(manifest, frames, part, pending)
        finally:
            for frame in self._held:
                frame.unpersist()
            self._held.clear()
        computed = self.store.read(updated, "rates", pending)
        updated = self._write(updated, {"workers": usage.worker_minutes(computed)}, part, pending)
        pairs = self.store.read(updated, "traffic", pending)
        updated = self._write(updated, {"places": traffic.place_traffic(pairs)}, part, pending)
        workers = self.store.read(updated, "workers", pending)
        updated = self._write(updated, {"utilisation": usage.utilisation(workers)}, part, pending)
        facts = {"pending": [], "warm_up_s": self.warm_up_s(manifest)}
        return self.store.commit(updated.with_facts(**facts))

    def warm_up_s(self, manifest: Manifest) -> float:
        """Seconds of a worker that are left out: as set, or as fits what the store has seen."""
        if self.settings.warm_up_s is not None:
            return self.settings.warm_up_s
        return fitting_warm_up_s(*(manifest.facts.get("uptimes_s") or [None, None]))

    def _write(
        self,
        manifest: Manifest,
        frames: Mapping[str, DataFrame | None],
        part: str,
        hours: list[str],
    ) -> Manifest:
        """Write frames as the new content of these hours; nothing for none."""
        for table, frame in frames.items():
            folders = {}
            if frame is not None:
                folders = self.store.write(table, frame, part, by_hour=True)
            manifest = manifest.with_parts(table, folders, replacing=hours)
        return manifest

    def _cleaned(self, manifest: Manifest, hours: list[str]) -> tuple[DataFrame, DataFrame | None]:
        """Windows of these hours without repeats, and the repeats, if any."""
        samples = self._samples(manifest, hours)
        if self.only is not None:
            samples = self.only.of(samples)
        own = F.col("hour").isin(hours)
        totals = bool(manifest.facts.get("totals"))
        repeated = self._hold(repeated_keys(samples))
        count = repeated.limit(_MOST_BROADCAST + 1).count()
        aside, unique_samples = None, samples
        if count:
            keys = F.broadcast(repeated) if count <= _MOST_BROADCAST else repeated
            judged = self._hold(doubtful(samples, keys))
            unique_samples = without_repeats(samples, keys, judged)
            aside = set_aside(judged).where(own)
        settings = replace(self.settings, warm_up_s=self.warm_up_s(manifest))
        windows = merged(differences(unique_samples, settings, totals=totals), settings)
        counted = rates(windows).where(own)
        # Differences of totals take a sort; windows of their own are quickly read again.
        return self._hold(counted) if totals else counted, aside

    def _hold(self, frame: DataFrame) -> DataFrame:
        """Keep a frame that is used several times until the hours are computed."""
        self._held.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def _samples(self, manifest: Manifest, hours: list[str]) -> DataFrame:
        """Records of these hours, and of the hours before where totals need a predecessor."""
        own = self.store.read(manifest, "samples", self._sample_keys(manifest, hours))
        before = sorted({_shifted(hour, -1) for hour in hours} - set(hours))
        earlier = self._sample_keys(manifest, before)
        if not earlier or not manifest.facts.get("totals"):
            return own
        totals = F.col("counters") == Counters.TOTAL.value
        return own.unionByName(self.store.read(manifest, "samples", earlier).where(totals))

    def _hours_to_compute(self, manifest: Manifest) -> list[str]:
        pending = set(manifest.facts.get("pending", []))
        present = {key.partition("/")[0] for key in manifest.parts.get("samples", {})}
        warm_up_s = self.warm_up_s(manifest)
        if manifest.facts.get("warm_up_s", warm_up_s) != warm_up_s:
            return sorted(present)  # what hours before this one left out is not what is now
        if pending and manifest.facts.get("totals"):
            # A total is a difference to the one before: the hour after depends on it too.
            pending |= {_shifted(hour, 1) for hour in pending} & present
        return sorted(pending)

    def _sample_keys(self, manifest: Manifest, hours: Iterable[str]) -> list[str]:
        in_scope = set(hours)
        return [k for k in manifest.parts.get("samples", {}) if k.partition("/")[0] in in_scope]

    # -- facts --------------------------------------------------------------------------------

    def set_aside(self, manifest: Manifest) -> dict[str, int]:
        """Records set aside, by reason; those that have expired since among them."""
        quarantine = self.store.read(manifest, "quarantine")
        rows = quarantine.groupBy("reason").count().collect()
        counts = Counter({str(row["reason"]): int(row["count"]) for row in rows})
        return dict(counts + Counter(manifest.facts.get(EXPIRED_ASIDE, {})))

    def records_in(self, manifest: Manifest) -> int:
        batches: dict[str, Any] = manifest.facts.get("batches", {})
        return sum(int(batch["records"]) for batch in batches.values())


def _shifted(hour: str, by: int) -> str:
    moment = datetime.strptime(hour, _HOUR_PYTHON).replace(tzinfo=UTC)
    return (moment + timedelta(hours=by)).strftime(_HOUR_PYTHON)

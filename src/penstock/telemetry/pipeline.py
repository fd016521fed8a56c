"""The pipeline from end to end: telemetry in, tables and a profile out, once or for ever.

History and live data go the same way, through Structured Streaming: over history the stream ends
when all files are read, live it goes on. Spark's checkpoint remembers which files were read, the
store remembers which batches it has, so after a crash every file is counted once.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import InputError
from penstock.model.profile import Profile
from penstock.model.telemetry import Sample
from penstock.telemetry import measure
from penstock.telemetry.batch_stream import BatchStream
from penstock.telemetry.checks import type_of_host
from penstock.telemetry.clean import USUAL_WARM_UP_S, Settings
from penstock.telemetry.drift import CostDrift, between_profiles
from penstock.telemetry.findings import Measurement, TableFindings
from penstock.telemetry.ingest import from_columns, from_lines
from penstock.telemetry.quality import Quality
from penstock.telemetry.schemas import PROFILE
from penstock.telemetry.selection import Selection
from penstock.telemetry.source import RecordSource, SourceFormat
from penstock.telemetry.spark_errors import SparkFailed
from penstock.telemetry.store import Manifest, Store
from penstock.telemetry.storm import log as storm_log
from penstock.telemetry.tables import Tables
from penstock.telemetry.writer_lock import StoreBusyError

#: The tables a profile is made from.
_FOUND_FROM = ("rates", "streams", "traffic", "workers", "utilisation")

#: Told what is being done, in words, while it is done.
Progress = Callable[[str], None]


def _silent(_: str) -> None:
    pass


def _nothing() -> None:
    pass


def _never() -> bool:
    return False


@dataclass
class Pipeline:
    """One store and what is done with it."""

    spark: SparkSession
    store: Store
    settings: Settings = field(default_factory=Settings)
    #: Machine type by host, for records that do not say.
    machine_types: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    progress: Progress = _silent
    extrapolate: bool = True
    #: Types by host go before what records say of themselves.
    types_win: bool = False
    #: Records that tables are made of; all of them without.
    only: Selection | None = None

    @property
    def tables(self) -> Tables:
        return Tables(self.store, self.settings, self.only)

    # -- in -----------------------------------------------------------------------------------

    def take_in_history(self, source: RecordSource) -> None:
        """Read every file of the source that was not read yet."""
        self._run_stream(source, {"availableNow": True}, _nothing, _never)

    def follow(
        self,
        source: RecordSource,
        on_refresh: Callable[[Measurement], None],
        *,
        every_s: float = 10.0,
        stop: Callable[[], bool] = _never,
        baseline: Profile | None = None,
        name: str = "measured",
    ) -> None:
        """Read files as they come, and bring tables and profile up to date after each batch.

        Told to stop, it ends after the current batch and its refresh.
        """
        # What a run before this one took in but did not get to compute.
        self.tables.compute()

        def refresh() -> None:
            on_refresh(self.measure(baseline, name))

        self._run_stream(source, {"processingTime": f"{every_s} seconds"}, refresh, stop)

    def take_in_samples(self, samples: Iterable[Sample], name: str) -> None:
        """Records made by a reader in Python, such as answers of Storm's UI."""
        # As lines, in which any number may stand: one that is too large is set aside like others.
        lines = [json.dumps(sample.to_dict()) for sample in samples]
        table = pa.table({"value": pa.array(lines, pa.string())})
        frame = self.spark.createDataFrame(table).withColumn("file", F.lit(name))
        self.tables.take_in(from_lines(frame, self.machine_types, self._now_ms()), _safe(name))

    def _run_stream(
        self,
        source: RecordSource,
        trigger: Mapping[str, Any],
        after: Callable[[], None],
        stop: Callable[[], bool],
    ) -> None:
        identity = hashlib.sha256(source.location.encode()).hexdigest()[:10]

        def batch(frame: DataFrame, number: int) -> None:
            key = f"{identity}-{number:06d}"
            if not self.tables.is_taken_in(key):
                self.progress(f"taking in batch {number}")
                self.tables.take_in(self._judged(source, frame), key)
            after()

        writer = source.stream(self.spark).writeStream.trigger(**trigger)
        checkpoint = f"{self.store.root}/checkpoint/{identity}"
        try:
            BatchStream(batch).run(writer.option("checkpointLocation", checkpoint), stop)
        except SparkFailed as error:
            if "FileNotFound" in str(error.__cause__):
                raise InputError(f"a file disappeared while it was being read: {error}") from error
            if "CONCURRENT_STREAM_LOG_UPDATE" in str(error.__cause__):
                message = (
                    f"another run writes to {self.store.root}; run this one again when it ends"
                )
                raise StoreBusyError(message) from error
            raise

    def _judged(self, source: RecordSource, frame: DataFrame) -> DataFrame:
        judged = self._judged_as_they_say(source, frame)
        if not self.types_win:
            return judged
        known = type_of_host(self.machine_types, F.col("host"))
        return judged.withColumn("machine_type", F.coalesce(known, "machine_type"))

    def _judged_as_they_say(self, source: RecordSource, frame: DataFrame) -> DataFrame:
        match source.format:
            case SourceFormat.PARQUET:
                return from_columns(frame, self.machine_types, self._now_ms())
            case SourceFormat.STORM_LOG:
                return self._judged_storm_log(frame)
        return from_lines(frame, self.machine_types, self._now_ms())

    def _judged_storm_log(self, frame: DataFrame) -> DataFrame:
        read = storm_log.read_log(frame)
        good = from_columns(read.records, self.machine_types, self._now_ms())
        return good.unionByName(read.set_aside, allowMissingColumns=True)

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)

    # -- out ----------------------------------------------------------------------------------

    def measure(self, baseline: Profile | None = None, name: str = "measured") -> Measurement:
        """Bring the tables up to date, fit the profile, and write both."""
        self.progress("cleaning, windows, traffic")
        manifest = self.tables.compute()
        self._say_if_short(manifest)
        read = {t: self.store.read(manifest, t) for t in _FOUND_FROM}
        self.progress("fitting costs")
        findings = measure.find(**read)
        profile = measure.profile_of(
            findings, name=name, source=self._source_note(manifest), extrapolate=self.extrapolate
        )
        drift = findings.drift
        if baseline is not None and profile is not None:
            drift = tuple(between_profiles(baseline, profile))
        self._write_results(manifest, findings, profile, drift)
        return Measurement(profile, findings, self._quality(manifest, findings, read), drift)

    def _say_if_short(self, manifest: Manifest) -> None:
        """A warm-up shorter than usual is told, with the option that sets it."""
        left_out_s = self.tables.warm_up_s(manifest)
        if self.settings.warm_up_s is None and left_out_s < USUAL_WARM_UP_S:
            longest_s = max(manifest.facts["uptimes_s"])
            self.progress(
                f"the run took only {longest_s:.0f} s: its first {left_out_s:.0f} s are left out "
                "as warm-up (--warm-up)"
            )

    def _source_note(self, manifest: Manifest) -> str:
        records = self.tables.records_in(manifest)
        hours = sorted(manifest.parts.get("rates", {}))
        span = f", {hours[0]}h to {hours[-1]}h UTC" if hours else ""
        return f"telemetry, {records} records{span}"

    def _write_results(
        self,
        manifest: Manifest,
        findings: TableFindings,
        profile: Profile | None,
        drift: tuple[CostDrift, ...],
    ) -> None:
        part = f"{manifest.number + 1:08d}"
        rows = _profile_rows(findings, profile)
        frame = self.spark.createDataFrame(rows, PROFILE)
        changed = self.spark.createDataFrame(
            [
                (d.row, d.machine_type, d.measure, d.before, d.after, d.change, d.confidence,
                 d.drifted)
                for d in drift
            ],
            "row string, machine_type string, measure string, before double, after double, "
            "change double, confidence double, drifted boolean",
        )  # fmt: skip
        for table, content in (("profile", frame), ("drift", changed)):
            folders = self.store.write(table, content.coalesce(1), part, by_hour=False)
            old = manifest.parts.get(table, {})
            manifest = manifest.with_parts(table, folders, replacing=old)
        self.store.commit(manifest)

    def _quality(
        self, manifest: Manifest, findings: TableFindings, read: Mapping[str, DataFrame]
    ) -> Quality:
        set_aside = self.tables.set_aside(manifest)
        records = self.tables.records_in(manifest)
        statuses = read["rates"].groupBy("status").count().collect()
        spans = (
            read["rates"]
            .groupBy("topology", "run", "task")
            .agg(
                F.sum("window_s").alias("seen"),
                ((F.max("time_ms") - F.min("time_ms")) / 1000 + F.first("window_s")).alias("span"),
            )
        )
        covered = spans.agg(F.sum("seen").alias("seen"), F.sum("span").alias("span")).collect()[0]
        estimated = read["traffic"].agg(F.avg(F.col("estimated").cast("int"))).collect()[0][0]
        return Quality(
            records_in=records,
            kept=records - sum(set_aside.values()),
            set_aside=set_aside,
            windows={row["status"]: int(row["count"]) for row in statuses},
            costs_known=sum(not f.not_ready for f in findings.fits),
            costs_seen=len(findings.fits),
            time_covered=min(1.0, covered["seen"] / covered["span"]) if covered["span"] else 0.0,
            clocks_ahead_s=measure.clocks(read["rates"]),
            traffic_estimated=float(estimated or 0.0),
        )


def build_profile(
    spark: SparkSession,
    source: RecordSource,
    settings: Settings | None = None,
    *,
    store: str | None = None,
    **options: Any,
) -> Measurement:
    """Telemetry of a source to its profile; the tables stay where ``store`` says, if it does."""
    if store is not None:
        return _build(spark, source, settings, store, options)
    with tempfile.TemporaryDirectory(prefix="penstock-tables-") as folder:
        return _build(spark, source, settings, folder, options)


def _build(
    spark: SparkSession,
    source: RecordSource,
    settings: Settings | None,
    folder: str,
    options: Mapping[str, Any],
) -> Measurement:
    pipeline = Pipeline(spark, Store(spark, folder), settings or Settings(), **options)
    pipeline.take_in_history(source)
    return pipeline.measure()


def _profile_rows(findings: TableFindings, profile: Profile | None) -> list[tuple[Any, ...]]:
    memory = dict(findings.memory_mb)
    rows: list[tuple[Any, ...]] = []
    for fit in findings.fits:
        row = findings.rows[fit.topology, fit.component]
        ready = not fit.not_ready
        spread = fit.scatter_floor + fit.scatter_slope * (fit.e * fit.rate_most + fit.met)
        figures = (fit.e, fit.e_error, fit.met, fit.met_error)
        rows.append(
            (
                row, fit.topology, fit.component, fit.machine_type, fit.samples,
                *(figures if ready else (None,) * 4), memory.get(row), fit.form or None,
                *(_known(v) for v in
                  (fit.r_squared, spread, fit.rate_least, fit.rate_most, fit.linear_error)),
                False, fit.not_ready or None,
            )
        )  # fmt: skip
    for cost in profile.costs if profile else ():
        if cost.extrapolated:
            rows.append(
                (
                    cost.row, None, None, cost.machine_type, 0, cost.e, cost.e_error, cost.met,
                    cost.met_error, memory.get(cost.row), None, None, None, None, None, None,
                    True, None,
                )
            )  # fmt: skip
    return rows


def _known(value: float) -> float | None:
    return None if value != value else float(value)


def _safe(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]

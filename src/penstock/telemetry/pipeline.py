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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.errors import InputError, PenstockError
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.profile import Profile
from penstock.model.telemetry import Sample
from penstock.telemetry import measure
from penstock.telemetry.batch_stream import BatchStream
from penstock.telemetry.checks import type_of_host
from penstock.telemetry.cost_fits import CostFits
from penstock.telemetry.drift import CostDrift, between_profiles
from penstock.telemetry.executor_traffic import executor_traffic
from penstock.telemetry.findings import FollowerLag, Measurement, TableFindings
from penstock.telemetry.ingest import from_columns, from_lines
from penstock.telemetry.intake import Intake
from penstock.telemetry.quality import Quality
from penstock.telemetry.retention import HORIZON
from penstock.telemetry.schemas import TABLES
from penstock.telemetry.selection import Selection
from penstock.telemetry.settings import USUAL_WARM_UP_S, Settings
from penstock.telemetry.slots.files import StoreFiles, require_reachable
from penstock.telemetry.slots.pair_sums import PairSumsReader
from penstock.telemetry.slots.summaries import Summaries, SummaryReader
from penstock.telemetry.slots.take_in import RecordsSeen, TakeIn, TaskReport, count_nothing
from penstock.telemetry.source import RecordSource, SourceFormat
from penstock.telemetry.spark_errors import SparkFailed
from penstock.telemetry.step_watch import StepState, StepWatch
from penstock.telemetry.store import Manifest, Store
from penstock.telemetry.storm import log as storm_log
from penstock.telemetry.tables import Tables, TakeBatch
from penstock.telemetry.timings import Timings
from penstock.telemetry.unreadable_files import (
    files_of_last_batch,
    unreadable_among,
    unreadable_file,
)
from penstock.telemetry.writer_lock import StoreBusyError

#: Files that cannot be read, in a message.
_NAMED = 3
#: Told what is being done, in words, while it is done.
Progress = Callable[[str], None]


def _silent(_: str) -> None:
    pass


def _nothing(_began_s: float) -> None:
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
    timings: Timings = field(default_factory=Timings)
    #: Told while a step runs how far it is.
    step_told: Callable[[StepState], None] | None = None

    def __post_init__(self) -> None:
        require_reachable(self.store.root)
        self._seen: RecordsSeen = count_nothing
        if self.step_told is not None:
            watch = StepWatch(self.spark, self.step_told)
            self._seen, self.timings.watch = watch.count, watch.during
        # What is known of hours that do not change is kept from one refresh to the next.
        self._summaries = SummaryReader(self.store.root)
        self._fits = CostFits(self.spark, self.timings)
        self._pair_sums = PairSumsReader(self.store.root)

    @property
    def tables(self) -> Tables:
        return Tables(self.store, self.settings, self.only, self._seen)

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

        def refresh(began_s: float) -> None:
            measured = self.measure(baseline, name)
            on_refresh(replace(measured, lag=self._lag(began_s)))

        self._run_stream(source, {"processingTime": f"{every_s} seconds"}, refresh, stop)

    def _lag(self, began_s: float) -> FollowerLag | None:
        newest_ms = self.store.manifest().facts.get("newest_ms", 0)
        if not newest_ms:
            return None
        now_s = self.clock()
        return FollowerLag(now_s - newest_ms / 1000, now_s - began_s)

    def take_in_samples(self, samples: Iterable[Sample], name: str) -> None:
        """Records made by a reader in Python, such as answers of Storm's UI."""
        # As lines, in which any number may stand: one that is too large is set aside like others.
        lines = [json.dumps(sample.to_dict()) for sample in samples]
        table = pa.table({"value": pa.array(lines, pa.string())})
        frame = self.spark.createDataFrame(table).withColumn("file", F.lit(name))
        key = _safe(name)
        self._timed_batch(key, lambda folder: self._intake(folder, key).lines(frame))

    def _timed_batch(self, key: str, take: TakeBatch) -> None:
        with self.timings.step("take in") as step:
            step.rows = self.tables.take_in(key, take)
        if step.rows:
            rate = self.timings.steps[-1].rows_per_s
            self.progress(f"took in {step.rows:,} records, {rate:,.0f} a second")

    def _run_stream(
        self,
        source: RecordSource,
        trigger: Mapping[str, Any],
        after: Callable[[float], None],
        stop: Callable[[], bool],
    ) -> None:
        identity = hashlib.sha256(source.location.encode()).hexdigest()[:10]
        checkpoint = f"{self.store.root}/checkpoint/{identity}"
        unreadable: list[str] = []

        def batch(frame: DataFrame, number: int) -> None:
            began_s = self.clock()
            key = f"{identity}-{number:06d}"
            if not self.tables.is_taken_in(key):
                self.progress(f"taking in batch {number}")
                take = partial(self._take, source, frame, tuple(unreadable), key)
                self._timed_batch(key, take)
            unreadable.clear()
            after(began_s)

        def is_taken_in() -> bool:
            return not unreadable or stop()

        while True:
            is_lenient = bool(unreadable)
            stream = source.stream(self.spark, lenient=is_lenient)
            writer = stream.writeStream.trigger(**trigger).option("checkpointLocation", checkpoint)
            # Only for the batch that has such files: others must not go unnoticed.
            try:
                BatchStream(batch).run(writer, is_taken_in if is_lenient else stop)
            except SparkFailed as error:
                first = unreadable_file(error.__cause__)
                if is_lenient or not first:
                    ours = self._in_our_words(error)
                    if ours is error:
                        raise
                    raise ours from error
                unreadable += self._unreadable_of(source, checkpoint, first)
                continue
            if not is_lenient or stop():
                return

    def _unreadable_of(self, source: RecordSource, checkpoint: str, first: str) -> Sequence[str]:
        """Which files of the batch in hand cannot be read, with a word to the user."""
        try:
            paths = files_of_last_batch(self.spark, checkpoint)
            found = unreadable_among(lambda some: source.of_files(self.spark, some), paths)
        except (PySparkException, Py4JJavaError):
            found = ()  # more is the matter with the others: the one that is known will do
        found = found or (first,)
        self._tell_unreadable(found)
        return found

    def _in_our_words(self, error: SparkFailed) -> PenstockError:
        if "FileNotFound" in str(error.__cause__):
            return InputError(f"a file disappeared while it was being read: {error}")
        if "CONCURRENT_STREAM_LOG_UPDATE" in str(error.__cause__):
            where = self.store.root
            return StoreBusyError(f"another run writes to {where}; run this one again when it ends")
        return error

    def _take(
        self,
        source: RecordSource,
        frame: DataFrame,
        unreadable: Sequence[str],
        key: str,
        folder: str,
    ) -> tuple[TaskReport, Counter[str]]:
        intake = self._intake(folder, key)
        match source.format:
            case SourceFormat.PARQUET:
                report, aside = intake.files(frame, unreadable)
                self._tell_unreadable(report.unreadable)
            case SourceFormat.STORM_LOG:
                report, aside = intake.judged(self._judged_storm_log(frame))
            case _:
                report, aside = intake.lines(frame)
        names = [*report.unreadable, *(name.rpartition("/")[2] for name in unreadable)]
        return report, aside + intake.unreadable(self.spark, names)

    def _tell_unreadable(self, names: Sequence[str]) -> None:
        if names:
            shown = ", ".join(name.rpartition("/")[2] for name in names[:_NAMED])
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            self.progress(f"set aside, because they cannot be read to their end: {shown}{more}")

    def _intake(self, folder: str, key: str) -> Intake:
        now_ms, horizon_ms = self._limits_ms()
        taking = TakeIn(
            root=self.store.root,
            folder=folder,
            now_ms=now_ms,
            horizon_ms=horizon_ms,
            machine_types=self.machine_types,
            types_win=self.types_win,
            seen=self._seen,
        )
        return Intake(
            taking, self._judged_columns, self._judged_lines, self.tables.write_aside(key)
        )

    def _judged_columns(self, frame: DataFrame) -> DataFrame:
        return self._with_types(from_columns(frame, self.machine_types, *self._limits_ms()))

    def _judged_lines(self, frame: DataFrame) -> DataFrame:
        return self._with_types(from_lines(frame, self.machine_types, *self._limits_ms()))

    def _judged_storm_log(self, frame: DataFrame) -> DataFrame:
        read = storm_log.read_log(frame)
        good = self._judged_columns(read.records)
        return good.unionByName(read.set_aside, allowMissingColumns=True)

    def _with_types(self, judged: DataFrame) -> DataFrame:
        if not self.types_win:
            return judged
        known = type_of_host(self.machine_types, F.col("host"))
        return judged.withColumn("machine_type", F.coalesce(known, "machine_type"))

    def _limits_ms(self) -> tuple[int, int | None]:
        """Now, and since when the store takes records in."""
        return int(self.clock() * 1000), self.store.manifest().facts.get(HORIZON)

    # -- out ----------------------------------------------------------------------------------

    def measure(self, baseline: Profile | None = None, name: str = "measured") -> Measurement:
        """Bring the tables up to date, fit the profile, and write both."""
        self.progress("cleaning, windows, traffic")
        with self.timings.step("sums and tables") as step:
            manifest, step.rows = self.tables.compute()
        self._say_if_short(manifest)
        self.progress("fitting costs")
        with self.timings.step("adding up hours"):
            summaries = self._summaries.read(manifest)
            sizes = summaries.sizes()
        fits = self._fits.update(self.tables, manifest, sizes)
        with self.timings.step("workers and streams"):
            findings = measure.find(summaries, sizes, fits, self._executor_traffic(manifest))
        profile = measure.profile_of(
            findings, name=name, source=self._source_note(manifest), extrapolate=self.extrapolate
        )
        drift = findings.drift
        if baseline is not None and profile is not None:
            drift = tuple(between_profiles(baseline, profile))
        with self.timings.step("results"):
            self._write_results(manifest, findings, profile, drift)
            quality = self._quality(manifest, findings, summaries)
        return Measurement(profile, findings, quality, drift, self.timings.by_name())

    def _executor_traffic(self, manifest: Manifest) -> tuple[InstanceTraffic, ...]:
        """Traffic between instances: a mean over all hours of a run."""
        traffic, streams = (manifest.parts.get(table, {}) for table in ("traffic", "streams"))
        hours = [(hour, traffic[hour], streams[hour]) for hour in sorted({*traffic} & {*streams})]
        if not hours:
            return ()
        return executor_traffic(self._pair_sums.read(hours), self._pair_sums.vocabulary)

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
        hours = sorted(manifest.parts.get("hours", {}))
        span = f", {hours[0]}h to {hours[-1]}h UTC" if hours else ""
        return f"telemetry, {records} records{span}"

    def _write_results(
        self,
        manifest: Manifest,
        findings: TableFindings,
        profile: Profile | None,
        drift: tuple[CostDrift, ...],
    ) -> None:
        part, files = f"part={manifest.number + 1:08d}", StoreFiles(self.store.root)
        changes = [
            (d.row, d.machine_type, d.measure, d.before, d.after, d.change, d.confidence, d.drifted)
            for d in drift
        ]
        for table, rows in (("profile", _profile_rows(findings, profile)), ("drift", changes)):
            columns = [list(column) for column in zip(*rows, strict=True)]
            schema = to_arrow_schema(TABLES[table])
            content = pa.Table.from_arrays(
                [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
            ) if rows else schema.empty_table()  # fmt: skip
            path = files.write(f"{table}/{part}", table, content, [])
            manifest = manifest.with_parts(
                table, {part: path}, replacing=manifest.parts.get(table, {})
            )
        self.store.commit(manifest)

    def _quality(
        self, manifest: Manifest, findings: TableFindings, summaries: Summaries
    ) -> Quality:
        set_aside = self.tables.set_aside(manifest)
        records = self.tables.records_in(manifest)
        return Quality(
            records_in=records,
            kept=records - sum(set_aside.values()),
            set_aside=set_aside,
            windows=summaries.windows_by_status(),
            costs_known=sum(not f.not_ready for f in findings.fits),
            costs_seen=len(findings.fits),
            time_covered=summaries.time_covered(),
            clocks_ahead_s=measure.clocks(summaries),
            traffic_estimated=summaries.share_estimated(),
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

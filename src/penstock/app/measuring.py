"""Costs from telemetry: read once, followed as it comes in, or of a running cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.clusters import silent, snapshot, types_of_hosts
from penstock.app.histories import look_back, measuring
from penstock.app.history_folder import history_folder
from penstock.app.store_upkeep import upkeep_of
from penstock.app.telemetry import SparkOptions, TelemetrySelection, choose, take_in
from penstock.engines.base import Engine, Say
from penstock.engines.spark.kafka_connector import with_connector
from penstock.engines.spark.session import say_ui_address, spark_session
from penstock.errors import Finding, InputError, UnknownNameError
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.telemetry.writer_lock import writing_to

if TYPE_CHECKING:
    from penstock.telemetry.findings import Measurement
    from penstock.telemetry.pipeline import Pipeline
    from penstock.telemetry.source import RecordSource, SourceFormat
    from penstock.telemetry.step_watch import StepState

#: Told while a step runs how far it is.
StepTold = Callable[["StepState"], None]
#: In place of a profile's name: measured now, from the cluster's telemetry.
LIVE = "live"
#: Read whole by Python; everything else streams through Spark.
_STORM_REST, _STORM_REGISTRY = "storm-rest", "storm-registry"
_SHOWN = 10


@dataclass(frozen=True)
class MeasuringOptions:
    """How telemetry becomes a profile."""

    name: str = "measured"
    #: What is compared with, to see what has changed since.
    baseline: Profile | None = None
    #: Folder or address that keeps the tables, so that they can be added to.
    store: str | None = None
    #: Seconds after which tables, and raw records sooner, go from the store; for ever without.
    keep_s: float | None = None
    keep_raw_s: float | None = None
    #: By name of the file where it is not said.
    source_format: str | None = None
    #: Machine type by host, for records that do not say.
    machine_types: Mapping[str, str] = field(default_factory=dict)
    window_s: float = 0.0
    warm_up_s: float | None = None
    extrapolate: bool = True
    spark: SparkOptions = field(default_factory=SparkOptions)
    #: Properties of the Kafka client; may hold passwords.
    kafka_client: Mapping[str, str] = field(default_factory=dict, repr=False)


def measure(
    source: str,
    options: MeasuringOptions | None = None,
    *,
    say: Say = silent,
    step_told: StepTold | None = None,
) -> Measurement:
    """Fit a profile to all telemetry of a folder, file or address; needs Spark."""
    chosen = options or MeasuringOptions()
    upkeep = upkeep_of(chosen.store, chosen.keep_s, chosen.keep_raw_s, say)
    with _pipeline(chosen, say, source=source, step_told=step_told) as pipeline:
        _take_in(pipeline, source, chosen)
        measured = pipeline.measure(chosen.baseline, chosen.name)
        upkeep()
        return measured


def follow(
    source: str,
    options: MeasuringOptions,
    *,
    stop: Callable[[], bool],
    on_refresh: Callable[[Measurement], None],
    every_s: float = 10.0,
    say: Say = silent,
    step_told: StepTold | None = None,
) -> Measurement | None:
    """Measure anew whenever telemetry has come in, until told to stop.

    What is known in the end, from before where nothing new came in; nothing without any telemetry.
    """
    newest: list[Measurement] = []
    upkeep = upkeep_of(options.store, options.keep_s, options.keep_raw_s, say)

    def refreshed(measured: Measurement) -> None:
        newest[:] = [measured]
        on_refresh(measured)
        upkeep()

    if options.store is None:
        say("without --store the tables are gone when this ends; the profile stays (--out)")
    with _pipeline(options, say, source=source, step_told=step_told) as pipeline:
        records = _opened(pipeline, source, options)
        say("following; Ctrl-C ends it after the current batch")
        pipeline.follow(
            records, refreshed, every_s=every_s, stop=stop, baseline=options.baseline,
            name=options.name,
        )  # fmt: skip
        if newest:
            return newest[0]
        if pipeline.tables.records_in(pipeline.store.manifest()):
            say("no new telemetry came in; this is the result of what was read before")
            return pipeline.measure(options.baseline, options.name)
    return None


def measure_running(
    target: Engine,
    selection: TelemetrySelection,
    options: MeasuringOptions | None = None,
    *,
    history: Path | None = None,
    say: Say = silent,
    step_told: StepTold | None = None,
) -> Measurement:
    """Fit a profile to the telemetry of a running cluster, and measure the plans applied to it."""
    taken = snapshot(target, say)
    if not taken.topologies:
        raise InputError("no topology runs on this cluster")
    chosen = replace(options or MeasuringOptions(), machine_types=types_of_hosts(taken.cluster))
    folder = history_folder(history)
    with _pipeline(
        chosen, say, source=selection.topic, types_win=True, within=measuring(folder),
        step_told=step_told,
    ) as pipeline:  # fmt: skip
        take_in(pipeline, selection.folders, chosen.kafka_client)
        choose(pipeline, taken, selection, say)
        measured = pipeline.measure(chosen.baseline, chosen.name)
        look_back(pipeline, folder, say)
        return measured


def live_profile(
    target: Engine,
    selection: TelemetrySelection,
    *,
    history: Path | None = None,
    say: Say = silent,
) -> Callable[[Snapshot], Profile]:
    """What measures a profile for a plan, once it is known what runs."""

    def measured_now(taken: Snapshot) -> Profile:
        say("starting Spark to measure what tuples cost")
        options = MeasuringOptions(LIVE, machine_types=types_of_hosts(taken.cluster))
        with _pipeline(
            options, silent, source=selection.topic, progress=say, types_win=True
        ) as pipeline:
            take_in(pipeline, selection.folders)
            choose(pipeline, taken, selection, say)
            measured = pipeline.measure(name=LIVE)
            look_back(pipeline, history_folder(history), say)
        return _whole(measured, taken, target.capabilities.places_itself, say)

    return measured_now


def load_pipeline() -> None:
    """Load the pipeline, which takes about as long as Java does to start."""
    import penstock.telemetry.pipeline  # noqa: F401


@contextmanager
def _pipeline(
    options: MeasuringOptions,
    say: Say,
    *,
    source: str | None = None,
    progress: Say | None = None,
    types_win: bool = False,
    within: AbstractContextManager[None] | None = None,
    step_told: StepTold | None = None,
) -> Iterator[Pipeline]:
    """The pipeline on a Spark of its own; whoever else writes to its folders is found out first."""
    spark = options.spark
    config = with_connector(source, spark.config, os.environ, say)
    say(f"starting Spark on {spark.master}")
    with ExitStack() as stack:
        folder = stack.enter_context(_tables(options.store))
        if within is not None:
            stack.enter_context(within)
        session = stack.enter_context(
            spark_session(
                spark.master,
                driver_memory=spark.driver_memory,
                config=config,
                meanwhile=load_pipeline,
            )
        )
        say_ui_address(session, say)
        from penstock.telemetry.pipeline import Pipeline
        from penstock.telemetry.settings import Settings
        from penstock.telemetry.store import Store

        yield Pipeline(
            session,
            Store(session, folder),
            Settings(warm_up_s=options.warm_up_s, window_s=options.window_s),
            machine_types=options.machine_types,
            progress=progress or say,
            extrapolate=options.extrapolate,
            types_win=types_win,
            step_told=step_told,
        )


@contextmanager
def _tables(store: str | None) -> Iterator[str]:
    """Where the tables are: in the store, or in a folder that goes with the block."""
    if store is None:
        with tempfile.TemporaryDirectory(prefix="penstock-tables-") as folder:
            yield folder
        return
    root = store if "://" in store else str(Path(store).absolute())
    with writing_to(root):
        yield root


def _whole(
    measured: Measurement, taken: Snapshot, places_itself: frozenset[str], say: Say
) -> Profile:
    """The profile, if it has all that planning these topologies on these machines takes."""
    used = {machine.type for machine in taken.cluster.machines}
    names = {t.name for t in taken.topologies}
    rows = {
        row
        for (topology, component), row in measured.findings.rows.items()
        if not component.startswith("__") and topology in names
    }
    missing = [n for n in measured.not_ready if n.row in rows and n.machine_type in used]
    if measured.profile is not None and measured.profile.covers(rows, used):
        for gap in missing[:_SHOWN]:
            say(f"estimated: {gap.row} on {gap.machine_type}: {gap.why}")
        return _without_half_known(measured.profile, used, places_itself)
    findings = [Finding(f"{gap.row} on {gap.machine_type}: {gap.why}") for gap in missing[:_SHOWN]]
    raise InputError(*findings, "the telemetry does not give all costs yet; see above")


def _without_half_known(profile: Profile, used: set[str], places_itself: frozenset[str]) -> Profile:
    """What was measured on some machine types only is left to the engine, if it can do that."""
    half_known = {name for name in places_itself if not profile.covers({name}, used)}
    costs = tuple(cost for cost in profile.costs if cost.row not in half_known)
    return profile if len(costs) == len(profile.costs) else replace(profile, costs=costs)


def _take_in(pipeline: Pipeline, source: str, options: MeasuringOptions) -> None:
    named = options.source_format
    if named is not None and named in (_STORM_REST, _STORM_REGISTRY):
        _take_in_storm(pipeline, source, named)
        return
    pipeline.take_in_history(_opened(pipeline, source, options))


def _take_in_storm(pipeline: Pipeline, source: str, named: str) -> None:
    from penstock.telemetry.storm import registry as storm_registry
    from penstock.telemetry.storm import rest as storm_rest

    path = Path(source)
    if named == _STORM_REST:
        samples = storm_rest.read_rest_folder(path, pipeline.machine_types)
    else:
        samples = storm_registry.read_registry(path, pipeline.machine_types)
    pipeline.take_in_samples(samples, path.name)


def _opened(pipeline: Pipeline, source: str, options: MeasuringOptions) -> RecordSource:
    from penstock.telemetry.source import open_source

    # Spark's workers may stand in other folders: local paths are made whole.
    location = source if "://" in source else str(Path(source).absolute())
    named = _format(options.source_format)
    return open_source(pipeline.spark, location, named, options.kafka_client)


def _format(named: str | None) -> SourceFormat | None:
    from penstock.telemetry.source import SourceFormat

    if named is None:
        return None
    try:
        return SourceFormat(named)
    except ValueError:
        today = [one for one in SourceFormat if one is not SourceFormat.KAFKA]
        known = [*today, _STORM_REST, _STORM_REGISTRY]
        raise UnknownNameError("telemetry format", named, known) from None

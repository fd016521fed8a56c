"""``penstock profile``: from telemetry to what a tuple costs on each machine type."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import history_options, live, options, storm_options
from penstock.cli.follow import Following
from penstock.cli.follow import follow as following
from penstock.cli.output import say, show, write_file, write_json
from penstock.engines.spark.session import DRIVER_MEMORY, LOCAL, spark_session
from penstock.errors import (
    EXIT_DONE,
    EXIT_FAILURE,
    InputError,
    UnknownNameError,
    UsageError,
)
from penstock.files.machine_types import load_machine_types
from penstock.files.store import dumps, load
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.report.measured import measured_to_dict, measured_view
from penstock.telemetry.writer_lock import writing_to

if TYPE_CHECKING:
    from penstock.telemetry.findings import Measurement
    from penstock.telemetry.pipeline import Pipeline
    from penstock.telemetry.source import RecordSource, SourceFormat

#: Read whole by Python; everything else streams through Spark.
_STORM_REST, _STORM_REGISTRY = "storm-rest", "storm-registry"


def command(
    source: Annotated[
        str | None, typer.Argument(help="Folder or file of telemetry, or kafka://….")
    ] = None,
    out: options.Out = None,
    store: Annotated[
        str | None, typer.Option("--store", help="Keep the tables here; run again to add to them.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as files come in.")] = False,
    source_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl, parquet, storm-log, storm-rest, storm-registry, kafka; by name if absent.",
        ),
    ] = None,
    types: Annotated[
        Path | None, typer.Option("--types", help="File of host: machine type, if records lack it.")
    ] = None,
    taken_from: storm_options.From = None,
    nimbus: storm_options.Nimbus = None,
    ui: storm_options.Ui = None,
    storm_yaml: storm_options.StormYaml = None,
    telemetry: live.Telemetry = None,
    since: live.Since = None,
    history: history_options.History = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="A profile: show what changed since.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Write what is ready, though not all is.")
    ] = False,
    extrapolate: Annotated[
        bool, typer.Option(help="Estimate costs on machine types never measured.")
    ] = True,
    window: Annotated[
        float, typer.Option("--window", help="Merge shorter windows up to this many s.", min=0)
    ] = 0.0,
    warm_up: options.FittingWarmUp = None,
    name: Annotated[str, typer.Option("--name", help="Name of the profile.")] = "measured",
    every: Annotated[
        float, typer.Option("--every", help="With --follow: seconds between looks.", min=0.1)
    ] = 10.0,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="With --follow: end after this long.", min=0),
    ] = None,
    master: options.Master = LOCAL,
    driver_memory: options.DriverMemory = DRIVER_MEMORY,
    settings: options.SparkSettings = None,
    as_json: options.Json = False,
) -> int:
    """Fit a profile to telemetry on Spark: costs with error bars, streams, quality, drift.

    penstock profile telemetry/ --out profile.json

    penstock profile --from storm --telemetry /mnt/telemetry -o profile.json
    """
    if seconds is not None and not follow:
        raise UsageError("--seconds goes with --follow; without it all telemetry is read, once")
    before = _baseline(baseline)
    output = _Output(out, partial, as_json)
    cluster = None
    if storm_options.is_live(taken_from):
        target = storm_options.Target(nimbus, ui, storm_yaml, types)
        cluster = _of_storm(target, source, telemetry, since, store=store, follow=follow)
        machine_types = live.types_of_hosts(cluster.snapshot.cluster)
    elif source is None or telemetry or since:
        raise UsageError("name a folder of telemetry; --telemetry and --since go with --from storm")
    else:
        machine_types = load_machine_types(types) if types else {}
    config = options.spark_config(settings or [])
    say(f"starting Spark on {master}")
    with (
        _store_folder(store, follow) as folder,
        nullcontext() if cluster is None else live.measuring(history_options.folder(history)),
        spark_session(master, driver_memory=driver_memory, config=config) as spark,
    ):
        from penstock.telemetry.clean import Settings
        from penstock.telemetry.pipeline import Pipeline
        from penstock.telemetry.store import Store

        pipeline = Pipeline(
            spark,
            Store(spark, folder),
            Settings(warm_up_s=warm_up, window_s=window),
            machine_types=machine_types,
            progress=say,
            extrapolate=extrapolate,
            types_win=cluster is not None,
        )

        if cluster is not None:
            live.take_in(pipeline, cluster.fresh.folders)
            live.choose(pipeline, cluster.snapshot, cluster.fresh)
        elif follow:
            how = Following(every, seconds, before, name, output.write)
            last, stop = following(pipeline, _opened(pipeline, str(source), source_format), how)
            code = EXIT_FAILURE if last is None else output.present(last)
            return stop.exit_code or code
        else:
            _take_in(pipeline, str(source), source_format)
        found = pipeline.measure(before, name)
        if cluster is not None:
            live.look_back(pipeline, history_options.folder(history))
        return output.present(found)


@dataclass(frozen=True)
class _Storm:
    """A running Storm and the telemetry of it that is meant."""

    snapshot: Snapshot
    fresh: live.Fresh


def _of_storm(
    target: storm_options.Target,
    source: str | None,
    telemetry: list[str] | None,
    since: str | None,
    *,
    store: str | None,
    follow: bool,
) -> _Storm:
    if follow:
        raise UsageError("--follow reads a folder: name it, without --from storm")
    if store is not None:
        raise UsageError("--store keeps all telemetry: name a folder, without --from storm")
    fresh = live.Fresh.asked([*([source] if source else []), *(telemetry or [])], since)
    snapshot = target.snapshot()
    if not snapshot.topologies:
        raise InputError("no topology runs on this cluster")
    return _Storm(snapshot, fresh)


def _baseline(source: str | None) -> Profile | None:
    if source is None:
        return None
    loaded = load(source)
    if not isinstance(loaded, Profile):
        raise InputError(f"{source} is not a profile")
    return loaded


@contextmanager
def _store_folder(store: str | None, follow: bool) -> Iterator[str]:
    if store is not None:
        root = store if "://" in store else str(Path(store).absolute())
        with writing_to(root):
            yield root
        return
    if follow:
        say("without --store the tables are gone when this ends; the profile stays (--out)")
    with tempfile.TemporaryDirectory(prefix="penstock-tables-") as folder:
        yield folder


def _take_in(pipeline: Pipeline, source: str, named: str | None) -> None:
    if named in (_STORM_REST, _STORM_REGISTRY):
        _take_in_storm(pipeline, source, named)
        return
    pipeline.take_in_history(_opened(pipeline, source, named))


def _take_in_storm(pipeline: Pipeline, source: str, named: str) -> None:
    from penstock.telemetry.storm import registry as storm_registry
    from penstock.telemetry.storm import rest as storm_rest

    path = Path(source)
    if named == _STORM_REST:
        samples = storm_rest.read_rest_folder(path, pipeline.machine_types)
    else:
        samples = storm_registry.read_registry(path, pipeline.machine_types)
    pipeline.take_in_samples(samples, path.name)


def _opened(pipeline: Pipeline, source: str, named: str | None) -> RecordSource:
    from penstock.telemetry.source import open_source

    return open_source(pipeline.spark, _location(source), _format(named))


def _location(source: str) -> str:
    """Spark's workers may stand in other folders: local paths are made whole."""
    return source if "://" in source else str(Path(source).absolute())


def _format(named: str | None) -> SourceFormat | None:
    from penstock.telemetry.source import SourceFormat

    if named is None:
        return None
    try:
        return SourceFormat(named)
    except ValueError:
        known = [*SourceFormat, _STORM_REST, _STORM_REGISTRY]
        raise UnknownNameError("telemetry format", named, known) from None


@dataclass(frozen=True)
class _Output:
    """Where a profile goes, and whether one with gaps does."""

    out: Path | None
    partial: bool
    as_json: bool

    def is_ready(self, found: Measurement) -> bool:
        return found.profile is not None and (self.partial or not found.not_ready)

    def write(self, found: Measurement, *, is_printed: bool = False) -> None:
        if self.out and found.profile is not None and self.is_ready(found):
            is_yaml = self.out.suffix.lower() in (".yaml", ".yml")
            text = dumps(found.profile, json=not is_yaml)
            write_file(self.out, text, is_printed=is_printed)

    def present(self, found: Measurement) -> int:
        """Show what was found and write the profile; the exit code."""
        if self.as_json:
            write_json(measured_to_dict(found))
        else:
            show(measured_view(found))
        if not self.is_ready(found):
            say(_refusal(found))
            return EXIT_FAILURE
        self.write(found, is_printed=True)
        if self.out:
            say(f"wrote {self.out}")
        return EXIT_DONE


def _refusal(found: Measurement) -> str:
    if not found.quality.records_in:
        return "not ready: no records found"
    if not found.quality.kept:
        return "not ready: every record was set aside; the reasons are above"
    missing = len(found.not_ready)
    hint = "" if found.profile is None else "; --partial writes the rest"
    return f"not ready: {missing} of {found.quality.costs_seen} costs are missing{hint}"

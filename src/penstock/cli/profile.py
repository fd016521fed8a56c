"""``penstock profile``: from telemetry to what a tuple costs on each machine type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.app.measuring import MeasuringOptions
from penstock.app.telemetry import SparkOptions, seconds_of
from penstock.cli import engine_options, history_options, kafka_options, options
from penstock.cli.output import say, show, write_file, write_json
from penstock.cli.step_progress import StepTold, step_progress
from penstock.cli.stopping import stoppable
from penstock.engines.spark.session import DRIVER_MEMORY, LOCAL
from penstock.errors import EXIT_DONE, EXIT_FAILURE, InputError, UsageError
from penstock.files.machine_types import load_machine_types
from penstock.files.store import dumps, load
from penstock.model.profile import Profile
from penstock.report.pages.profile import measurement_dict, profile_page
from penstock.telemetry.kafka import KafkaTopic

if TYPE_CHECKING:
    from penstock.telemetry.findings import Measurement
    from penstock.telemetry.timings import StepTime

#: Named as a format in the first version.
_KAFKA = "kafka"


def command(
    source: Annotated[
        str | None,
        typer.Argument(help="Folder or file of telemetry, or kafka://broker:9092/topic."),
    ] = None,
    out: options.Out = None,
    store: Annotated[
        str | None,
        typer.Option("--store", help="Keep the tables in this folder; later runs add to them."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option("--keep", help="With --store: remove tables older than 30d, 12h, …."),
    ] = None,
    keep_raw: Annotated[
        str | None, typer.Option("--keep-raw", help="With --keep: remove raw records sooner.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep running, and take in new files as they arrive.")
    ] = False,
    source_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl, parquet, storm-log, storm-rest, storm-registry. Default: by the file's "
            "name.",
        ),
    ] = None,
    kafka_config: kafka_options.Config = None,
    types: Annotated[
        Path | None,
        typer.Option(
            "--types", help="File with a line `host: type` for each machine, if records do not say."
        ),
    ] = None,
    taken_from: engine_options.From = None,
    nimbus: engine_options.Nimbus = None,
    ui: engine_options.Ui = None,
    storm_yaml: engine_options.StormYaml = None,
    more: engine_options.EngineOptions = None,
    telemetry: engine_options.Telemetry = None,
    since: engine_options.Since = None,
    history: history_options.History = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="An earlier profile: show what has changed since."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Write the costs that are ready, even if some are not."),
    ] = False,
    extrapolate: Annotated[
        bool, typer.Option(help="Estimate costs on machine types never measured.")
    ] = True,
    window: Annotated[
        float,
        typer.Option(
            "--window", help="Merge shorter windows into windows of this many seconds.", min=0
        ),
    ] = 0.0,
    warm_up: options.FittingWarmUp = None,
    name: Annotated[str, typer.Option("--name", help="Name of the profile.")] = "measured",
    every: Annotated[
        float,
        typer.Option(
            "--every", help="With --follow: seconds between checks for new files.", min=0.1
        ),
    ] = 10.0,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="With --follow: end after this many seconds.", min=0),
    ] = None,
    master: options.Master = LOCAL,
    driver_memory: options.DriverMemory = DRIVER_MEMORY,
    settings: options.SparkSettings = None,
    timings: Annotated[
        bool, typer.Option("--timings", help="Show how long each step took.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Fit a profile to telemetry on Spark: costs with error bars, streams, quality, drift.

    penstock profile telemetry/ --out profile.json

    penstock profile --from storm --telemetry /mnt/telemetry -o profile.json
    """
    if seconds is not None and not follow:
        raise UsageError("--seconds needs --follow; without it all telemetry is read once")
    output = _Output(out, partial, as_json, timings)
    progress = step_progress(as_json=as_json)
    if source_format == _KAFKA:
        say("warning: --format kafka is not needed any more: kafka://… says what the source is")
        KafkaTopic.at(source or "")
    measuring = MeasuringOptions(
        name=name,
        baseline=_baseline(baseline),
        store=store,
        keep_s=seconds_of(keep, "--keep"),
        keep_raw_s=seconds_of(keep_raw, "--keep-raw"),
        source_format=source_format,
        window_s=window,
        warm_up_s=warm_up,
        extrapolate=extrapolate,
        kafka_client=kafka_options.client_of(source, kafka_config),
        spark=SparkOptions(master, driver_memory, options.spark_config(settings or [])),
    )
    if taken_from is not None:
        _refuse_folders(follow=follow, store=store or keep)
        target = engine_options.engine(
            taken_from, more, nimbus=nimbus, ui=ui, storm_yaml=storm_yaml, types=types
        )
        folders = [*([source] if source else []), *(telemetry or [])]
        selection = engine_options.telemetry(target, folders, since)
        return output.present(
            app.measure_running(
                target, selection, measuring, history=history, say=say, step_told=progress
            )
        )
    if source is None or telemetry or since:
        raise UsageError("name a folder of telemetry; --telemetry and --since need --from storm")
    if types is not None:
        measuring = replace(measuring, machine_types=load_machine_types(types))
    if follow:
        return _follow(source, measuring, output, every_s=every, seconds=seconds, progress=progress)
    return output.present(app.measure(source, measuring, say=say, step_told=progress))


def _refuse_folders(*, follow: bool, store: str | None) -> None:
    """A running cluster's telemetry is read once, into tables of its own."""
    if follow:
        raise UsageError(
            "--follow needs a folder of telemetry, and cannot be combined with --from storm"
        )
    if store is not None:
        raise UsageError("--store keeps all telemetry: name a folder, without --from storm")


def _follow(
    source: str,
    measuring: MeasuringOptions,
    output: _Output,
    *,
    every_s: float,
    seconds: float | None,
    progress: StepTold | None,
) -> int:
    """A profile that is brought up to date as telemetry comes in, until time is up or a signal."""

    def refreshed(measured: Measurement) -> None:
        say(_in_short(measured))
        output.write(measured)

    with stoppable(seconds) as stop:
        newest = app.follow(
            source,
            measuring,
            stop=stop,
            on_refresh=refreshed,
            every_s=every_s,
            say=say,
            step_told=progress,
        )
    if newest is not None:
        code = output.present(newest)
        return stop.exit_code or code
    reason = f"{source}: no telemetry came in, so there is no profile"
    if stop.received is None:
        raise InputError(
            f"{reason}; wait longer with --seconds, and check that there are files whose names do "
            "not begin with . or _ (those are still being written)"
        )
    say(reason)
    return stop.exit_code or EXIT_FAILURE


def _in_short(measured: Measurement) -> str:
    quality, lag = measured.quality, measured.lag
    text = (
        f"{quality.records_in:,} records, {quality.costs_known} of {quality.costs_seen} costs "
        f"known, {sum(d.drifted for d in measured.drift)} changed"
    )
    if lag is None:
        return text
    return f"{text}; newest record {lag.newest_record_s:,.1f} s old, batch took {lag.batch_s:.1f} s"


def _baseline(source: str | None) -> Profile | None:
    if source is None:
        return None
    loaded = load(source)
    if not isinstance(loaded, Profile):
        raise InputError(f"{source} is not a profile")
    return loaded


@dataclass(frozen=True)
class _Output:
    """Where a profile goes, and whether one with gaps does."""

    out: Path | None
    partial: bool
    as_json: bool
    timings: bool

    def is_ready(self, measured: Measurement) -> bool:
        return measured.profile is not None and (self.partial or not measured.not_ready)

    def write(self, measured: Measurement, *, is_printed: bool = False) -> None:
        if self.out and measured.profile is not None and self.is_ready(measured):
            is_yaml = self.out.suffix.lower() in (".yaml", ".yml")
            text = dumps(measured.profile, json=not is_yaml)
            write_file(self.out, text, is_printed=is_printed)

    def present(self, measured: Measurement) -> int:
        """Show what was found and write the profile; the exit code."""
        if self.as_json:
            write_json(measurement_dict(measured))
        else:
            show(profile_page(measured))
        for step in measured.timings if self.timings else ():
            say(_timing(step))
        if not self.is_ready(measured):
            say(_refusal(measured))
            return EXIT_FAILURE
        self.write(measured, is_printed=True)
        if self.out:
            say(f"wrote {self.out}")
        return EXIT_DONE


def _timing(step: StepTime) -> str:
    line = f"{step.name:22} {step.seconds:8.1f} s"
    return f"{line}  {step.rows:,} records, {step.rows_per_s:,.0f} a second" if step.rows else line


def _refusal(measured: Measurement) -> str:
    if not measured.quality.records_in:
        return "not ready: no records found"
    if not measured.quality.kept:
        return "not ready: every record was set aside; the reasons are above"
    missing = len(measured.not_ready)
    hint = "" if measured.profile is None else "; --partial writes the rest"
    return f"not ready: {missing} of {measured.quality.costs_seen} costs are missing{hint}"

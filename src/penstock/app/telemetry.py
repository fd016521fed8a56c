"""Which telemetry is meant, and taking it in: folders of files, or a running cluster's own."""

from __future__ import annotations

import glob
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.clusters import silent, types_of_hosts
from penstock.engines.base import Ability, Engine, Say
from penstock.engines.registry import naming_its_package, require
from penstock.engines.spark.session import DRIVER_MEMORY, LOCAL
from penstock.errors import Finding, InputError, UsageError
from penstock.telemetry.kafka import PREFIX as KAFKA_PREFIX

if TYPE_CHECKING:
    from penstock.model.snapshot import Snapshot
    from penstock.telemetry.pipeline import Pipeline
    from penstock.telemetry.selection import Lot

#: Files that the reporter has ended; those it still writes begin with a dot.
PATTERN = "*.jsonl*"
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True)
class SparkOptions:
    """The Spark that measures."""

    master: str = LOCAL
    driver_memory: str = DRIVER_MEMORY
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TelemetrySelection:
    """Folders and topics of telemetry, and how much of it counts."""

    folders: tuple[str, ...]
    #: Only lines of the last so many seconds.
    since_s: float | None = None
    #: What to look at where there is none.
    hint: str = ""

    @property
    def topic(self) -> str | None:
        """One of Kafka's that is read, if any is: Spark needs its connector then."""
        return next((name for name in self.folders if name.startswith(KAFKA_PREFIX)), None)


def telemetry_of(
    target: Engine, folders: Sequence[str] = (), since: str | None = None
) -> TelemetrySelection:
    """The telemetry of a running cluster: as named, patterns too, or where the engine keeps it.

    ``since`` is a time such as ``90s``, ``10m``, ``2h`` or ``1d``.
    """
    require(target, Ability.TELEMETRY)
    hint = target.capabilities.telemetry_hint
    if folders:
        return TelemetrySelection(tuple(_existing(folders)), seconds_of(since), hint)
    with naming_its_package(target.name):
        own = target.telemetry()
    return TelemetrySelection(tuple(_existing(own)), seconds_of(since), hint)


def seconds_of(text: str | None, option: str = "--since") -> float | None:
    """A time with its unit, in seconds."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f'{option} takes a time such as 90s, 10m, 2h or 1d, not "{text}"')
    return float(match[1]) * _UNITS_S[match[2]]


def _existing(names: Sequence[str]) -> list[str]:
    folders: list[str] = []
    findings = []
    for text in names:
        if "://" in text:
            folders.append(text)
            continue
        matching = sorted(glob.glob(text)) if glob.has_magic(text) else [text]  # noqa: PTH207
        existing = [str(Path(name).absolute()) for name in matching if Path(name).exists()]
        if not existing:
            findings.append(Finding("no such file or folder", text))
        folders += existing
    if findings:
        raise InputError(*findings)
    return list(dict.fromkeys(folders))


def take_in(
    pipeline: Pipeline, folders: Sequence[str], kafka_client: Mapping[str, str] | None = None
) -> None:
    """Every file that the reporters have ended, and all of a topic."""
    from penstock.telemetry.source import SourceFormat, open_source

    for folder in folders:
        source = open_source(pipeline.spark, folder, SourceFormat.JSON_LINES, kafka_client)
        pipeline.take_in_history(replace(source, pattern=PATTERN, rotated=True))


def require_lines(pipeline: Pipeline, selection: TelemetrySelection) -> list[Lot]:
    """What was taken in, or an error that says why that is nothing."""
    from penstock.telemetry.selection import survey

    lots = survey(pipeline.store.read(pipeline.store.manifest(), "samples"))
    if not lots:
        raise InputError(_no_lines(pipeline, selection))
    return lots


def choose(
    pipeline: Pipeline, taken: Snapshot, selection: TelemetrySelection, say: Say = silent
) -> None:
    """Leave out what is not of the running cluster, or an error if nothing else is there."""
    from penstock.telemetry.selection import Selection, require_some

    lots = require_lines(pipeline, selection)
    now_ms = int(time.time() * 1000)
    since_s = selection.since_s
    since_ms = None if since_s is None else int(now_ms - 1000 * since_s)
    names = frozenset(t.name for t in taken.topologies)
    chosen = Selection(names, types_of_hosts(taken.cluster), since_ms)
    require_some(lots, chosen, now_ms, say)
    pipeline.only = chosen


def _no_lines(pipeline: Pipeline, selection: TelemetrySelection) -> str:
    places = ", ".join(selection.folders)
    aside = pipeline.tables.set_aside(pipeline.store.manifest())
    if aside:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(aside.items()))
        return f"{places}: every line was set aside: {reasons}"
    return f"there are no telemetry lines in {places}" + (
        f"; {selection.hint}" if selection.hint else ""
    )

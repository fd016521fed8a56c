"""``penstock profile --follow``: a profile that is brought up to date as telemetry comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.cli.output import say
from penstock.cli.stopping import Stop, stoppable
from penstock.errors import InputError

if TYPE_CHECKING:
    from penstock.model.profile import Profile
    from penstock.telemetry.findings import Measurement
    from penstock.telemetry.pipeline import Pipeline
    from penstock.telemetry.source import RecordSource


@dataclass(frozen=True)
class Following:
    """How a source is followed."""

    every_s: float
    seconds: float | None
    baseline: Profile | None
    name: str
    #: Keeps what there is after each batch.
    write: Callable[[Measurement], None]


def follow(
    pipeline: Pipeline, source: RecordSource, how: Following
) -> tuple[Measurement | None, Stop]:
    """What is known when the time is up or a signal came, and what ended it.

    Without a single record there is nothing to write: an error if the time was up.
    """
    newest: list[Measurement] = []

    def refreshed(measured: Measurement) -> None:
        newest[:] = [measured]
        say(_in_short(measured))
        how.write(measured)

    with stoppable(how.seconds) as stop:
        say("following; Ctrl-C ends it after the batch in hand")
        pipeline.follow(
            source, refreshed, every_s=how.every_s, stop=stop, baseline=how.baseline, name=how.name
        )
    if newest:
        return newest[0], stop
    if pipeline.tables.records_in(pipeline.store.manifest()):
        say("nothing new came in; this is what was read before")
        return pipeline.measure(how.baseline, how.name), stop
    reason = f"{source.location}: no telemetry came in, so there is no profile"
    if stop.received is not None:
        say(reason)
        return None, stop
    raise InputError(
        f"{reason}; wait longer with --seconds, and see that files are there whose names do not "
        "begin with . or _ (those are still being written)"
    )


def _in_short(measured: Measurement) -> str:
    quality = measured.quality
    return (
        f"{quality.records_in:,} records, {quality.costs_known} of {quality.costs_seen} costs "
        f"known, {sum(d.drifted for d in measured.drift)} changed"
    )

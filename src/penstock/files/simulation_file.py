"""The simulation format: what ``penstock simulate --json`` writes, as far as a report needs it."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field

from penstock.errors import InputError
from penstock.files.document import Document
from penstock.files.schema import FileModel, NotNegative, Strict, check

_PARTLY = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)
_Known = float | None


class _Figure(Strict):
    model_config = _PARTLY
    mean: _Known
    half_width: _Known


class _Topology(Strict):
    model_config = _PARTLY
    topology: str
    offered_per_s: NotNegative
    completed_per_s: NotNegative
    latency_p50_ms: _Known
    latency_p90_ms: _Known = None
    latency_p99_ms: _Known
    in_flight: NotNegative = 0.0
    awaiting_timeout: NotNegative = 0.0


class _Change(Strict):
    model_config = _PARTLY
    at_s: NotNegative
    what: str


class _Moment(Strict):
    model_config = _PARTLY
    from_s: NotNegative
    until_s: NotNegative
    topologies: list[_Topology]
    present: dict[str, NotNegative] = Field(default_factory=dict)
    utilisation: dict[str, NotNegative]


class SimulationFile(FileModel):
    """A simulation's figures with their intervals, and what happened over time."""

    model_config = _PARTLY
    FORMAT: ClassVar[str] = "penstock/simulation"
    format: Literal["penstock/simulation"]
    topologies: list[str]
    cluster: str
    scenario: str
    model: str
    seed: int
    runs: int
    events: int
    stopped: bool
    warmup_s: NotNegative
    interval_over: str
    steady: bool = False
    changes: list[_Change] = Field(default_factory=list)
    remarks: list[str] = Field(default_factory=list)
    figures: dict[str, _Figure]
    at_least: list[str] = Field(default_factory=list)
    over_time: Annotated[list[_Moment], Field(min_length=1)]


@dataclass(frozen=True)
class Simulation:
    """One scenario as it was simulated. Arrays over time have one entry for each moment."""

    topologies: tuple[str, ...]
    cluster: str
    scenario: str
    model: str
    seed: int
    runs: int
    events: int
    stopped: bool
    warmup_s: float
    interval_over: str
    #: Mean and half width of the 95 % interval by path; NaN where it is not known.
    figures: dict[str, tuple[float, float]]
    #: Paths of the figures that are lower bounds, because tuples are stuck.
    at_least: frozenset[str]
    #: What is unfinished, and what the run cannot tell.
    remarks: tuple[str, ...]
    #: Whether nothing changes during the scenario.
    steady: bool
    until_s: tuple[float, ...]
    offered_per_s: tuple[float, ...]
    completed_per_s: tuple[float, ...]
    #: Of the slowest topology; NaN where too few tuples tell.
    p50_ms: tuple[float, ...]
    p90_ms: tuple[float, ...]
    p99_ms: tuple[float, ...]
    #: At the end of each moment: all in flight, and those that wait for their time-out.
    in_flight: tuple[float, ...]
    awaiting_timeout: tuple[float, ...]
    #: What changes, and when: machines that die, plans that take over.
    changes: tuple[tuple[float, str], ...]
    components: tuple[str, ...]
    #: Tuples at each component, those in service included, shape (moments, components).
    present: np.ndarray
    machines: tuple[str, ...]
    #: Part of each machine's CPU in use, shape (moments, machines).
    utilisation: np.ndarray


def simulation_from(document: Document) -> Simulation:
    """The simulation in a document; everything that is wrong with it at once."""
    file, findings = check(document, SimulationFile)
    if file is None:
        raise InputError(*findings)
    machines = tuple(file.over_time[0].utilisation)
    components = tuple(file.over_time[0].present)
    for number, moment in enumerate(file.over_time):
        for what, known in (("utilisation", machines), ("present", components)):
            if tuple(getattr(moment, what)) != known:
                place = ("over_time", number, what)
                message = "has other names than the first moment"
                raise InputError(document.finding(place, message))
    return Simulation(
        topologies=tuple(file.topologies),
        cluster=file.cluster,
        scenario=file.scenario,
        model=file.model,
        seed=file.seed,
        runs=file.runs,
        events=file.events,
        stopped=file.stopped,
        warmup_s=file.warmup_s,
        interval_over=file.interval_over,
        figures={path: (_known(f.mean), _known(f.half_width)) for path, f in file.figures.items()},
        at_least=frozenset(file.at_least),
        remarks=tuple(file.remarks),
        steady=file.steady,
        until_s=tuple(moment.until_s for moment in file.over_time),
        offered_per_s=tuple(sum(t.offered_per_s for t in m.topologies) for m in file.over_time),
        completed_per_s=tuple(sum(t.completed_per_s for t in m.topologies) for m in file.over_time),
        p50_ms=tuple(_slowest([t.latency_p50_ms for t in m.topologies]) for m in file.over_time),
        p90_ms=tuple(_slowest([t.latency_p90_ms for t in m.topologies]) for m in file.over_time),
        p99_ms=tuple(_slowest([t.latency_p99_ms for t in m.topologies]) for m in file.over_time),
        in_flight=tuple(sum(t.in_flight for t in m.topologies) for m in file.over_time),
        awaiting_timeout=tuple(
            sum(t.awaiting_timeout for t in m.topologies) for m in file.over_time
        ),
        changes=tuple((change.at_s, change.what) for change in file.changes),
        components=components,
        present=np.array([list(m.present.values()) for m in file.over_time]),
        machines=machines,
        utilisation=np.array([list(m.utilisation.values()) for m in file.over_time]),
    )


def _known(value: float | None) -> float:
    return nan if value is None else value


def _slowest(values: list[float | None]) -> float:
    return max((value for value in values if value is not None), default=nan)

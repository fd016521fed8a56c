"""The simulation format: what ``penstock simulate --json`` writes; of it, reports read a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from penstock.errors import InputError
from penstock.files.document import ParsedFile
from penstock.files.schema import FileModel, NotNegative, Strict, Version, check_file
from penstock.simulate.measured import MeasuredInterval
from penstock.simulate.results import SimResult, number_or_none
from penstock.simulate.scenario import CutOff, Down, Replace

_PARTLY = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)
_Known = float | None


class _Figure(Strict):
    model_config = _PARTLY
    mean: _Known
    half_width: _Known


class _TopologyInterval(Strict):
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


class _IntervalFields(Strict):
    model_config = _PARTLY
    from_s: NotNegative
    until_s: NotNegative
    topologies: list[_TopologyInterval]
    present: dict[str, NotNegative] = Field(default_factory=dict)
    utilisation: dict[str, NotNegative]


class SimulationFile(FileModel):
    """A simulation's figures with their intervals, and what happened over time."""

    model_config = _PARTLY
    format: Literal["penstock/simulation"]
    version: Version[Literal[1]]
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
    over_time: Annotated[list[_IntervalFields], Field(min_length=1)]


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


def simulation_from(document: ParsedFile) -> Simulation:
    """The simulation in a document; everything that is wrong with it at once."""
    document, file, findings = check_file(document, SimulationFile)
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


def simulation_to_dict(result: SimResult, remarks: Sequence[str]) -> dict[str, object]:
    """The result as its file says it; ``remarks`` are what a reader of its figures must know."""
    intervals = {
        path: {"mean": number_or_none(i.mean), "half_width": number_or_none(i.half_width)}
        for path, i in result.intervals.items()
    }
    return {
        **SimulationFile.FORMAT.head,
        "topologies": [t.name for t in result.problem.topologies],
        "cluster": result.problem.cluster.name,
        "scenario": result.scenario.name,
        "model": result.model,
        "seed": result.seed,
        "runs": len(result.runs),
        "events": result.events,
        "stopped": result.stopped,
        "warmup_s": result.warmup_s,
        "steady": result.scenario.is_steady,
        "changes": [{"at_s": at_s, "what": what} for at_s, what in _changes(result)],
        "interval_over": "runs" if len(result.runs) > 1 else "batches",
        "figures": intervals,
        "at_least": sorted(result.at_least),
        "remarks": list(remarks),
        "balance": {**asdict(result.balance), "missing": result.balance.missing},
        "measured": json_value(asdict(result.measured)),
        "over_time": [_moment(one) for one in result.over_time],
    }


def _changes(result: SimResult) -> list[tuple[float, str]]:
    """When something changes, and what, in a word or two."""
    rows = []
    for change in result.scenario.changes:
        if isinstance(change, Replace):
            rows.append((change.at_s + change.pause_s, "new plan"))
            continue
        if isinstance(change, CutOff):
            name, what = change.rack, "cut off"
        else:
            name, what = change.machine, "down" if isinstance(change, Down) else "slow"
        rows.append((change.at_s, f"{name} {what}"))
        if change.until_s is not None:
            rows.append((change.until_s, f"{name} back"))
    return sorted(rows)


#: Less is nothing: of the numbers in files, the smallest.
_LEAST = 1e-15


def _moment(one: MeasuredInterval) -> dict[str, object]:
    interval: dict[str, object] = json_value(
        {
            "from_s": one.from_s,
            "until_s": one.until_s,
            "topologies": [asdict(t) for t in one.topologies],
            "present": {c.component: c.present for c in one.components},
            "utilisation": {m.machine: m.utilisation for m in one.machines},
            "watts": one.watts,
        }
    )
    return interval


def json_value(value: Any) -> Any:
    """Numbers JSON knows, and nothing else."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, (float, np.floating)):
        # The fluid model lets queues run down for ever; no file takes so little.
        number = float(value)
        return 0.0 if abs(number) < _LEAST else number_or_none(number)
    return value

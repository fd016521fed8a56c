"""When the loop is interrupted: for a look, or because something changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import Finding, InputError, unknown_name
from penstock.model.problem import Problem
from penstock.simulate.faults import bring_up, set_speed, take_down
from penstock.simulate.replacement import check_fits, replace_placement
from penstock.simulate.scenario import Change, CutOff, Down, Replace, Scenario, Slow

if TYPE_CHECKING:
    from penstock.simulate.engine import SimulationEngine

Act = Callable[["SimulationEngine"], None]


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which the loop stops."""

    at_s: float
    #: What changes; ``None``: a look.
    act: Act | None = None


def moments(problem: Problem, scenario: Scenario) -> list[Moment]:
    """Looks and changes until the end, in order; at the same time the look comes first."""
    looks = max(1, round(scenario.duration_s / scenario.sample_s))
    ordered = [Moment(float(t)) for t in np.linspace(0.0, scenario.duration_s, looks + 1)[1:]]
    for change in scenario.changes:
        ordered += [m for m in _moments_of(problem, change) if m.at_s < scenario.duration_s]
    return sorted(ordered, key=lambda moment: moment.at_s)


def check_changes(problem: Problem, scenario: Scenario) -> None:
    """An error with every machine and rack that does not exist, and plans that do not fit."""
    findings = []
    machines = list(problem.cluster.machine_index)
    racks = list(dict.fromkeys(rack for _, rack in problem.cluster.racks))
    for number, change in enumerate(scenario.changes):
        where = f"changes[{number}]"
        if isinstance(change, Slow | Down) and change.machine not in machines:
            message = unknown_name("machine", change.machine, machines)
            field = "slow" if isinstance(change, Slow) else "down"
            findings.append(Finding(message, field=f"{where}.{field}"))
        if isinstance(change, CutOff) and change.rack not in racks:
            message = unknown_name("rack", change.rack, racks)
            findings.append(Finding(message, field=f"{where}.cut_off"))
        if isinstance(change, Replace):
            try:
                check_fits(problem, change.plan)
            except InputError as error:
                findings += [Finding(f.message, field=f"{where}.replace") for f in error.findings]
    own = [label for label, _ in scenario.services]
    for label in own:
        if label not in problem.labels:
            message = unknown_name("component", label, problem.labels)
            findings.append(Finding(message, field="service.components"))
    if findings:
        raise InputError(*findings)


def _moments_of(problem: Problem, change: Change) -> Iterator[Moment]:
    index = problem.cluster.machine_index
    match change:
        case Slow(at_s, machine, speed, until_s):
            yield Moment(at_s, _speed(index[machine], speed))
            if until_s is not None:
                yield Moment(until_s, _speed(index[machine], 1.0))
        case Down(at_s, machine, until_s):
            yield Moment(at_s, _down(index[machine]))
            if until_s is not None:
                yield Moment(until_s, _up(index[machine]))
        case CutOff(at_s, rack, until_s):
            yield Moment(at_s, _cut(problem, rack, True))
            if until_s is not None:
                yield Moment(until_s, _cut(problem, rack, False))
        case Replace(at_s, plan, pause_s):
            yield Moment(at_s, _pause)
            yield Moment(at_s + pause_s, lambda engine: replace_placement(engine, plan))


def _speed(machine: int, speed: float) -> Act:
    return lambda engine: set_speed(engine.world.record, machine, speed)


def _down(machine: int) -> Act:
    return lambda engine: take_down(engine.world.record, machine)


def _up(machine: int) -> Act:
    return lambda engine: bring_up(engine.world.record, machine)


def _cut(problem: Problem, rack: str, cut: bool) -> Act:
    numbers = [m for m, machine in enumerate(problem.cluster.machines) if machine.rack == rack]

    def act(engine: SimulationEngine) -> None:
        engine.world.machines["cut_off"][numbers] = cut

    return act


def _pause(engine: SimulationEngine) -> None:
    engine.world.record["paused"] = 1

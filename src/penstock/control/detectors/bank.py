"""All detectors together: samples become blocks, blocks go to each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any

import numpy as np

from penstock.control.detectors.cost_drift import DriftedCosts
from penstock.control.detectors.detector import BLOCK_S, Detection, Detector, TelemetryBlock
from penstock.control.detectors.key_skew import KeySkew
from penstock.control.detectors.machine_presence import MachinePresence
from penstock.control.detectors.prediction_error import PredictionError
from penstock.control.detectors.sick_machine import SickMachine, SickMachineMemory
from penstock.control.detectors.spout_held_back import SpoutHeldBack
from penstock.control.observation import Observation
from penstock.evaluate.rates import instance_rates
from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.planning.capacity_plans import CapacityPlanner

#: Machines that are expected to be nearly idle say nothing about what tuples cost.
_LEAST_CPU = 0.05
#: Speeds are planned with in steps of this, so that plans are kept.
_SPEED_STEP = 0.05
#: A clock that goes back, or on by more than so many blocks, jumped.
_JUMP = 10


@dataclass(frozen=True)
class OpenBlock:
    """Sums over the samples of the block that is being filled."""

    begin_s: float
    last_s: float
    placement: Placement
    alive: BoolVector
    seconds: float = 0.0
    samples: int = 0
    cpu: FloatVector | None = None
    processed: float = 0.0
    held_back: float = 0.0
    instances: FloatVector | None = None

    def goes_on(self, seen: Observation) -> bool:
        """Whether a sample belongs into it."""
        same = self.placement is seen.placement or self.placement == seen.placement
        there = self.alive is seen.alive or np.array_equal(self.alive, seen.alive)
        in_time = self.last_s < seen.time_s <= self.begin_s + BLOCK_S
        return same and there and in_time

    def with_sample(self, seen: Observation) -> OpenBlock:
        """One more; a system in the middle of a change says nothing."""
        if not (seen.settled and seen.is_known) or seen.cpu is None:
            return replace(self, last_s=seen.time_s)
        instances = seen.instance_per_s
        if instances is not None and self.instances is not None:
            instances = self.instances + instances
        return OpenBlock(
            self.begin_s,
            seen.time_s,
            self.placement,
            self.alive,
            self.seconds + seen.time_s - self.last_s,
            self.samples + 1,
            seen.cpu if self.cpu is None else self.cpu + seen.cpu,
            self.processed + seen.processed,
            self.held_back + seen.held_back,
            instances,
        )

    def closed(self, planner: CapacityPlanner) -> TelemetryBlock:
        """Means, held against what the cost model says."""
        problem, number = planner.problem, max(self.samples, 1)
        log_cpu = np.full(len(problem.cluster.machines), nan)
        if self.cpu is not None:
            load = planner.machine_load(self.placement)
            expected = load.cpu(self.processed / number / planner.unit)
            enough = (expected >= _LEAST_CPU) & (self.cpu > 0) & self.alive
            np.log(self.cpu / number, out=log_cpu, where=enough)
            log_cpu[enough] -= np.log(expected[enough])
        return TelemetryBlock(
            self.last_s, self.seconds, self.placement, self.alive, log_cpu,
            self.held_back / number if self.samples else nan,
            _log_busiest(problem, self.placement, self.instances),
        )  # fmt: skip


@dataclass(frozen=True)
class BankMemory:
    """What all of them remember, and what goes on."""

    memories: tuple[Any, ...]
    open: OpenBlock | None = None
    #: What began and is not over, by detector and subject.
    active: tuple[Detection, ...] = ()


@dataclass(frozen=True)
class MachineHealth:
    """What plans have to reckon with; arrays are (machines,)."""

    #: Of the usual speed, in steps; 1 where nothing is wrong.
    speed: FloatVector
    #: Not to be used.
    out: BoolVector


@dataclass(frozen=True)
class DetectorBank:
    """The detectors, in the order in which they look."""

    sick: SickMachine = field(default_factory=SickMachine)
    others: tuple[Detector, ...] = (
        MachinePresence(),
        DriftedCosts(),
        KeySkew(),
        SpoutHeldBack(),
        PredictionError(),
    )

    @property
    def detectors(self) -> tuple[Detector, ...]:
        return (self.sick, *self.others)

    def start(self, problem: Problem) -> BankMemory:
        return BankMemory(tuple(detector.start(problem) for detector in self.detectors))

    def seen(
        self, seen: Observation, memory: BankMemory, planner: CapacityPlanner
    ) -> tuple[tuple[Detection, ...], BankMemory]:
        """One sample; detections come when a block is full, or cut short by a change."""
        block = memory.open
        if block is None or _jumped(block, seen):
            return (), replace(memory, open=_opened(seen, seen.time_s))
        if block.goes_on(seen):
            block = block.with_sample(seen)
            if seen.time_s - block.begin_s < BLOCK_S:
                return (), BankMemory(memory.memories, block, memory.active)
            said, memory = self._looked(block.closed(planner), memory, planner.problem)
            return said, replace(memory, open=_opened(seen, seen.time_s))
        said, memory = self._looked(block.closed(planner), memory, planner.problem)
        fresh = _opened(seen, block.last_s).with_sample(seen)
        # Who is there counts at once.
        at_once = replace(fresh.closed(planner), seconds=0.0, time_s=seen.time_s)
        more, memory = self._looked(at_once, memory, planner.problem)
        return (*said, *more), replace(memory, open=fresh)

    def _looked(
        self, block: TelemetryBlock, memory: BankMemory, problem: Problem
    ) -> tuple[tuple[Detection, ...], BankMemory]:
        said: list[Detection] = []
        after = []
        for detector, before in zip(self.detectors, memory.memories, strict=True):
            news, mine = detector.look(block, before, problem)
            said += news
            after.append(mine)
        if not said:
            return (), BankMemory(tuple(after), memory.open, memory.active)
        active = {(d.kind, d.subject): d for d in memory.active}
        for d in said:
            active.pop((d.kind, d.subject), None)
            if not d.is_over:
                active[d.kind, d.subject] = d
        return tuple(said), BankMemory(tuple(after), memory.open, tuple(active.values()))

    def health(self, memory: BankMemory) -> MachineHealth | None:
        """What the sick machines mean for plans; ``None``: there are none."""
        sick = memory.memories[0]
        assert isinstance(sick, SickMachineMemory)
        if not (sick.evidence.alarmed.any() or sick.out.any()):
            return None
        steps = np.clip(np.round(sick.speed / _SPEED_STEP), 1, round(1 / _SPEED_STEP))
        return MachineHealth(steps * _SPEED_STEP, sick.out)


def _opened(seen: Observation, begin_s: float) -> OpenBlock:
    return OpenBlock(begin_s, begin_s, seen.placement, seen.alive)


def _jumped(block: OpenBlock, seen: Observation) -> bool:
    return not block.last_s < seen.time_s <= block.last_s + _JUMP * BLOCK_S or isnan(seen.time_s)


def _log_busiest(
    problem: Problem, placement: Placement, instances: FloatVector | None
) -> FloatVector:
    """By component, the busiest instance's part of the input over the part planned for it."""
    found = np.full(len(problem.components), nan)
    if instances is None or len(instances) != len(placement):
        return found
    planned = instance_rates(problem, placement).per_instance
    starts = placement.starts(len(problem.components))
    for c in range(len(found)):
        mine = slice(int(starts[c]), int(starts[c + 1]))
        total, all_planned = float(instances[mine].sum()), float(planned[mine].sum())
        fed = planned[mine] > 0
        if total > 0 and all_planned > 0 and fed.any():
            parts = instances[mine][fed] / planned[mine][fed]
            found[c] = np.log(parts.max() * all_planned / total)
    return found

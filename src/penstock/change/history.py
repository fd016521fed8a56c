"""What became of plans: put in force when, what was predicted, what was measured afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median

from penstock.change.diff import ComponentChange
from penstock.model.plan import Plan

#: Ways in which putting a plan in force ends; one that was killed stays begun.
BEGUN, APPLIED = "begun", "applied"
ROLLED_BACK, NOT_ROLLED_BACK = "rolled back", "not rolled back"
#: What the CPU of a machine is made of when it is compared.
PROCESSES, THREADS = "worker processes", "threads of instances"


@dataclass(frozen=True)
class TopologyReceipt:
    """What one topology went through when a plan was put in force."""

    topology: str
    #: The engine's name of this very submission.
    run: str = ""
    #: Components whose number of instances changed, with the new number.
    executors: Mapping[str, int] = field(default_factory=dict)
    workers_restarted: int = 0
    #: How many workers it has afterwards.
    workers: int = 0
    placed_after_s: float | None = None


@dataclass(frozen=True)
class Receipt:
    """A plan put in force: what was meant, and how it ended, as far as that is known yet."""

    plan_id: str
    plan: Plan
    engine: str
    began_s: float
    ended_s: float
    outcome: str = BEGUN
    steps: tuple[TopologyReceipt, ...] = ()
    changes: tuple[ComponentChange, ...] = ()
    #: Where the engine reads plans, and where the file from before is kept.
    plan_file: str = ""
    backup: str = ""
    trouble: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """When and what: sorts by time, and is a file name everywhere."""
        began = datetime.fromtimestamp(self.began_ms / 1000, UTC)
        return f"{began:%Y%m%dT%H%M%S}{began.microsecond // 1000:03d}-{self.plan_id}"

    @property
    def began_ms(self) -> int:
        return round(1000 * self.began_s)

    @property
    def ended_ms(self) -> int:
        return round(1000 * self.ended_s)

    @property
    def runs(self) -> Mapping[str, str]:
        """The engine's name of each topology's submission, by topology."""
        return {step.topology: step.run for step in self.steps}

    @property
    def moves(self) -> int:
        return sum(len(change.moves) for change in self.changes)

    @property
    def topologies(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.plan.problem.topologies)

    @property
    def predicted_rate_per_s(self) -> Mapping[str, float]:
        return dict(self.plan.predicted.rate_per_s)


@dataclass(frozen=True)
class WhatRan:
    """What telemetry says of the time in which a plan ran exactly as it was meant."""

    from_ms: int
    to_ms: int
    #: Stretches of time that count; others were warm-up, or somebody ran elsewhere.
    stretches: int
    #: Tuples/s that (topology, component) took in; of spouts, made.
    rate_per_s: Mapping[tuple[str, str], float]
    #: Part of the time in which spouts were kept from emitting, by topology.
    held_back: Mapping[str, float]
    #: Mean fill of the input queues of (topology, component).
    queue_fill: Mapping[tuple[str, str], float]
    latency_ms: Mapping[str, float]
    #: CPU points by machine: of the instances' own threads, and of whole worker processes.
    threads_cpu: Mapping[str, float]
    processes_cpu: Mapping[str, float]


@dataclass(frozen=True)
class TopologyOutcome:
    """What a topology did under a plan."""

    topology: str
    rate_per_s: float
    #: Of all its components together, ackers left out.
    throughput_per_s: float
    #: It could not have taken in more, and how that is known.
    at_limit: bool
    why: str
    latency_ms: float | None = None


@dataclass(frozen=True)
class MachineOutcome:
    """CPU of a machine: measured, and what the cost model says at the rate that was measured."""

    machine: str
    cpu_points: float
    #: ``None`` for a plan by requests, which predicts no CPU.
    expected_cpu_points: float | None

    @property
    def error(self) -> float | None:
        """How far the model is off, as a part of what was measured."""
        if self.expected_cpu_points is None or self.cpu_points <= 0:
            return None
        return self.expected_cpu_points / self.cpu_points - 1.0


@dataclass(frozen=True)
class MeasuredOutcome:
    """What was measured of a plan, held against what the model says at the same rate."""

    from_ms: int
    to_ms: int
    stretches: int
    topologies: tuple[TopologyOutcome, ...]
    machines: tuple[MachineOutcome, ...]
    #: What the CPU figures are made of.
    compared: str

    @property
    def cpu_errors(self) -> list[float]:
        """Of machines with a prediction, without their sign."""
        return [abs(m.error) for m in self.machines if m.error is not None]

    @property
    def median_cpu_error(self) -> float | None:
        return median(self.cpu_errors) if self.cpu_errors else None

    @property
    def worst_cpu_error(self) -> float | None:
        return max(self.cpu_errors, default=None)


@dataclass(frozen=True)
class Entry:
    """One plan of the history: what was done, and what came of it as far as that is known."""

    applied: Receipt
    measured: MeasuredOutcome | None = None
    #: Why nothing was measured.
    why_not: str = ""

    def rate_error(self, topology: TopologyOutcome) -> float | None:
        """Predicted over measured, less one; only at its limit does a topology show its limit."""
        predicted = self.applied.predicted_rate_per_s.get(topology.topology)
        if predicted is None or not topology.at_limit or topology.rate_per_s <= 0:
            return None
        return predicted / topology.rate_per_s - 1.0


def ends_ms(applied: Receipt, all_applied: Iterable[Receipt]) -> int | None:
    """When the next plan of one of its topologies was begun; ``None``: it is the newest."""
    mine = set(applied.topologies)
    later = [
        other.began_ms
        for other in all_applied
        if (other.began_ms, other.id) > (applied.began_ms, applied.id)
        and mine & {*other.topologies}
    ]
    return min(later, default=None)

"""``sick machine``: one that needs more CPU for its tuples than its profile says.

A machine slowed to 60 % is busy for 1/0.6 of the time that the cost model says. Each machine's
logarithm of that factor, less the median of the machines of its type (where three or more are in
use, else of all), goes against its own past (:mod:`evidence`): what all machines of a type share is
cost drift, and no machine's fault. No machine's usual speed is taken for less than ``fine``, so
that one that was slow from the first is found, too.

Evidence is the score. At the threshold the machine is *demoted*: planned with its measured speed.
At twice the threshold it is *out*: planned without. Evidence that falls back to nothing lifts a
demotion. A machine that is out has nothing to be measured by: it is let in again after an hour, and
if it is sick still, out for twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from penstock.control.detectors.detector import Detection, TelemetryBlock, median_of
from penstock.control.detectors.evidence import MOST, Evidence, EvidenceTest
from penstock.model.arrays import BoolVector, FloatVector, frozen
from penstock.model.problem import Problem

#: With fewer machines there is no majority to compare with.
FEWEST_PEERS = 3
#: How long a machine is out at first, and at most.
_OUT_S, _LONGEST_OUT_S = 3600.0, 86_400.0


@dataclass(frozen=True)
class SickMachineMemory:
    """Evidence on each machine, and until when it is out; arrays are (machines,)."""

    evidence: Evidence
    out_until_s: FloatVector
    times_out: FloatVector

    @property
    def out(self) -> BoolVector:
        return np.asarray(np.isfinite(self.out_until_s))

    @property
    def speed(self) -> FloatVector:
        """Of what each machine's usual speed is; 1 where nothing is wrong."""
        measured = np.exp(-np.maximum(self.evidence.mean_above, 0.0))
        return np.asarray(np.where(self.evidence.alarmed, measured, 1.0))


@dataclass(frozen=True, slots=True)
class SickMachine:
    """Machines that are slower than they were, and than their peers."""

    name: ClassVar[str] = "sick machine"

    false_alarms_per_day: float = field(
        default=1e-3, metadata={"help": "false alarms per machine and day, at most"}
    )
    fine: float = field(default=0.9, metadata={"help": "a speed that is no fault, as a part"})
    slow: float = field(default=0.6, metadata={"help": "the speed to be found soonest"})

    @property
    def test(self) -> EvidenceTest:
        fine, slow = -float(np.log(self.fine)), -float(np.log(self.slow))
        return EvidenceTest(self.false_alarms_per_day, fine, slow, usual_most=fine)

    def start(self, problem: Problem) -> SickMachineMemory:
        machines = len(problem.cluster.machines)
        never = frozen(np.full(machines, np.nan))
        return SickMachineMemory(self.test.start(machines), never, frozen(np.zeros(machines)))

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """Demote, put out, let in again."""
        assert isinstance(memory, SickMachineMemory)
        before, test = memory, self.test
        back = before.out_until_s <= block.time_s
        evidence = before.evidence
        if back.any():
            evidence = test.cleared(back, evidence)
        if block.is_whole:
            beside = ~(evidence.alarmed | before.out)
            evidence = test.seen(against_peers(block.log_cpu, problem, beside), evidence)
        until_s = np.where(back, np.nan, before.out_until_s)
        worse = (evidence.log_e >= MOST * test.threshold) & ~np.isfinite(until_s)
        stay_s = np.minimum(_OUT_S * 2.0**before.times_out, _LONGEST_OUT_S)
        after = SickMachineMemory(
            evidence,
            np.where(worse, block.time_s + stay_s, until_s),
            before.times_out + worse,
        )
        if not (back.any() or worse.any() or (evidence.alarmed != before.evidence.alarmed).any()):
            return (), after
        return self._said(block.time_s, before, after, problem), after

    def _said(
        self, time_s: float, before: SickMachineMemory, after: SickMachineMemory, problem: Problem
    ) -> tuple[Detection, ...]:
        said = []
        was, now = before.evidence.alarmed, after.evidence.alarmed
        for m in np.flatnonzero((was != now) | (before.out != after.out)).tolist():
            name, speed = problem.cluster.machines[m].name, float(after.speed[m])
            if after.out[m]:
                why = f"{name} still runs at {100 * speed:.0f} % of its speed: planned without it"
            elif now[m]:
                why = f"{name} runs at {100 * speed:.0f} % of its speed: planned with that"
            elif before.out[m]:
                why = f"{name} has been out long enough to be tried again"
            else:
                why = f"{name} is as fast as it was again"
            said.append(
                Detection(time_s, self.name, name, speed, why, is_over=not (now[m] or after.out[m]))
            )
        return tuple(said)


def against_peers(log_cpu: FloatVector, problem: Problem, beside: BoolVector) -> FloatVector:
    """Less the median of the machines of the same type that are in use, else of all, (machines,).

    Those that are sick (not ``beside``) are no peers. With too few for a majority: as it is.
    """
    peers = np.isfinite(log_cpu) & beside
    if int(peers.sum()) < FEWEST_PEERS:
        return log_cpu
    usual = np.full(len(log_cpu), median_of(log_cpu[peers]))
    kind = problem.cluster.type_of
    for t in np.unique(kind[peers]).tolist():
        mine = peers & (kind == t)
        if int(mine.sum()) >= FEWEST_PEERS:
            usual[kind == t] = median_of(log_cpu[mine])
    return np.asarray(log_cpu - usual)

"""One policy on one live load, and what a rehearsal said of it before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from penstock.app.proposals import ChangeProposal, Status
from penstock.control.decision import DecisionKind
from penstock.control.policies import registry
from penstock.control.rehearsal import RehearsalSetting, rehearse
from penstock.control.rehearsed_engine import FaultPlan
from penstock.control.scores import Score
from penstock.model.watch_rules import FREE, WatchRules, WatchSetting
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.simulate.interval import EnginePauses
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.benchmarks.watch.live_log import LiveLog
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad

#: Rehearsals of which the mean is taken: which machine is lost, and how long pauses are, is chance.
_SEEDS = 5
#: Who has rules of ours; the peers bring a tempo of their own.
OURS = "penstock"
#: Whoever wants a step carried within a minute cannot look at it for most of that.
PARAMETERS: Mapping[str, float] = {"confirm_s": 20.0}


@dataclass(frozen=True)
class PolicyRun:
    """What became of one policy."""

    policy: str
    log: LiveLog
    #: Changes that it made, and when in the run.
    changes: tuple[tuple[float, ChangeProposal], ...] = ()
    #: Results that are missing or wrong.
    wrong: int = 0
    lost_machine: str = ""

    @property
    def load(self) -> SteppedLoad:
        return self.log.load

    @property
    def restarts(self) -> list[float]:
        """When something moved, started or ended; new shares alone restart nothing."""
        return [at for at, p in self.changes if p.kind != DecisionKind.SHARES]

    @property
    def most_restarts_per_step(self) -> int:
        """Of any step, and of what follows the loss of a machine."""
        begins = sorted([*self.load.begins_s, *filter(None, [self.load.kill_at_s])])
        ends = [*begins[1:], float("inf")]
        return max(
            sum(begin <= at < end for at in self.restarts)
            for begin, end in zip(begins, ends, strict=True)
        )


def changes_of(
    proposals: Sequence[ChangeProposal], began_s: float
) -> tuple[tuple[float, ChangeProposal], ...]:
    """Those that were made, with the time in the run."""
    made = (p for p in proposals if p.status is Status.APPLIED)
    return tuple((p.time_s - began_s, p) for p in made)


def setting_for(policy: str, rules: WatchRules) -> WatchSetting:
    """A ``watch.yaml``. The peers keep to what no policy can do without."""
    if policy == OURS:
        return WatchSetting(policy, PARAMETERS, rules)
    free = replace(FREE, latency_target_s=rules.latency_target_s, pause_s=rules.pause_s)
    return WatchSetting(policy, {}, free)


@dataclass(frozen=True)
class RehearsedRun:
    """Means over some rehearsals of the same load."""

    machine_s: float
    least_machine_s: float
    regret: float


def rehearsed(
    policy: str,
    load: SteppedLoad,
    planner: CapacityPlanner,
    rules: WatchRules,
    pauses: EnginePauses,
) -> RehearsedRun:
    """What is to be expected of a policy on a load."""
    faults = None
    if load.kill_at_s is not None:
        assert 2 * load.kill_at_s > load.seconds  # or a second one would be lost
        faults = FaultPlan(every_s=load.kill_at_s, back_after_s=float("inf"))
    watch = setting_for(policy, rules)
    setting = RehearsalSetting(watch.rules, pauses, faults)
    chosen = registry.configured(policy, watch.parameters)
    scores: list[Score] = [
        rehearse(load.recorded(), chosen, planner, setting, seed).score for seed in range(_SEEDS)
    ]
    return RehearsedRun(
        3600 * fmean(s.machine_hours for s in scores),
        3600 * fmean(s.least_machine_hours for s in scores),
        fmean(s.regret.total for s in scores),
    )


@dataclass(frozen=True)
class LoopComparison:
    """Policies side by side on one engine."""

    engine: str
    bound_per_s: float
    runs: Mapping[str, PolicyRun]
    rehearsals: Mapping[str, RehearsedRun]

    @property
    def ours(self) -> PolicyRun:
        return self.runs[OURS]

    def regret(self, policy: str) -> float:
        """Machine-hours over the least that any plan needs, less one."""
        return self.runs[policy].log.machine_s / self.rehearsals[policy].least_machine_s - 1.0

    def hours_off(self, policy: str) -> float:
        """By which part machine-hours differ from those rehearsed."""
        return abs(self.runs[policy].log.machine_s / self.rehearsals[policy].machine_s - 1.0)

    def regret_off(self, policy: str) -> float:
        """By how much regret differs from that rehearsed, as a part of the least."""
        return abs(self.regret(policy) - self.rehearsals[policy].regret)

    def table(self) -> FigureTable:
        stretches = self.ours.load.stretches
        rows = []
        for name, run in self.runs.items():
            expected = self.rehearsals.get(name)
            hours = f"{run.log.machine_s / 3600:.3f}"
            beside = (
                ["–", "–", "–"]
                if expected is None
                else [
                    f"{expected.machine_s / 3600:.3f}", f"{100 * self.regret(name):.0f} %",
                    f"{100 * expected.regret:.0f} %",
                ]
            )  # fmt: skip
            rows.append(
                [
                    name,
                    *(f"{100 * run.log.carried(s):.1f} %" for s in stretches),
                    f"{run.log.longest_wait_s:.1f}", f"{len(run.restarts)}",
                    f"{len(run.changes) - len(run.restarts)}", hours, *beside, f"{run.wrong}",
                ]
            )  # fmt: skip
        rates = ", ".join(f"{rate:.0f}" for rate in self.ours.load.rates_per_s)
        return FigureTable(
            f"{self.engine}: {rates} tuples/s one after the other, a machine killed during the "
            f"last (no plan can exceed {self.bound_per_s:.0f})",
            [
                "policy", *(f"carried, {s.name}" for s in stretches), "longest wait (s)",
                "restarts", "new shares", "machine-hours", "rehearsed", "regret", "rehearsed ",
                "wrong",
            ],
            rows,
        )  # fmt: skip

"""The loop on a Storm of unlike machines: our watcher, its peers, and Storm left alone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from penstock.app.watching.system import SystemMaker, WatchedSystem
from penstock.engines.base import WatchOrder
from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock.engines.lab.pace import pace_measured
from penstock.engines.rate_steps import RateSteps
from penstock.engines.registry import create
from penstock.engines.storm.faults import kill_machine
from penstock.engines.storm.proof import prove
from penstock.engines.storm.trial import Trial
from penstock.errors import PenstockError
from penstock.evaluate.predict import predict
from penstock.files.examples import load_profile, load_topology
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Kind
from penstock.model.watch_rules import WatchRules
from penstock.planning.stage_plans import planner_for
from penstock.simulate.interval import EnginePauses
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.storm_runs import measured_costs, trial_of
from penstock_bench.benchmarks.watch.live_log import LiveLog, logged
from penstock_bench.benchmarks.watch.loop_run import (
    LoopComparison,
    PolicyRun,
    changes_of,
    rehearsed,
    setting_for,
)
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad
from penstock_bench.benchmarks.watch.watcher_process import WatcherSetup, watching

TOPOLOGY = "linear"
#: Where what is acked must have arrived.
PATHS = [("mid", "high")]
#: Storm's own scheduler, without anybody who watches.
ALONE = "Storm's default"
#: What runs at the beginning carries so many times the first rate, as in a rehearsal.
AT_FIRST = 1.3
#: The load before what counts, so that all is warm and the watcher knows the first rate.
WARM_S = 60.0
_DRAINS_WITHIN_S = 90.0
_PLACES_EVERY_S = 4.0
_BACK_WITHIN_S = 60.0
#: The lab's Storm notices a lost machine sooner than Storm's defaults would.
PAUSES = EnginePauses(notice_s=15.0)
RULES = WatchRules(latency_target_s=5.0)
_COSTS_ON = "lab-90"


@dataclass
class StormLoop:
    """One topology on one lab, run under one policy after the other."""

    trial: Trial
    profile: Profile
    system: WatchedSystem
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.trial.lab.folder / "watching"

    @property
    def problem(self) -> Problem:
        return self.system.problem

    def run(self, policy: str, load: SteppedLoad) -> PolicyRun:
        """The load from its first step to its end."""
        self.submit(policy, load)
        setup = self.setup(policy)
        began_s = time.time() + WARM_S
        first = (began_s - WARM_S, load.rates_per_s[0])
        offered = self.trial.topology.offer([first, *load.from_time(began_s)])
        with logged(load, began_s, self.look(offered)) as log:
            if policy == ALONE:
                lost = self._live_through(load, began_s, log)
            else:
                with watching(setup):
                    lost = self._live_through(load, began_s, log)
        missing = self.end(lost)
        run = PolicyRun(policy, log, changes_of(setup.proposals(), began_s), missing, lost)
        say(
            f"{policy}: carried {100 * log.least_carried:.1f} % at least, waits "
            f"{log.longest_wait_s:.1f} s, {len(run.restarts)} restarts, {missing} lost"
        )
        return run

    def setup(self, policy: str) -> WatcherSetup:
        """What watches this lab."""
        name = policy.replace(" ", "-")
        engine = ("--from", "storm", "--storm-yaml", str(self._storm_yaml), "--telemetry",
                  str(self.trial.telemetry))  # fmt: skip
        return WatcherSetup(
            self.folder / name, setting_for(policy, RULES), self.profile, engine,
            weighted=True,
        )  # fmt: skip

    @property
    def _storm_yaml(self) -> Path:
        return self.trial.lab.folder / "nimbus" / "storm.yaml"

    def look(self, offered: RateSteps) -> Callable[[float], tuple[float, float, frozenset[str]]]:
        """For the log."""
        return _Look(self.trial, offered.until)

    def submit(self, policy: str, load: SteppedLoad) -> None:
        """Run it on the plan for a little more than the first rate; Storm alone has its own."""
        trial = self.trial
        for folder in (trial.proof, trial.topology.queue, trial.telemetry):
            shutil.rmtree(folder, ignore_errors=True)
        if policy == ALONE:
            # All machines, as many executors as our best plan has; its shuffle is Storm's own.
            most = self._plan(self.system.planner.bound_per_s)
            trial.submit(counts_of(most), load_aware=True, proof=True, queued=True)
            return
        plan = self._plan(AT_FIRST * load.rates_per_s[0])
        trial.submit(counts_of(plan), weighted=True, proof=True, queued=True)
        trial.place(plan)
        trial.wait_until_running()

    def _plan(self, rate_per_s: float) -> Plan:
        everyone = np.ones(len(self.problem.cluster.machines), dtype=np.bool_)
        chosen = self.system.planner.carrying(rate_per_s, everyone)
        if chosen is None:
            raise PenstockError(f"no plan for {rate_per_s:.0f} tuples/s on the lab")
        return as_plan(self.problem, chosen.placement)

    def _live_through(self, load: SteppedLoad, began_s: float, log: LiveLog) -> str:
        """Until the load's end; the machine that was killed on the way, if one was."""
        lost = ""
        while (at_s := time.time() - began_s) < load.seconds:
            if load.kill_at_s is not None and at_s >= load.kill_at_s and not lost:
                lost = self._strongest(log.moments[-1].machines)
                say(f"killing {lost} with what runs there")
                kill_machine(self.trial.lab, lost)
            time.sleep(0.5)
        return lost

    def _strongest(self, names: frozenset[str]) -> str:
        used = [m for m in self.trial.lab.machines if m.name in names]
        return max(used, key=lambda m: m.points).name

    def end(self, lost: str) -> int:
        """Drained, looked at and killed; the machine that was lost comes back."""
        trial = self.trial
        deadline = time.time() + _DRAINS_WITHIN_S
        while time.time() < deadline:
            taken = trial.topology.taken()
            if taken.taken == taken.acked:
                break
            time.sleep(1.0)
        proof = prove(trial.proof, PATHS)
        trial.kill()
        if lost:
            trial.lab.daemons.start_again(lost)
            wait_for(lambda: lost in trial.snapshot().cluster.machine_index, _BACK_WITHIN_S, lost)
        return len(proof.missing)


class _Look:
    """Totals and places, now; places change seldom and are asked for every few seconds."""

    def __init__(self, trial: Trial, offered: Callable[[float], float]) -> None:
        self.trial, self.offered = trial, offered
        self._machines: frozenset[str] = frozenset()
        self._asked_s = 0.0

    def __call__(self, now_s: float) -> tuple[float, float, frozenset[str]]:
        acked = self.trial.topology.taken().acked
        if now_s - self._asked_s >= _PLACES_EVERY_S:
            self._asked_s = now_s
            self._machines = self._places() or self._machines
        return self.offered(now_s), acked, self._machines

    def _places(self) -> frozenset[str]:
        try:
            deployed = self.trial.snapshot().deployed
        except (PenstockError, ValueError):
            return frozenset()
        return frozenset(
            machine for d in deployed for _, places in d.components for machine, _ in places
        )


def wait_for(true: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        if time.monotonic() > deadline:
            raise PenstockError(f"{what} was not there within {within_s:g} s")
        time.sleep(1.0)


def as_plan(problem: Problem, placement: Placement) -> Plan:
    predicted, _ = predict(problem, placement)
    return Plan(problem, placement, "bench", predicted=predicted)


def counts_of(plan: Plan) -> dict[str, int]:
    """Executors of the components that are submitted; ackers have a setting of their own."""
    counts = plan.placement.counts(len(plan.problem.components))
    return {
        component.name: int(count)
        for component, count in zip(plan.problem.components, counts, strict=True)
        if component.kind is not Kind.ACKER
    }


def storm_loop(trial: Trial, costs: str) -> StormLoop:
    """A lab whose costs are known: ``measured`` now, or those of the shipped profile ``lab``."""
    components = [c.name for c in load_topology(TOPOLOGY).components if c.kind is not Kind.ACKER]
    if costs == "measured":
        with pace_measured() as meter:
            profile, _own = measured_costs(trial, meter)
    else:
        trial.submit(dict.fromkeys(components, 1), weighted=True)
        profile = known_costs(trial)
    conf = trial.lab.folder / "nimbus" / "storm.yaml"
    engine = create("storm", {"storm_yaml": conf})
    maker = SystemMaker(
        engine, weighted=True, planner=lambda p: planner_for(p, engine.capabilities.scheduler)
    )
    with engine.watch(WatchOrder(say, (str(trial.telemetry),))) as session:
        system = maker.system(session.reading(), profile, None)
    trial.kill()
    return StormLoop(trial, profile, system)


def known_costs(trial: Trial) -> Profile:
    """The lab's known costs under the names of the topology's components, alike on all machines."""
    known = load_profile("lab").by_place
    names = {c.name: c.profile or c.name for c in load_topology(TOPOLOGY).components}
    costs = tuple(
        Cost(name, kind, known[row, _COSTS_ON].e, known[row, _COSTS_ON].met)
        for name, row in names.items()
        for kind in dict.fromkeys(m.type for m in trial.lab.machines)
    )
    return Profile("lab", costs)


@made_once
def storm_compared(
    machines: str,
    factors: str,
    highest: float,
    step_s: float,
    first_s: float,
    policies: str,
    costs: str,
) -> LoopComparison:
    """Every policy through the same load, after another."""
    with trial_of(TOPOLOGY, machines) as trial, cpu_keepalive():
        loop = storm_loop(trial, costs)
        planner = loop.system.planner
        numbers = [float(f) for f in factors.split(",")]
        base = highest * planner.bound_per_s / max(numbers)
        load = SteppedLoad.of(base, numbers, step_s, first_s)
        say(f"×1 is {base:.0f} tuples/s, the bound {planner.bound_per_s:.0f}")
        names = policies.split(",")
        rehearsals = {
            name: rehearsed(name, load, planner, RULES, PAUSES) for name in names if name != ALONE
        }
        runs = {name: loop.run(name, load) for name in names}
    return LoopComparison("Storm", planner.bound_per_s, runs, rehearsals)

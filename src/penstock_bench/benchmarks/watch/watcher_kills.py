"""The watcher killed with -9 at random moments: is the cluster whole afterwards, and told so?"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from penstock.app.histories import history
from penstock.app.proposals import ChangeProposal, Status
from penstock.change.guard import differences
from penstock.change.history import APPLIED, Receipt
from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock.model.plan import Deployed, Places
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.storm_runs import trial_of
from penstock_bench.benchmarks.watch.loop_run import OURS
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad
from penstock_bench.benchmarks.watch.storm_loop import TOPOLOGY, StormLoop, storm_loop
from penstock_bench.benchmarks.watch.watcher_process import WatcherSetup, kill, start

#: In turn: before anything is written down, while the engine is told, while it is waited for. The
#: seconds are those after the moment, up to so many by chance.
PHASES = {"decide": 10.0, "publish": 1.5, "verify": 8.0}
#: A policy that follows the load at once, so that each round has something to do.
_POLICY = "ds2"
_DECIDES_WITHIN_S = 150.0
_MENDS_WITHIN_S = 180.0
_LOOKS_EVERY_S = 0.05
_ENDS = (Status.APPLIED, Status.NOT_APPLIED, Status.ROLLED_BACK)
#: From one load to the other and back.
_LOADS = (0.2, 0.75)


@dataclass(frozen=True)
class KillOutcome:
    """What was found after one kill, once a new watcher had looked after it."""

    phase: str
    #: What is wrong; nothing if all is well.
    wrong: tuple[str, ...]


@made_once
def killed(machines: str, kills: int, seed: int, costs: str) -> tuple[KillOutcome, ...]:
    """So many rounds of a new load, a kill, and another watcher."""
    rng = np.random.default_rng(seed)
    with trial_of(TOPOLOGY, machines) as trial, cpu_keepalive():
        loop = storm_loop(trial, costs)
        rounds = _Rounds(loop)
        with rounds.under_load():
            phases = itertools.islice(itertools.cycle(PHASES), kills)
            return tuple(rounds.one(phase, float(rng.random())) for phase in phases)


def applied_twice(receipts: Sequence[Receipt]) -> list[str]:
    """Plans that made workers restart twice, one time after the other."""
    moved = [
        (receipt.plan_id, receipt.id)
        for receipt in sorted(receipts, key=lambda r: r.began_s)
        if receipt.outcome == APPLIED and any(s.workers_restarted for s in receipt.steps)
    ]
    return [
        f"{plan} was applied twice, as {first} and {then}"
        for (plan, first), (again, then) in pairwise(moved)
        if plan == again
    ]


class _Rounds:
    def __init__(self, loop: StormLoop) -> None:
        self.loop = loop
        setup = loop.setup(_POLICY)
        # Often, and never in doubt: what is tried is the kill.
        rules = replace(setup.watch.rules, cool_down_s=0.0, cool_down_growing_s=0.0)
        watch = replace(setup.watch, rules=rules)
        self.setup: WatcherSetup = replace(setup, watch=watch, every_s=3.0, window_s=10.0)
        self.steps: list[tuple[float, float]] = []
        self._loads = itertools.cycle(_LOADS)

    @contextmanager
    def under_load(self) -> Iterator[None]:
        first = self._next_rate()
        self.loop.submit(OURS, SteppedLoad((first,), (1.0,)))
        self._offer(first)
        try:
            yield
        finally:
            self._offer(0.0)
            self.loop.end("")

    def one(self, phase: str, chance: float) -> KillOutcome:
        """A load that wants another plan, a watcher killed on its way there, and the next one."""
        before, known = self._deployed(), {p.id for p in self.setup.proposals()}
        self._offer(self._next_rate())
        watcher = start(self.setup)
        try:
            if phase != "decide" and not self._has_begun(known):
                phase = "decide"  # it never came further
            # Told within a second and a half; then it waits for Storm to follow.
            at_least = PHASES["publish"] if phase == "verify" else 0.0
            time.sleep(at_least + PHASES[phase] * chance)
        finally:
            kill(watcher)
        at_kill = [p for p in self.setup.proposals() if p.id not in known]
        wrong = self._mended(at_kill, before, known)
        say(f"killed in {phase}: {'; '.join(wrong) or 'whole'}")
        return KillOutcome(phase, tuple(wrong))

    def _mended(
        self, at_kill: list[ChangeProposal], before: Deployed, known: Collection[str]
    ) -> list[str]:
        """What is wrong once another watcher has looked after what the first one left.

        It goes on until the plan is that of the new load, so that the next load wants another.
        """
        watcher = start(self.setup)
        try:
            deadline = time.monotonic() + _MENDS_WITHIN_S
            is_done = False
            now = {p.id: p for p in self.setup.proposals()}
            begun = [p for p in now.values() if p.status is Status.BEGUN]
            while not is_done and time.monotonic() < deadline:
                time.sleep(1.0)
                now = {p.id: p for p in self.setup.proposals()}
                begun = [p for p in now.values() if p.status is Status.BEGUN]
                new = [p for p in now.values() if p.id not in known]
                is_done = not begun and any(p.status is Status.APPLIED for p in new)
        finally:
            kill(watcher)
        if begun:
            return [f"what was begun is not settled after {_MENDS_WITHIN_S:.0f} s"]
        wrong = [
            f"{found.id} is {found.status}"
            for found in (now[proposal.id] for proposal in at_kill)
            if found.status not in _ENDS
        ]
        self.loop.trial.wait_until_running()
        receipts = [entry.applied for entry in history(self.setup.history).entries]
        return [*wrong, *self._misplaced(receipts, before), *applied_twice(receipts)]

    def _misplaced(self, receipts: Sequence[Receipt], before: Deployed) -> list[str]:
        """Where the cluster is neither as before nor as the newest plan that was applied has it."""
        wanted: list[Places] = [dict(before.components)]
        applied = [r for r in receipts if r.outcome == APPLIED]
        if applied:
            newest = max(applied, key=lambda r: r.began_s)
            wanted.append(newest.plan.slots_of(self.loop.trial.name))
        (deployed,) = self.loop.trial.snapshot().deployed
        return list(min((differences(places, deployed) for places in wanted), key=len)[:3])

    def _has_begun(self, known: Collection[str]) -> bool:
        """Waits for a proposal that is new."""
        deadline = time.monotonic() + _DECIDES_WITHIN_S
        while time.monotonic() < deadline:
            if any(p.id not in known for p in self.setup.proposals()):
                return True
            time.sleep(_LOOKS_EVERY_S)
        return False

    def _deployed(self) -> Deployed:
        (deployed,) = self.loop.trial.snapshot().deployed
        return deployed

    def _next_rate(self) -> float:
        return next(self._loads) * self.loop.system.planner.bound_per_s

    def _offer(self, rate: float) -> None:
        self.steps.append((time.time(), rate))
        self.loop.trial.topology.offer(self.steps)

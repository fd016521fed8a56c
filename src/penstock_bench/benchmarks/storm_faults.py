"""A topology on a real Storm to which everything happens: is its plan kept, is a tuple lost?"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from penstock import app
from penstock.change.guard import differences
from penstock.change.in_force import plan_in_force
from penstock.engines.storm.bridge import BridgeError
from penstock.engines.storm.faults import kill_daemon, kill_machine, kill_workers
from penstock.engines.storm.lab import plan_file
from penstock.engines.storm.proof import prove
from penstock.engines.storm.snapshot import without_ackers
from penstock.engines.storm.trial import Trial
from penstock.errors import InputError, PenstockError
from penstock.files.examples import load_profile, load_topology
from penstock.files.store import save
from penstock.model.plan import Places, Plan
from penstock.model.problem import build
from penstock.model.profile import Cost, Profile
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.storm_runs import trial_of
from penstock_bench.benchmarks.suite import FigureTable

_LOAD_PER_S = 60.0
_RECOVERS_WITHIN_S = 120.0
#: Tuples acked after a fault before it counts as survived.
_ENOUGH = 200
#: Rounds of Nimbus in which nothing may move.
_STAYS_S = 8.0
_DRAINS_S = 40.0
_COSTS_ON = "lab-90"
#: When ``penstock apply`` is killed, after it has written down what it means to do: before it has
#: told Nimbus, and while Nimbus is at it.
_KILLED_AFTER_S = (0.0, 1.5)


@dataclass(frozen=True)
class Survived:
    """What became of one fault."""

    fault: str
    #: Until tuples were acked again and everything was where it belongs.
    seconds: float
    #: Empty if the placement is the plan's, or the contingency's.
    differs: tuple[str, ...]


@dataclass(frozen=True)
class Faults:
    survived: tuple[Survived, ...]
    acked: int
    missing: int


def after_faults(machines: str) -> FigureTable:
    faults = _all_faults(machines)
    rows = [
        [s.fault, f"{s.seconds:.0f}", "as planned" if not s.differs else "; ".join(s.differs)]
        for s in faults.survived
    ]
    title = f"linear under load, hurt ({faults.acked:,} tuples acked, {faults.missing} missing)"
    return FigureTable(title, ["killed with -9, or cut", "seconds to recover", "placement"], rows)


def missing_tuples(machines: str, repeats: int = 1) -> Iterator[float]:
    """Tuples that were acked and never seen at the sink, after all faults."""
    for _ in range(repeats):
        yield float(_all_faults(machines).missing)


def misplaced_after_faults(machines: str, repeats: int = 1) -> Iterator[float]:
    for _ in range(repeats):
        yield float(sum(bool(s.differs) for s in _all_faults(machines).survived))


@made_once
def _all_faults(machines: str) -> Faults:
    with trial_of("linear", machines) as trial:
        return _Hurting(trial).run()


class _Hurting:
    """One fault after another, under load, with acking."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.folder = trial.lab.folder
        self.survived: list[Survived] = []
        #: Daemons that are to stay dead for now.
        self.away: set[str] = set()

    def run(self) -> Faults:
        trial = self.trial
        trial.submit({"low": 2, "mid": 3, "high": 4}, proof=True)
        trial.feed(_LOAD_PER_S)
        plan = self._plan()
        self._place(plan)
        first, last = (m.name for m in (trial.lab.machines[0], trial.lab.machines[-1]))
        planned = plan.slots_of(trial.name)
        self._hurt("a worker", lambda: kill_workers(trial.lab, first), planned)
        self._hurt("a supervisor with its workers", lambda: self._lose(last),
                   _without(plan, trial.name, last))  # fmt: skip
        self._hurt("(the supervisor is back, nothing may move)", lambda: self._back(last),
                   _without(plan, trial.name, last))  # fmt: skip
        plan = self._plan()
        self._place(plan)
        planned = plan.slots_of(trial.name)
        self._hurt("Nimbus", lambda: self._restart("nimbus"), planned)
        self._hurt("ZooKeeper", lambda: self._restart("zookeeper"), planned)
        self._hurt("the plan file, in the middle of a write", self._cut_plan_file, planned)
        self._hurt(
            "(the plan file, and a worker of it)", lambda: kill_workers(trial.lab, first), planned
        )
        for moment_s in _KILLED_AFTER_S:
            self._kill_applies(moment_s)
        trial.feed(0.0)
        time.sleep(_DRAINS_S)
        proof = prove(trial.proof, [("mid", "high")])
        say(f"{proof.acked:,} tuples acked, {len(proof.missing)} of them missing")
        return Faults(tuple(self.survived), proof.acked, len(proof.missing))

    def _place(self, plan: Plan) -> None:
        """Until it runs: what is still starting has nothing to lose."""
        self.trial.place(plan)
        self.trial.wait_until_running()

    def _hurt(self, fault: str, hurt: Callable[[], None], *wanted: Places) -> None:
        """Whether the placement is one of those wanted afterwards, and tuples go on being acked."""
        began = time.monotonic()
        hurt()
        acked = self._acked()
        differs = ["nothing was acked"]
        while time.monotonic() < began + _RECOVERS_WITHIN_S:
            time.sleep(1.0)
            self._watch_over_daemons()
            try:
                differs = min((self.trial.differs_from(places) for places in wanted), key=len)
            except (BridgeError, InputError, ValueError) as error:
                differs = [str(error)]
            if not differs and self._acked() >= acked + _ENOUGH:
                break
        seconds = time.monotonic() - began
        if not differs and self._acked() < acked + _ENOUGH:
            differs = ["nothing is acked any more"]
        self.survived.append(Survived(fault, seconds, tuple(differs)))
        say(f"{fault}: {seconds:.0f} s, {'; '.join(differs) or 'as planned'}")

    def _acked(self) -> int:
        return prove(self.trial.proof, []).acked

    def _plan(self, *, narrower: bool = False) -> Plan:
        """For what runs now, with what to do when a machine is lost."""
        snapshot = without_ackers(self.trial.snapshot())
        kinds = [kind.name for kind in snapshot.cluster.types]
        problem = build(snapshot.topologies, snapshot.cluster, _costs(self.trial.shape, kinds))
        result = app.plan(
            problem, "default" if narrower else "penstock", if_lost=len(kinds), same_counts=True
        ).plan
        if result is None or not result.if_lost:
            raise PenstockError("no plan for the lab, or none for a lost machine")
        before = plan_in_force(snapshot, problem.profile)
        return replace(result, deployed=before.deployed)

    def _watch_over_daemons(self) -> None:
        """As systemd does on a cluster: Nimbus ends itself when ZooKeeper is away for too long."""
        daemons = self.trial.lab.daemons
        for daemon in [d for d in daemons.running if d.name not in self.away]:
            if daemon.process.poll() is not None:
                say(f"{daemon.name} has ended and is started again")
                daemons.start_again(daemon.name)

    def _lose(self, machine: str) -> None:
        self.away.add(machine)
        kill_machine(self.trial.lab, machine)

    def _back(self, machine: str) -> None:
        self.trial.lab.daemons.start_again(machine)
        self.away.remove(machine)
        time.sleep(_STAYS_S)

    def _restart(self, name: str) -> None:
        """As whoever watches over daemons does: killed, noticed, started again."""
        kill_daemon(self.trial.lab, name)
        time.sleep(_STAYS_S)
        self.trial.lab.daemons.start_again(name)

    def _cut_plan_file(self) -> None:
        path = plan_file(self.trial.lab)
        text = path.read_text(encoding="utf-8")
        path.write_text(text[: len(text) // 2], encoding="utf-8")
        time.sleep(_STAYS_S)

    def _kill_applies(self, moment_s: float) -> None:
        """Killed in the middle of it, and then run again, to a plan that is not in force yet."""
        (deployed,) = self.trial.snapshot().deployed
        before = dict(deployed.components)
        plans = (self._plan(), self._plan(narrower=True))
        other = next(p for p in plans if differences(p.slots_of(self.trial.name), deployed))
        planned = other.slots_of(self.trial.name)
        apply = _Apply(self.trial, other)
        title = f"penstock apply, {moment_s:g} s after it began"
        # Whichever of the two is in force: half of each would be wrong.
        self._hurt(title, lambda: apply.begin_and_kill(moment_s), before, planned)
        self._hurt("(run again)", apply.run, planned)


class _Apply:
    """``penstock apply`` as a user runs it; its history stays in the lab's folder."""

    def __init__(self, trial: Trial, plan: Plan) -> None:
        folder = trial.lab.folder
        self.receipt = folder / "receipt.json"
        self.receipt.unlink(missing_ok=True)
        save(plan, folder / "other.json")
        self.command = [
            sys.executable, "-m", "penstock", "apply", str(folder / "other.json"), "--yes",
            "--storm-yaml", str(folder / "nimbus" / "storm.yaml"),
            "--receipt", str(self.receipt), "--history", str(folder / "history"),
        ]  # fmt: skip

    def begin_and_kill(self, moment_s: float) -> None:
        silent = subprocess.DEVNULL
        process = subprocess.Popen(self.command, stdout=silent, stderr=silent)
        deadline = time.monotonic() + _RECOVERS_WITHIN_S
        while not self.receipt.exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        time.sleep(moment_s)
        process.kill()
        process.wait()

    def run(self) -> None:
        again = subprocess.run(self.command, capture_output=True, text=True, check=False)
        if again.returncode != 0:
            raise PenstockError(f"penstock apply, run again: {again.stderr.strip()}")


def _without(plan: Plan, topology: str, machine: str) -> Places:
    """The places of a plan when its contingency for a machine is followed."""
    places = {name: list(slots) for name, slots in plan.slots_of(topology).items()}
    contingency = next(c for c in plan.if_lost if c.machine == machine)
    for label, index, target, slot in contingency.moves:
        places[label.rpartition("/")[2]][index] = (target, slot)
    return {name: tuple(slots) for name, slots in places.items()}


def _costs(shape: str, kinds: list[str]) -> Profile:
    """The lab's known costs under the names of the topology's components, alike on all machines."""
    known = load_profile("lab").by_place
    rows = {c.name: c.profile or c.name for c in load_topology(shape).components}
    costs = tuple(
        Cost(name, kind, known[row, _COSTS_ON].e, known[row, _COSTS_ON].met)
        for name, row in rows.items()
        for kind in kinds
    )
    return Profile("lab", costs)

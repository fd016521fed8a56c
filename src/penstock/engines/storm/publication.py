"""What putting a plan in force would do, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.change.diff import Changes, diff
from penstock.change.guard import places_of
from penstock.change.history import BEGUN
from penstock.change.in_force import plan_in_force
from penstock.engines.storm.snapshot import ACKER, without_ackers
from penstock.files.receipt_file import ReceiptFile
from penstock.model.plan import Deployed, Plan
from penstock.model.snapshot import Snapshot

#: From the order to the new assignment, and a worker's start, as measured on a quiet machine.
_ASSIGNS_WITHIN_S = 3.0
_WORKER_STARTS_S = 8.0


@dataclass(frozen=True)
class Step:
    """What one topology goes through."""

    topology: str
    #: Components whose number of executors changes, with the new number.
    executors: Mapping[str, int]
    workers_restarted: int
    #: How many workers it has afterwards.
    workers: int

    @property
    def pauses(self) -> bool:
        return self.workers_restarted > 0 or bool(self.executors)

    def pause_s(self, wait_s: float) -> float:
        """An estimate: how long no new tuples are taken in."""
        return wait_s + _ASSIGNS_WITHIN_S + _WORKER_STARTS_S if self.pauses else 0.0


@dataclass(frozen=True)
class Publication:
    """Everything that putting a plan in force would do."""

    plan: Plan
    before: Plan
    changes: Changes
    steps: tuple[Step, ...]
    #: Every topology that is there, planned or not.
    running: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        return self.changes.any or any(step.pauses for step in self.steps)


@dataclass(frozen=True)
class Receipt:
    """What was done, so far."""

    plan_id: str
    publication: Publication
    began_s: float
    ended_s: float
    plan_file: str
    #: One of :data:`penstock.change.history.OUTCOMES`.
    outcome: str = BEGUN
    placed_after_s: Mapping[str, float] = field(default_factory=dict)
    trouble: tuple[str, ...] = ()
    backup: str = ""

    def to_dict(self) -> dict[str, object]:
        changes = self.publication.changes
        runs = {d.topology: d.id for d in self.publication.before.deployed}
        return {
            **ReceiptFile.FORMAT.head,
            "plan": self.plan_id,
            "engine": "storm",
            "outcome": self.outcome,
            "began_s": self.began_s,
            "ended_s": self.ended_s,
            "plan_file": self.plan_file,
            "backup": self.backup,
            "moves": changes.moves,
            "topologies": [
                {
                    "topology": step.topology,
                    "run": runs[step.topology],
                    "executors": dict(step.executors),
                    "workers_restarted": step.workers_restarted,
                    "workers": step.workers,
                    "placed_after_s": self.placed_after_s.get(step.topology),
                }
                for step in self.publication.steps
            ],
            "changes": changes.to_dict()["components"],
            "trouble": list(self.trouble),
        }


def prepare(plan: Plan, snapshot: Snapshot) -> Publication:
    """What would change; nothing is touched."""
    mine = {t.name for t in plan.problem.topologies}
    kept = [i for i, t in enumerate(snapshot.topologies) if t.name in mine]
    narrowed = replace(
        snapshot,
        topologies=tuple(snapshot.topologies[i] for i in kept),
        deployed=tuple(snapshot.deployed[i] for i in kept),
    )
    if not any(ACKER in t.index for t in plan.problem.topologies):
        narrowed = without_ackers(narrowed)
    before = plan_in_force(narrowed, plan.problem.profile if _covers(plan, narrowed) else None)
    steps = tuple(_step(d.topology, places_of(plan, d.topology), d) for d in narrowed.deployed)
    running = frozenset({t.name for t in snapshot.topologies} | set(snapshot.left_out))
    return Publication(plan, before, diff(before, plan), steps, running)


def _covers(plan: Plan, snapshot: Snapshot) -> bool:
    """Whether the plan's profile knows the machine types that are there now."""
    profile = plan.problem.profile
    rows = set(plan.problem.cost_rows)
    return profile is not None and profile.covers(rows, {t.name for t in snapshot.cluster.types})


def _step(topology: str, planned: Mapping[str, tuple[tuple[str, int], ...]], now: Deployed) -> Step:
    running = {name: places for name, places in now.components if name in planned}
    counts = {
        name: len(places)
        for name, places in planned.items()
        if len(places) != len(running.get(name, ()))
    }
    old, new = _workers(running), _workers(planned)
    return Step(topology, counts, sum(worker not in old for worker in new), len(new))


def _workers(
    components: Mapping[str, tuple[tuple[str, int], ...]],
) -> list[tuple[str, frozenset[tuple[str, int, int]]]]:
    """Machine and executors of every worker; with another count, executors have other tasks."""
    held: dict[tuple[str, int], set[tuple[str, int, int]]] = {}
    for name, places in components.items():
        for number, place in enumerate(places):
            held.setdefault(place, set()).add((name, number, len(places)))
    return [(machine, frozenset(executors)) for (machine, _), executors in held.items()]

"""What putting a plan in force would do: which topologies pause, which workers restart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.change.diff import Changes, diff
from penstock.change.history import TopologyReceipt
from penstock.change.in_force import plan_in_force

if TYPE_CHECKING:
    from penstock.model.plan import Deployed, Places, Plan
    from penstock.model.snapshot import Snapshot


@dataclass(frozen=True)
class PublicationStep:
    """What one topology goes through."""

    topology: str
    #: Components whose number of executors changes, with the new number.
    executors: Mapping[str, int] = field(default_factory=dict)
    workers_restarted: int = 0
    #: How many workers it has afterwards.
    workers: int = 0
    #: From the order until the new workers take tuples in, as the engine is known to need.
    restart_s: float = 0.0

    @property
    def pauses(self) -> bool:
        return self.workers_restarted > 0 or bool(self.executors)

    def pause_s(self, wait_s: float) -> float:
        """An estimate: how long no new tuples are taken in."""
        return wait_s + self.restart_s if self.pauses else 0.0


@dataclass(frozen=True)
class Publication:
    """Everything that putting a plan in force would do."""

    plan: Plan
    #: What ran when this was worked out, and the planned topologies of it as a plan.
    snapshot: Snapshot
    before: Plan
    changes: Changes
    steps: tuple[PublicationStep, ...]
    #: Every topology that is there, planned or not.
    running: frozenset[str] = frozenset()
    #: Topologies whose own plans stay in force beside this one.
    beside: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return self.changes.any or any(step.pauses for step in self.steps)

    def receipts(self, placed_after_s: Mapping[str, float]) -> tuple[TopologyReceipt, ...]:
        """The steps as a receipt has them."""
        runs = {d.topology: d.id for d in self.before.deployed}
        return tuple(
            TopologyReceipt(
                step.topology,
                runs[step.topology],
                step.executors,
                step.workers_restarted,
                step.workers,
                placed_after_s.get(step.topology),
            )
            for step in self.steps
        )


def prepare(
    plan: Plan,
    snapshot: Snapshot,
    *,
    places_itself: Collection[str] = (),
    restart_s: float = 0.0,
) -> Publication:
    """What would change; nothing is touched.

    Components that the engine ``places_itself`` do not count, unless the plan places them.
    """
    mine = {t.name for t in plan.problem.topologies}
    planned = {component.name for component in plan.problem.components}
    now = snapshot.narrowed(mine).without_components(set(places_itself) - planned)
    before = plan_in_force(now, plan.problem.profile if _covers(plan, now) else None)
    steps = tuple(_step(d, plan.slots_of(d.topology), restart_s) for d in now.deployed)
    running = frozenset({t.name for t in snapshot.topologies} | set(snapshot.left_out))
    return Publication(plan, snapshot, before, diff(before, plan), steps, running)


def _covers(plan: Plan, snapshot: Snapshot) -> bool:
    """Whether the plan's profile knows the machine types that are there now."""
    profile = plan.problem.profile
    rows = set(plan.problem.cost_rows)
    return profile is not None and profile.covers(rows, {t.name for t in snapshot.cluster.types})


def _step(now: Deployed, planned: Places, restart_s: float) -> PublicationStep:
    running = {name: places for name, places in now.components if name in planned}
    counts = {
        name: len(places)
        for name, places in planned.items()
        if len(places) != len(running.get(name, ()))
    }
    old, new = _workers(running), _workers(planned)
    restarted = sum(worker not in old for worker in new)
    return PublicationStep(now.topology, counts, restarted, len(new), restart_s)


def _workers(components: Places) -> list[tuple[str, frozenset[tuple[str, int, int]]]]:
    """Machine and executors of every worker; with another count, executors have other tasks."""
    held: dict[tuple[str, int], set[tuple[str, int, int]]] = {}
    for name, places in components.items():
        for number, place in enumerate(places):
            held.setdefault(place, set()).add((name, number, len(places)))
    return [(machine, frozenset(executors)) for (machine, _), executors in held.items()]

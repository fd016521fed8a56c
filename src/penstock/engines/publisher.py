"""Puts a plan in force, reads the placement back until it is the plan's, and else goes back.

What is the same for every engine: the receipt that is kept before anything is touched, the orders,
the wait with a deadline, and the way back, which is the placement from before put in force as a
plan of its own. What only the engine knows is a :class:`PlanWriter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from penstock.change.guard import differences
from penstock.change.history import APPLIED, NOT_ROLLED_BACK, ROLLED_BACK, Receipt
from penstock.engines.base import PublishOrder
from penstock.engines.publication import Publication, PublicationStep
from penstock.errors import InputError, PenstockError
from penstock.model.plan import Places, Plan
from penstock.model.snapshot import Snapshot

_LOOK_EVERY_S = 1.0
#: Going back is given this long at least, however impatient the going forth was.
_GOES_BACK_WITHIN_S = 60.0
#: Differences that are listed of one topology.
_SHOWN = 3


class NotFollowed(PenstockError):
    """The engine did not come to the plan's placement; the one from before is in force, or not."""


class EngineAway(PenstockError):
    """The engine cannot be asked for the moment; another try may succeed."""


@dataclass(frozen=True)
class PlanRecord:
    """What a receipt says of the plan that was written."""

    plan_id: str
    plan_file: str = ""
    backup: str = ""


class PlanWriter(Protocol):
    """What only the engine knows about putting a plan in force."""

    #: The engine's name.
    name: ClassVar[str]

    def settle(self, publication: Publication) -> None:
        """Wait until the topologies that will pause can be moved."""
        ...

    def begin(self, publication: Publication) -> PlanRecord:
        """Note what is in force now, so that it can be put back; nothing is ordered yet."""
        ...

    def write(self, plan: Plan) -> list[str]:
        """Write the plan where the engine and its workers read it. What went wrong, or nothing."""
        ...

    def move(self, step: PublicationStep, deadline: float) -> str:
        """Order one topology to take up what was written. Why it was refused, or nothing."""
        ...

    def snapshot(self, topologies: Mapping[str, Places]) -> Snapshot:
        """What runs now of these topologies; :class:`EngineAway` where it cannot be asked."""
        ...

    def restore(self, publication: Publication, *, settled: bool) -> list[str]:
        """Put back what was written before, once the placement is the old one again.

        Where it is not (``settled`` is false), what was written for going back stays.
        """
        ...


@dataclass(frozen=True)
class Publisher:
    """Carries out a publication through an engine's writer; clock and waiting are arguments."""

    writer: PlanWriter
    order: PublishOrder

    def publish(self, publication: Publication) -> Receipt:
        """The plan in force, or an error that says what is in force instead."""
        clock, keep = self.order.clock, self.order.keep
        self.writer.settle(publication)
        record = self.writer.begin(publication)
        receipt = Receipt(
            plan_id=record.plan_id,
            plan=publication.plan,
            engine=self.writer.name,
            began_s=clock(),
            ended_s=clock(),
            steps=publication.receipts({}),
            changes=tuple(c for c in publication.changes.components if c.is_change),
            plan_file=record.plan_file,
            backup=record.backup,
        )
        # Before anything is touched: who is killed from here on leaves a trace of what was meant.
        keep(receipt)
        placed, trouble = self._put_in_force(
            publication.plan, publication.steps, self.order.within_s
        )
        if not trouble:
            steps = publication.receipts(placed)
            applied = replace(receipt, outcome=APPLIED, ended_s=clock(), steps=steps)
            keep(applied)
            return applied
        self.order.say(
            f"{self.writer.name} does not follow the plan; rolling back to the previous placement"
        )
        trouble_back = self._go_back(publication)
        outcome = NOT_ROLLED_BACK if trouble_back else ROLLED_BACK
        trouble = [*trouble, *trouble_back]
        keep(replace(receipt, outcome=outcome, ended_s=clock(), trouble=tuple(trouble)))
        raise NotFollowed(*trouble, f"{outcome}; see the receipt")

    def _put_in_force(
        self, plan: Plan, steps: tuple[PublicationStep, ...], within_s: float
    ) -> tuple[dict[str, float], list[str]]:
        """Seconds until each topology was placed, and what is not as planned in the end."""
        if trouble := self.writer.write(plan):
            return {}, trouble
        began = self.order.clock()
        for step in steps:
            if not step.pauses:
                continue
            self.order.say(f"rebalancing {step.topology}: {step.workers_restarted} workers restart")
            if refusal := self.writer.move(step, began + within_s):
                return {}, [refusal]
        return self._wait(plan, began, within_s)

    def _wait(
        self, plan: Plan, began: float, within_s: float
    ) -> tuple[dict[str, float], list[str]]:
        planned = {t.name: plan.slots_of(t.name) for t in plan.problem.topologies}
        placed: dict[str, float] = {}
        trouble: list[str] = []
        while len(placed) < len(planned):
            try:
                snapshot = self.writer.snapshot(planned)
            except (EngineAway, InputError) as error:
                # It may be away for a moment, or between two placements; the deadline decides.
                trouble = [str(error)]
            else:
                trouble = _compare(snapshot, planned, placed, self.order.clock() - began)
            if not trouble:
                break
            if self.order.clock() - began > within_s:
                return placed, trouble
            self.order.sleep(_LOOK_EVERY_S)
        return placed, []

    def _go_back(self, publication: Publication) -> list[str]:
        """The placement from before, exactly; then what was written before."""
        before = publication.before
        steps = tuple(_step_back(step, before) for step in publication.steps)
        within_s = max(self.order.within_s, _GOES_BACK_WITHIN_S)
        _, trouble = self._put_in_force(before, steps, within_s)
        return [*trouble, *self.writer.restore(publication, settled=not trouble)]


def _compare(
    snapshot: Snapshot, planned: Mapping[str, Places], placed: dict[str, float], now_s: float
) -> list[str]:
    running = {d.topology: d for d in snapshot.deployed}
    trouble = []
    for name, places in planned.items():
        if name not in running:
            why = snapshot.left_out.get(name, "does not run any more")
            trouble.append(f"{name} {why}")
            continue
        differs = differences(places, running[name])
        if not differs:
            placed.setdefault(name, round(now_s, 3))
            continue
        more = f" and {len(differs) - _SHOWN} more" if len(differs) > _SHOWN else ""
        status = snapshot.statuses.get(name) or "the scheduler says nothing"
        trouble.append(f"{name}: {', '.join(differs[:_SHOWN])}{more}; {status}")
    return trouble


def _step_back(step: PublicationStep, before: Plan) -> PublicationStep:
    places = before.slots_of(step.topology)
    return replace(
        step,
        executors={name: len(places[name]) for name in step.executors},
        workers_restarted=1,
        workers=len({place for instances in places.values() for place in instances}),
    )

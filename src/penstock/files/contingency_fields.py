"""The part of a plan file that says what to do when a machine is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from penstock.errors import Finding
from penstock.files.document import ParsedFile, Place
from penstock.files.schema import Strict, no_such
from penstock.model.plan import Contingency
from penstock.model.problem import Problem

Slot = Annotated[int, Field(ge=0, lt=10_000)]
_Index = Annotated[int, Field(ge=0)]


class MoveFields(Strict):
    component: str
    instance: _Index
    machine: str
    slot: Slot = 0


class AddedFields(Strict):
    component: str
    machine: str
    slot: Slot = 0


class DroppedFields(Strict):
    component: str
    instance: _Index


class SharesFields(Strict):
    component: str
    of: list[Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]] = Field(
        description="Of the instances that are left, by number, then of those that start."
    )


class ContingencyFields(Strict):
    """What to do when a machine is lost, and what the plan still carries then."""

    machine: str
    moves: list[MoveFields]
    added: list[AddedFields] = Field(default_factory=list)
    dropped: list[DroppedFields] = Field(
        default_factory=list, description="Instances that end: the others take their tuples."
    )
    shares: list[SharesFields] = Field(
        default_factory=list, description="Shares that change; those of other components stay."
    )
    rate_left_per_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    def value(self) -> Contingency:
        return Contingency(
            self.machine,
            tuple((m.component, m.instance, m.machine, m.slot) for m in self.moves),
            self.rate_left_per_s,
            tuple((a.component, a.machine, a.slot) for a in self.added),
            tuple((d.component, d.instance) for d in self.dropped),
            tuple((s.component, tuple(s.of)) for s in self.shares),
        )


def contingency_dict(contingency: Contingency) -> dict[str, object]:
    fields: dict[str, object] = {
        "machine": contingency.machine,
        "moves": [
            {"component": component, "instance": index, "machine": machine, "slot": slot}
            for component, index, machine, slot in contingency.moves
        ],
        "added": [
            {"component": component, "machine": machine, "slot": slot}
            for component, machine, slot in contingency.added
        ],
        "dropped": [
            {"component": component, "instance": index} for component, index in contingency.dropped
        ],
    }
    if contingency.shares:
        fields["shares"] = [
            {"component": component, "of": list(shares)} for component, shares in contingency.shares
        ]
    return {**fields, "rate_left_per_s": contingency.rate_left_per_s}


def contingency_findings(
    document: ParsedFile, at: Place, lost: ContingencyFields, problem: Problem
) -> Iterator[Finding]:
    """Names that the problem does not have."""
    machines = problem.cluster.machine_index
    places: list[tuple[Place, str]] = [((*at, "machine"), lost.machine)]
    names: list[tuple[Place, str]] = []
    for j, move in enumerate(lost.moves):
        places.append(((*at, "moves", j, "machine"), move.machine))
        names.append(((*at, "moves", j, "component"), move.component))
    for j, added in enumerate(lost.added):
        places.append(((*at, "added", j, "machine"), added.machine))
        names.append(((*at, "added", j, "component"), added.component))
    for j, dropped in enumerate(lost.dropped):
        names.append(((*at, "dropped", j, "component"), dropped.component))
    for j, shares in enumerate(lost.shares):
        names.append(((*at, "shares", j, "component"), shares.component))
    for place, name in places:
        if name not in machines:
            yield document.finding(place, no_such("machine", name, machines))
    for place, name in names:
        if name not in problem.labels:
            yield document.finding(place, no_such("component", name, problem.labels))

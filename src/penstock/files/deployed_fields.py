"""The part of a plan file that says what ran when the plan was made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from penstock.errors import Finding
from penstock.files.contingency_fields import Slot
from penstock.files.document import LONGEST_NAME, ParsedFile, Place
from penstock.files.schema import Name, Strict, no_such
from penstock.model.plan import Deployed
from penstock.model.problem import Problem


class WhereFields(Strict):
    machine: str
    slot: Slot = 0


class DeployedFields(Strict):
    """A topology as it ran when the plan was made."""

    topology: Name
    id: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] = Field(
        description="The engine's name for this very submission."
    )
    components: dict[Name, list[WhereFields]]

    def value(self) -> Deployed:
        return Deployed(
            self.topology,
            self.id,
            tuple(
                (name, tuple((place.machine, place.slot) for place in places))
                for name, places in self.components.items()
            ),
        )


def deployed_dict(deployed: Deployed) -> dict[str, object]:
    return {
        "topology": deployed.topology,
        "id": deployed.id,
        "components": {
            name: [{"machine": machine, "slot": slot} for machine, slot in places]
            for name, places in deployed.components
        },
    }


def deployed_findings(
    document: ParsedFile, at: Place, deployed: DeployedFields, problem: Problem
) -> Iterator[Finding]:
    """Names that the problem does not have."""
    known = {t.name: t for t in problem.topologies}
    if deployed.topology not in known:
        message = no_such("topology", deployed.topology, known)
        yield document.finding((*at, "topology"), message)
        return
    machines, names = problem.cluster.machine_index, known[deployed.topology].index
    for component, places in deployed.components.items():
        where: Place = (*at, "components", component)
        if component not in names:
            yield document.finding(where, no_such("component", component, names))
        for j, place in enumerate(places):
            if place.machine not in machines:
                message = no_such("machine", place.machine, machines)
                yield document.finding((*where, j, "machine"), message)

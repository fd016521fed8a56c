"""The terms format: what a plan has to keep to, and what it is to save on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import InputError
from penstock.files.document import ParsedFile
from penstock.files.schema import (
    Count,
    FileModel,
    Fraction,
    Name,
    Positive,
    Strict,
    Version,
    check_file,
)
from penstock.files.topology_file import given
from penstock.model.terms import Held, Least, Terms


class HeldFields(Strict):
    """So many instances of a component on one machine."""

    component: str = Field(description='Its name; with several topologies "topology/component".')
    machine: Name
    instances: Count = 1


class TermsFile(FileModel):
    """What a plan has to keep to besides carrying tuples. Everything is optional."""

    format: Literal["penstock/terms"]
    version: Version[Literal[1]]
    carry_per_s: Positive | None = Field(
        None, description="Tuples/s to carry, all topologies together, in place of the most."
    )
    least: list[Annotated[Least, Field(strict=False)]] = Field(
        default_factory=list, description="Save on these after the rate, the first one first."
    )
    give_up: Fraction = Field(
        Terms().give_up, description="Part of the highest rate that savings may cost."
    )
    latency_ms: dict[Name, Positive] = Field(
        default_factory=dict, description="Longest mean time from spout to sink, by topology."
    )
    avoid: list[Name] = Field(default_factory=list, description="Machines not to be used.")
    apart: list[Annotated[list[str], Field(min_length=1, max_length=2)]] = Field(
        default_factory=list,
        description="Components that must not share a machine; one alone: at most one on each.",
    )
    fixed: list[HeldFields] = Field(default_factory=list)
    current: list[HeldFields] = Field(
        default_factory=list, description="Where instances run now; usually from --current."
    )
    most_moves: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Instances that may be moved, added or dropped."
    )
    weights: dict[Name, Positive] = Field(
        default_factory=dict, description="Part of its demand that each topology gets; else 1."
    )


def terms_from(document: ParsedFile) -> Terms:
    """The terms in a document; names are checked when they meet a problem."""
    document, file, findings = check_file(document, TermsFile)
    if file is None:
        raise InputError(*findings)
    return Terms(
        carry_per_s=file.carry_per_s,
        least=tuple(file.least),
        give_up=file.give_up,
        latency_ms=tuple(file.latency_ms.items()),
        avoid=tuple(file.avoid),
        apart=tuple((pair[0], pair[-1]) for pair in file.apart),
        fixed=tuple(Held(h.component, h.machine, h.instances) for h in file.fixed),
        current=tuple(Held(h.component, h.machine, h.instances) for h in file.current),
        most_moves=file.most_moves,
        weights=tuple(file.weights.items()),
    )


def terms_to_dict(terms: Terms) -> dict[str, object]:
    """The terms as their file says them."""

    def held(one: Held) -> dict[str, object]:
        return {
            "component": one.component, "machine": one.machine, "instances": one.instances,
        }  # fmt: skip

    return TermsFile.FORMAT.head | given(
        {
            "carry_per_s": terms.carry_per_s,
            "least": [what.value for what in terms.least] or None,
            "give_up": terms.give_up,
            "latency_ms": dict(terms.latency_ms) or None,
            "avoid": list(terms.avoid) or None,
            "apart": [list(dict.fromkeys(pair)) for pair in terms.apart] or None,
            "fixed": [held(one) for one in terms.fixed] or None,
            "current": [held(one) for one in terms.current] or None,
            "most_moves": terms.most_moves,
            "weights": dict(terms.weights) or None,
        }
    )

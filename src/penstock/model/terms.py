"""What a plan has to keep to besides carrying tuples, and what it is to save on after that.

Terms are part of the problem: every scheduler's plan is judged by them
(:mod:`penstock.evaluate.terms`), ``penstock`` also plans by them. Components go by their label
("count", with several topologies "t1/count"), machines by their name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.errors import Finding, InputError, UnknownNameError

if TYPE_CHECKING:
    from penstock.model.problem import Problem


#: More instances on one machine than this nobody means.
_MOST_FIXED = 10_000


class Least(StrEnum):
    """What a plan is to use little of, once its rate is settled."""

    MACHINES = "machines"
    PRICE = "price"
    ENERGY = "energy"
    TRAFFIC = "traffic"


#: Whoever saves on these switches off, or hands back, the machines on which nothing runs.
_SAVED_BY_IDLE_MACHINES = frozenset({Least.MACHINES, Least.PRICE, Least.ENERGY})


@dataclass(frozen=True, slots=True)
class Held:
    """So many instances of a component on one machine."""

    component: str
    machine: str
    instances: int = 1


@dataclass(frozen=True, slots=True)
class Terms:
    """All of them optional; without any, a plan carries as much as it can."""

    #: Carry so many tuples/s, all topologies together, and not as many as possible.
    carry_per_s: float | None = None
    #: Ordered goals after the rate, the most important first.
    least: tuple[Least, ...] = ()
    #: The part of the highest rate that those goals may cost, where no rate is asked for.
    give_up: float = 0.01
    #: Longest mean time from spout to sink by topology, in milliseconds, at the plan's rate.
    latency_ms: tuple[tuple[str, float], ...] = ()
    avoid: tuple[str, ...] = ()
    #: Components that must not share a machine; one with itself: at most one instance on each.
    apart: tuple[tuple[str, str], ...] = ()
    fixed: tuple[Held, ...] = ()
    #: Where instances run now; at most so many of them may be moved, added or dropped.
    current: tuple[Held, ...] = ()
    most_moves: int | None = None
    #: Part of its demand that each topology is to get; 1 where it is not named.
    weights: tuple[tuple[str, float], ...] = ()

    @property
    def bare(self) -> Terms:
        """Those that a search for throughput looks at itself: they change patterns and rates."""
        return Terms(apart=self.apart, weights=self.weights)

    @property
    def binds(self) -> bool:
        """Whether there is anything to keep to; weights only change what is asked."""
        return not replace(self, weights=()).is_empty

    @property
    def leaves_idle_off(self) -> bool:
        """Whether machines on which nothing runs are off, so that nothing can move there."""
        return not _SAVED_BY_IDLE_MACHINES.isdisjoint(self.least)

    @property
    def is_empty(self) -> bool:
        return replace(self, give_up=Terms().give_up) == Terms()


def check_terms(problem: Problem) -> None:
    """An error with every name that does not exist and every number that makes no sense."""
    terms = problem.terms
    findings = [*_name_findings(problem), *_number_findings(terms)]
    if set(terms.avoid) >= set(problem.cluster.machine_index):
        findings.append(Finding("leaves no machines", field="avoid"))
    if findings:
        raise InputError(*findings)
    if replace(terms, avoid=()).is_empty or problem.has_rates:
        return
    raise InputError("without a profile, by requests, terms can only say which machines to avoid")


def _name_findings(problem: Problem) -> list[Finding]:
    terms = problem.terms
    components = [(name, "apart") for pair in terms.apart for name in pair]
    components += [(held.component, "fixed") for held in terms.fixed]
    machines = [(name, "avoid") for name in terms.avoid]
    machines += [(held.machine, "fixed") for held in terms.fixed]
    topologies = [(name, "latency_ms") for name, _ in terms.latency_ms]
    topologies += [(name, "weights") for name, _ in terms.weights]
    known: list[tuple[str, list[tuple[str, str]], Collection[str]]] = [
        ("component", components, problem.labels),
        ("machine", machines, problem.cluster.machine_index),
        ("topology", topologies, [t.name for t in problem.topologies]),
    ]
    findings = []
    for what, named, names in known:
        for name, where in dict.fromkeys(named):
            if name not in names:
                message = UnknownNameError(what, name, sorted(names)).findings[0].message
                findings.append(Finding(message, field=where))
    for held in terms.fixed:
        if held.machine in terms.avoid:
            findings.append(Finding(f'"{held.machine}" is to be avoided as well', field="fixed"))
    return findings


def _number_findings(terms: Terms) -> list[Finding]:
    wrong: list[tuple[str, object]] = []
    if terms.carry_per_s is not None and not 0 < terms.carry_per_s < float("inf"):
        wrong.append(("carry_per_s", terms.carry_per_s))
    wrong += [("weights", weight) for _, weight in terms.weights if not 0 < weight < float("inf")]
    wrong += [("latency_ms", ms) for _, ms in terms.latency_ms if not 0 < ms < float("inf")]
    wrong += [("instances", held.instances) for held in terms.fixed if held.instances < 1]
    too_many = [held for held in terms.fixed if held.instances > _MOST_FIXED]
    findings = []
    if too_many:
        findings.append(Finding(f"at most {_MOST_FIXED:,} on a machine", field="fixed"))
    findings += [Finding(f"must be positive, not {value}", field=name) for name, value in wrong]
    if not 0 <= terms.give_up < 1:
        findings.append(Finding(f"must be at least 0 and below 1, not {terms.give_up}", "", None,
                             "give_up"))  # fmt: skip
    if terms.most_moves is not None and terms.most_moves < 0:
        message = f"must not be negative, not {terms.most_moves}"
        findings.append(Finding(message, field="most_moves"))
    if terms.most_moves is not None and not terms.current:
        findings.append(Finding("needs the plan in force (--current)", field="most_moves"))
    return findings


def held_by(problem: Problem, component: Sequence[int], machine: Sequence[int]) -> tuple[Held, ...]:
    """Instances by index as what each machine holds, in order of component and machine."""
    number: dict[tuple[int, int], int] = {}
    for pair in zip(component, machine, strict=True):
        number[pair] = number.get(pair, 0) + 1
    names = problem.cluster.machines
    return tuple(
        Held(problem.labels[c], names[m].name, count) for (c, m), count in sorted(number.items())
    )

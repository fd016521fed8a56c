"""Options of ``penstock plan`` that say what to keep to, and how they become terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli.values import fraction_of, listed
from penstock.errors import Finding, InputError, UsageError, close_match
from penstock.model.terms import Held, Least, Terms, held_by

if TYPE_CHECKING:
    from penstock.model.plan import Plan
    from penstock.model.problem import Problem

TermsFile = Annotated[
    Path | None, typer.Option("--terms", help="File with terms; the options below add to it.")
]
Carry = Annotated[
    float | None,
    typer.Option(
        "--carry",
        help="Rate to carry in tuples/s, all topologies together. Default: the highest possible.",
    ),
]
Minimize = Annotated[
    list[str] | None,
    typer.Option(
        "--minimize",
        help="What to minimize: machines, price, energy or traffic; the most important first.",
    ),
]
GiveUp = Annotated[
    float | None,
    typer.Option(
        "--give-up",
        parser=fraction_of("--give-up"),
        metavar="<fraction>",
        help="Fraction of the highest rate that savings may cost. Default: 1% (or 0.01).",
    ),
]
Latency = Annotated[
    list[str] | None,
    typer.Option("--latency", help="Highest acceptable mean latency in ms: 50, or topology=50."),
]
Avoid = Annotated[
    list[str] | None, typer.Option("--avoid", help="Machines not to use: arm-1 or arm-1,arm-2.")
]
Apart = Annotated[
    list[str] | None,
    typer.Option(
        "--apart",
        help="Components that must not share a machine: a,b. One alone: its instances are "
        "kept apart.",
    ),
]
Fix = Annotated[
    list[str] | None,
    typer.Option("--fix", help="Instances that must be on a machine: component=machine[:number]."),
]
MostMoves = Annotated[
    int | None,
    typer.Option("--max-moves", help="Change at most this many instances of --current.", min=0),
]


@dataclass(frozen=True)
class Given:
    """The options as they were typed."""

    file: Path | None = None
    carry: float | None = None
    minimize: list[str] | None = None
    give_up: float | None = None
    latency: list[str] | None = None
    avoid: list[str] | None = None
    apart: list[str] | None = None
    fix: list[str] | None = None
    most_moves: int | None = None


def with_terms(problem: Problem, given: Given, current: Plan | None) -> Problem:
    """The problem under the terms of the file and the options together."""
    # A running cluster's problem comes with the machines that are not to be used.
    terms = _from_file(given.file) if given.file else Terms()
    terms = replace(terms, avoid=(*problem.terms.avoid, *terms.avoid))
    if current is not None and (problem.has_rates or given.most_moves is not None):
        terms = replace(terms, current=_in_force(current, problem))
    if given.carry is not None:
        terms = replace(terms, carry_per_s=given.carry)
    if given.give_up is not None:
        terms = replace(terms, give_up=given.give_up)
    if given.most_moves is not None:
        terms = replace(terms, most_moves=given.most_moves)
    terms = replace(
        terms,
        least=(*terms.least, *(_least(name) for name in listed(given.minimize))),
        latency_ms=_tightest((*terms.latency_ms, *_latencies(problem, listed(given.latency)))),
        avoid=(*terms.avoid, *listed(given.avoid)),
        apart=(*terms.apart, *(_pair(text) for text in given.apart or [])),
        fixed=(*terms.fixed, *(_held(text) for text in listed(given.fix))),
    )
    return problem if terms == Terms() else problem.with_terms(terms)


def _in_force(plan: Plan, problem: Problem) -> tuple[Held, ...]:
    """What runs where, by the labels of the problem: with several topologies they are longer."""
    placement, then = plan.placement, plan.problem
    names = [
        (then.topologies[t].name, component.name)
        for t, component in zip(then.topology_of.tolist(), then.components, strict=True)
    ]
    labels = {
        (problem.topologies[t].name, component.name): label
        for t, component, label in zip(
            problem.topology_of.tolist(), problem.components, problem.labels, strict=True
        )
    }
    held = held_by(then, placement.component.tolist(), placement.machine.tolist())
    by_label = dict(zip(then.labels, names, strict=True))
    return tuple(
        replace(one, component=labels.get(by_label[one.component], one.component)) for one in held
    )


def _from_file(path: Path) -> Terms:
    loaded = app.load(path)
    if not isinstance(loaded, Terms):
        raise InputError(Finding(f"is a {type(loaded).__name__.lower()}, not terms", str(path)))
    return loaded


def _least(name: str) -> Least:
    names = [what.value for what in Least]
    if name not in names:
        close = close_match(name, names)
        hint = f'; did you mean "{close}"?' if close else ""
        raise UsageError(f'--minimize takes {", ".join(names)}, not "{name}"{hint}')
    return Least(name)


def _latencies(problem: Problem, texts: list[str]) -> list[tuple[str, float]]:
    limits = []
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            limit = float(value)
        except ValueError:
            raise UsageError(f'--latency takes 50 or topology=50, not "{text}"') from None
        named = [name] if equals else [t.name for t in problem.topologies]
        limits += [(topology, limit) for topology in named]
    return limits


def _tightest(limits: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """One limit for each topology: the lower, where there are two."""
    tightest: dict[str, float] = {}
    for name, limit in limits:
        tightest[name] = min(limit, tightest.get(name, limit))
    return tuple(tightest.items())


def _pair(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(parts):
        raise UsageError(f'--apart takes one component or two, as in a,b, not "{text}"')
    return parts[0], parts[-1]


def _held(text: str) -> Held:
    component, equals, place = text.partition("=")
    machine, colon, number = place.rpartition(":")
    if not colon or not number.isdigit():
        machine, number = place, "1"
    if not (equals and component and machine):
        raise UsageError(f'--fix takes component=machine or component=machine:2, not "{text}"')
    return Held(component, machine, int(number))

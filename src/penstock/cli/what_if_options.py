"""Options of ``penstock plan`` that assume other machines or demands than the files say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.values import listed
from penstock.errors import Finding, InputError
from penstock.planning.numbers import percent, rate
from penstock.planning.what_if import DemandChange, WhatIf

if TYPE_CHECKING:
    from penstock.model.plan import Plan

Add = Annotated[
    list[str] | None,
    typer.Option("--add", help="Plan as if there were more machines of a type: epyc-2021=3."),
]
Remove = Annotated[
    list[str] | None,
    typer.Option("--remove", help="Plan as if machines were gone: arm-1, or arm-2023=2 of a type."),
]
Demand = Annotated[
    list[str] | None,
    typer.Option(
        "--demand", help="Plan as if demand were different: x2, clicks=20000 or clicks=x1.5."
    ),
]


def parse(add: list[str] | None, remove: list[str] | None, demand: list[str] | None) -> WhatIf:
    """The options as typed, or an error with everything that cannot be read."""
    findings: list[Finding] = []
    removed = listed(remove)
    parsed = WhatIf(
        add=tuple(_type_and_number(text, "--add", findings) for text in listed(add)),
        remove=tuple(text for text in removed if "=" not in text),
        remove_of_type=tuple(
            _type_and_number(text, "--remove", findings) for text in removed if "=" in text
        ),
        demand=tuple(_demand(text, findings) for text in listed(demand)),
    )
    if findings:
        raise InputError(*findings)
    return parsed


def _type_and_number(text: str, option: str, findings: list[Finding]) -> tuple[str, int]:
    """``epyc-2021=3``; without a number, one."""
    kind, equals, number = text.rpartition("=")
    if not equals:
        return text, 1
    if not (kind and number.isdecimal()):
        findings.append(
            Finding(f'takes type=number, as in epyc-2021=3, not "{text}"', field=option)
        )
        return kind, 1
    return kind, int(number)


def _demand(text: str, findings: list[Finding]) -> DemandChange:
    name, _, value = text.rpartition("=")
    is_factor = value[:1] in ("x", "×")
    try:
        number = float(value[1:] if is_factor else value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        message = f'takes x2, topology=20000 or topology=x1.5, not "{text}"'
        findings.append(Finding(message, field="--demand"))
    return DemandChange(name, number if is_factor else None, None if is_factor else number)


def difference(plan: Plan, plan_without: Callable[[], Plan | None]) -> str:
    """The plan beside the one without the change, in a line."""
    try:
        without = plan_without()
    except InputError as error:
        return f"without the change these terms make no sense: {error}"
    if without is None:
        return "without the change there is no plan"
    used, before = len(plan.placement.machines_used), len(without.placement.machines_used)
    then, now = _total(without), _total(plan)
    if not then or not now:
        return f"without the change: {before} machines in use instead of {used}"
    change = now / then - 1
    gain = (
        "the same" if abs(change) < 1e-9 else f"{'+' if change > 0 else '-'}{percent(abs(change))}"
    )
    return (
        f"without the change: {rate(then)} tuples/s on {before} machines; "
        f"with it: {rate(now)} on {used} ({gain})"
    )


def _total(plan: Plan) -> float:
    return sum(value for _, value in plan.predicted.rate_per_s)

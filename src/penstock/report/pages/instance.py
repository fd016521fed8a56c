"""The reasons for one instance's place, in words and as facts."""

from __future__ import annotations

from collections import Counter

from penstock.files.answer_formats import answer_head
from penstock.planning.alternatives import Alternative, Explanation
from penstock.planning.numbers import percent, plain, points
from penstock.report.page import (
    Block,
    Column,
    Document,
    Section,
    Table,
    paragraph,
    table_of,
)

_MOST_LISTED = 25


def instance_page(explanation: Explanation, name: str, *, all_machines: bool) -> Document:
    """Where it is, what it costs there and elsewhere, who could not take it, who could."""
    in_order = _ordered(explanation.alternatives)
    listed = in_order if all_machines else in_order[:_MOST_LISTED]
    hidden = len(in_order) - len(listed)
    more = [paragraph(f"… and {hidden} more machines (--all-machines lists all)")]
    blocks: list[Block] = [
        *map(paragraph, [*_costs(explanation), *_summary(explanation)]),
        _table(explanation, listed),
        *(more if hidden else []),
    ]
    return Document(_headline(explanation, name), (Section("", tuple(blocks)),))


def _headline(explanation: Explanation, name: str) -> str:
    home = explanation.problem.cluster.machines[
        int(explanation.placement.machine[explanation.instance])
    ]
    slot = int(explanation.placement.slot[explanation.instance])
    return f"{name} runs on {home.name} ({home.type}, {home.rack}), slot {slot}"


def _costs(explanation: Explanation) -> list[str]:
    kinds = explanation.problem.cluster.types
    used = explanation.problem.cluster.machines_per_type
    costs = [
        (float(cpu), kind.name)
        for cpu, kind, count in zip(explanation.cpu_on_type, kinds, used, strict=True)
        if count
    ]
    if len(costs) == 1:
        return [f"it uses {points(costs[0][0])} CPU points"]
    words = ", ".join(f"{points(cpu)} on {kind}" for cpu, kind in sorted(costs))
    return [f"CPU points it uses at this rate: {words}"]


def _summary(explanation: Explanation) -> list[str]:
    lacking = [a for a in explanation.alternatives if a.lacks is not None]
    able = len(explanation.alternatives) - len(lacking)
    reasons = Counter(a.lacks.resource for a in lacking if a.lacks is not None)
    words = ", ".join(f"{count} for lack of {what}" for what, count in reasons.most_common())
    line = f"of {len(explanation.alternatives)} other machines {len(lacking)} could not take it"
    lines = [f"{line} ({words})" if words else line]
    scored = [a for a in explanation.alternatives if a.scale is not None and a.lacks is None]
    if scored and explanation.scale:
        best = max(scored, key=lambda a: a.scale or 0.0)
        change = (best.scale or 0.0) / explanation.scale - 1
        where = explanation.problem.cluster.machines[best.machine].name
        verb = "would gain" if change > 1e-9 else "would lose" if change < -1e-9 else "changes"
        amount = percent(abs(change), 2) if abs(change) > 1e-9 else "nothing"
        lines.append(f"{able} could; the best of them, {where}, {verb} {amount} of the rate")
    return lines


def _ordered(alternatives: tuple[Alternative, ...]) -> list[Alternative]:
    """Those that could take it first; within, those that would carry most."""

    def key(a: Alternative) -> tuple[bool, float, int]:
        return (a.lacks is not None, -(a.scale or 0.0), a.machine)

    return sorted(alternatives, key=key)


def _table(explanation: Explanation, listed: list[Alternative]) -> Table:
    machines = explanation.problem.cluster.machines
    demand = float(explanation.problem.demand.sum())

    def rate_if_moved(one: Alternative) -> float | None:
        return None if one.scale is None else one.scale * demand

    return table_of(
        listed,
        (Column("machine"), lambda one: machines[one.machine].name),
        (Column("type"), lambda one: machines[one.machine].type),
        (Column("rack"), lambda one: machines[one.machine].rack),
        (Column("verdict"), _verdict),
        (Column("rate if moved", "tuples/s"), rate_if_moved),
        (
            Column("remote hops", "%"),
            lambda one: None if one.remote is None else 100 * one.remote,
        ),
    )


def _verdict(alternative: Alternative) -> str:
    lacks = alternative.lacks
    if lacks is None:
        return "could take it"
    short = plain(lacks.needed - lacks.available)
    return f"{short} {lacks.resource} short ({plain(lacks.available)} free)"


def instance_dict(explanation: Explanation, name: str) -> dict[str, object]:
    """The same as facts."""
    machines = explanation.problem.cluster.machines
    kinds = explanation.problem.cluster.types
    return {
        **answer_head("explanation"),
        "instance": name,
        "machine": machines[int(explanation.placement.machine[explanation.instance])].name,
        "slot": int(explanation.placement.slot[explanation.instance]),
        "cpu_points_on_type": {
            kind.name: float(cpu)
            for kind, cpu, count in zip(
                kinds,
                explanation.cpu_on_type,
                explanation.problem.cluster.machines_per_type,
                strict=True,
            )
            if count
        },
        "scale": explanation.scale,
        "remote": explanation.remote,
        "alternatives": [
            {
                "machine": machines[a.machine].name,
                "lacks": None
                if a.lacks is None
                else {
                    "resource": a.lacks.resource,
                    "needed": a.lacks.needed,
                    "available": a.lacks.available,
                },
                "scale": a.scale,
                "remote": a.remote,
            }
            for a in explanation.alternatives
        ],
    }

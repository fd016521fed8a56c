"""The reasons for one instance's place, in words and as facts."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.files.answer_formats import answer_head
from penstock.planning.alternatives import Alternative, Explanation
from penstock.planning.numbers import UNKNOWN, percent, plain, points, rate

_MOST_LISTED = 25


def explanation_view(found: Explanation, name: str, *, all_machines: bool) -> RenderableType:
    """Where it is, what it costs there and elsewhere, who could not take it, who could."""
    lines = [Text(_headline(found, name), style="bold"), *map(Text, _costs(found))]
    lines += [Text(line) for line in _summary(found)]
    shown = _ordered(found.alternatives)
    if not all_machines:
        shown = shown[:_MOST_LISTED]
    hidden = len(found.alternatives) - len(shown)
    more = [Text(f"and {hidden} more machines (--all-machines lists all)")] if hidden else []
    return Group(*lines, _table(found, shown), *more)


def _headline(found: Explanation, name: str) -> str:
    home = found.problem.cluster.machines[int(found.placement.machine[found.instance])]
    slot = int(found.placement.slot[found.instance])
    return f"{name} runs on {home.name} ({home.type}, {home.rack}), slot {slot}"


def _costs(found: Explanation) -> list[str]:
    kinds = found.problem.cluster.types
    used = found.problem.cluster.machines_per_type
    costs = [
        (float(cpu), kind.name)
        for cpu, kind, count in zip(found.cpu_on_type, kinds, used, strict=True)
        if count
    ]
    if len(costs) == 1:
        return [f"it uses {points(costs[0][0])} CPU points"]
    words = ", ".join(f"{points(cpu)} on {kind}" for cpu, kind in sorted(costs))
    return [f"CPU points it uses at this rate: {words}"]


def _summary(found: Explanation) -> list[str]:
    lacking = [a for a in found.alternatives if a.lacks is not None]
    able = len(found.alternatives) - len(lacking)
    reasons = Counter(a.lacks.resource for a in lacking if a.lacks is not None)
    words = ", ".join(f"{count} for want of {what}" for what, count in reasons.most_common())
    line = f"of {len(found.alternatives)} other machines {len(lacking)} could not take it"
    lines = [f"{line} ({words})" if words else line]
    scored = [a for a in found.alternatives if a.scale is not None and a.lacks is None]
    if scored and found.scale:
        best = max(scored, key=lambda a: a.scale or 0.0)
        change = (best.scale or 0.0) / found.scale - 1
        where = found.problem.cluster.machines[best.machine].name
        verb = "would gain" if change > 1e-9 else "would lose" if change < -1e-9 else "changes"
        amount = percent(abs(change), 2) if abs(change) > 1e-9 else "nothing"
        lines.append(f"{able} could; the best of them, {where}, {verb} {amount} of the rate")
    return lines


def _ordered(alternatives: tuple[Alternative, ...]) -> list[Alternative]:
    """Those that could take it first; within, those that would carry most."""

    def key(a: Alternative) -> tuple[bool, float, int]:
        return (a.lacks is not None, -(a.scale or 0.0), a.machine)

    return sorted(alternatives, key=key)


def _table(found: Explanation, shown: list[Alternative]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("machine", "type", "rack", "verdict"):
        table.add_column(column)
    table.add_column("rate/s if moved", justify="right")
    table.add_column("remote hops", justify="right")
    demand = float(found.problem.demand.sum())
    for a in shown:
        machine = found.problem.cluster.machines[a.machine]
        verdict = "could take it"
        if a.lacks is not None:
            short = a.lacks.needed - a.lacks.available
            verdict = f"{plain(short)} {a.lacks.resource} short ({plain(a.lacks.available)} free)"
        moved = rate(a.scale * demand) if a.scale is not None else UNKNOWN
        table.add_row(machine.name, machine.type, machine.rack, verdict, moved, percent(a.remote))
    return table


def explanation_dict(found: Explanation, name: str) -> dict[str, object]:
    """The same as facts."""
    machines = found.problem.cluster.machines
    kinds = found.problem.cluster.types
    return {
        **answer_head("explanation"),
        "instance": name,
        "machine": machines[int(found.placement.machine[found.instance])].name,
        "slot": int(found.placement.slot[found.instance]),
        "cpu_points_on_type": {
            kind.name: float(cpu)
            for kind, cpu, count in zip(
                kinds, found.cpu_on_type, found.problem.cluster.machines_per_type, strict=True
            )
            if count
        },
        "scale": found.scale,
        "remote": found.remote,
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
            for a in found.alternatives
        ],
    }

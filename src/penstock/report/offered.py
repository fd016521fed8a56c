"""A plan under an offered rate: what saturates and what to buy, or what is left over."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from penstock.evaluate.assess import Assessment
from penstock.evaluate.bound import hottest_key_in_words
from penstock.evaluate.overload import Overload
from penstock.files.answer_formats import answer_head
from penstock.model.problem import Problem
from penstock.planning.numbers import UNKNOWN, count, percent, plain, points, rate
from penstock.planning.purchase import MOST_BOUGHT, Need, Purchase
from penstock.report.text import plain_table

_MOST_NAMED = 12


def overload_view(problem: Problem, found: Overload) -> RenderableType:
    """What each component does under an offered rate."""
    unit = float(problem.demand.sum())
    offered, carried = found.offered_scale * unit, found.sustainable_scale * unit
    head = f"offered {rate(offered)} tuples/s, the plan carries {rate(carried)} tuples/s"
    if found.offered_scale <= found.sustainable_scale:
        return Text(f"{head}: nothing saturates")
    table = plain_table("component")
    for column in ("arriving/s", "processed/s", "queue grows by/s"):
        table.add_column(column, justify="right")
    for c, label in enumerate(problem.labels):
        values = (found.arriving_per_s[c], found.processed_per_s[c], found.backlog_per_s[c])
        table.add_row(label, *(rate(float(value)) for value in values))
    names = found.full_machines
    full = ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
    return Group(
        Text(head),
        Text(f"first to saturate: {found.saturates_first}"),
        Text(f"full machines: {count(len(names))}{f' ({full})' if full else ''}"),
        Text(
            f"with back-pressure every topology slows to {rate(carried)} tuples/s in all; without:"
        ),
        table,
    )


def purchase_view(problem: Problem, found: Purchase) -> RenderableType:
    """What to buy so that the offered rate can be carried."""
    unit = float(problem.demand.sum())
    most = rate(found.bound_scale * unit)
    if found.another_plan_may_do:
        head = (
            f"today's machines may be enough: no plan can exceed {most} tuples/s, "
            "so try penstock plan"
        )
    else:
        head = f"today's machines cannot carry it: no plan can exceed {most} tuples/s"
    able = [need for need in found.needs if need.likely is not None]
    if not able:
        enough = f"{MOST_BOUGHT:,} more machines"
        why = "buying does not help: something other than machines is the limit"
        if found.hottest_key is not None:
            why = hottest_key_in_words(problem, found.hottest_key)
        return Group(Text(head), Text(f"not even {enough} of any type would carry it; {why}"))
    table = plain_table("to carry it, buy")
    for column in ("at least", "likely", "price/h"):
        table.add_column(column, justify="right")
    for need in found.needs:
        table.add_row(need.machine_type, *_numbers(need))
    best = able[0]
    return Group(
        Text(head),
        table,
        Text("at least: no plan does with fewer; likely: if the next plan leaves as large a gap"),
        Text(f"to be sure, plan it: penstock plan … --add {best.machine_type}={best.likely}"),
    )


def _numbers(need: Need) -> tuple[str, str, str]:
    price = plain(need.price_per_hour) if need.likely is not None else UNKNOWN
    return _number(need.at_least), _number(need.likely), price


def _number(number: int | None) -> str:
    return "never enough" if number is None else count(number)


def left_over_view(judged: Assessment) -> RenderableType:
    """What the plan has left at the rate it is judged at, by machine type."""
    unit = float(judged.problem.demand.sum())
    spare = judged.sustainable_scale - judged.scale
    table = plain_table("machine type")
    for column in ("machines", "in use", "mean load", "highest", "CPU points left"):
        table.add_column(column, justify="right")
    for row in _left_over(judged):
        table.add_row(
            str(row["machine_type"]),
            count(row["machines"]),
            count(row["in_use"]),
            percent(row["mean_load"], 0),
            percent(row["highest_load"], 0),
            points(row["cpu_points_left"]),
        )
    part = f" ({percent(spare / judged.scale)} more)" if judged.scale > 0 else ""
    return Group(Text(f"left over: {rate(spare * unit)} tuples/s{part}"), table)


def overload_dict(problem: Problem, found: Overload) -> dict[str, object]:
    """The same as facts."""
    return {
        **answer_head("overload"),
        "offered_scale": found.offered_scale,
        "sustainable_scale": found.sustainable_scale,
        "saturates_first": found.saturates_first,
        "full_machines": list(found.full_machines),
        "converged": found.converged,
        "components": [
            {
                "component": label,
                "arriving_per_s": float(found.arriving_per_s[c]),
                "processed_per_s": float(found.processed_per_s[c]),
                "backlog_per_s": float(found.backlog_per_s[c]),
            }
            for c, label in enumerate(problem.labels)
        ],
    }


def purchase_dict(found: Purchase) -> dict[str, object]:
    """What to buy as facts."""
    return {"to_buy": [asdict(need) for need in found.needs]}


def left_over_dict(judged: Assessment) -> dict[str, object]:
    """The same as facts."""
    unit = float(judged.problem.demand.sum())
    spare = (judged.sustainable_scale - judged.scale) * unit
    return {
        "rate_per_s": spare if np.isfinite(spare) else None,
        "machine_types": _left_over(judged),
    }


def _left_over(judged: Assessment) -> list[dict[str, Any]]:
    cluster = judged.problem.cluster
    is_used = np.bincount(judged.placement.machine, minlength=len(cluster.machines)) > 0
    load = np.where(is_used, judged.machine_cpu, 0.0)
    rows = []
    for t, kind in enumerate(cluster.types):
        mine = np.flatnonzero(cluster.type_of == t)
        if not len(mine):
            continue
        part = load[mine] / kind.cpu_points
        rows.append(
            {
                "machine_type": kind.name,
                "machines": len(mine),
                "in_use": int(is_used[mine].sum()),
                "mean_load": float(part.mean()),
                "highest_load": float(part.max()),
                "cpu_points_left": float((cluster.usable_cpu[mine] - load[mine]).sum()),
            }
        )
    return rows

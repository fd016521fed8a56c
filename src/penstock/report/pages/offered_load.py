"""A plan under an offered rate: what saturates and what to buy, or what is left over."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.hot_keys import hottest_key_in_words
from penstock.evaluate.overload import Overload
from penstock.files.answer_formats import answer_head
from penstock.model.problem import Problem
from penstock.planning.numbers import count, percent, rate
from penstock.planning.purchase import MOST_BOUGHT, Purchase
from penstock.report.page import Block, Cell, Column, Document, Section, paragraph, table_of

_MOST_NAMED = 12


def overload_page(problem: Problem, overload: Overload) -> Document:
    """What each component does under an offered rate."""
    return Document("", (Section("", tuple(_saturation(problem, overload))),))


def left_over_page(problem: Problem, overload: Overload, judged: Assessment) -> Document:
    """What a plan that carries an offered rate has left."""
    return Document("", (Section("", (*_saturation(problem, overload), *_spare(judged))),))


def purchase_page(problem: Problem, overload: Overload, purchase: Purchase) -> Document:
    """What an offered rate does to a plan that cannot carry it, and what to buy."""
    return Document(
        "",
        (
            Section("", tuple(_saturation(problem, overload))),
            Section("", tuple(purchase_blocks(problem, purchase))),
        ),
    )


def _saturation(problem: Problem, overload: Overload) -> list[Block]:
    unit = float(problem.demand.sum())
    offered, carried = overload.offered_scale * unit, overload.sustainable_scale * unit
    head = f"offered {rate(offered)} tuples/s, the plan carries {rate(carried)} tuples/s"
    if overload.offered_scale <= overload.sustainable_scale:
        return [paragraph(f"{head}: nothing saturates")]
    flows = table_of(
        range(len(problem.labels)),
        (Column("component"), lambda c: problem.labels[c]),
        (Column("arriving", "tuples/s"), lambda c: float(overload.arriving_per_s[c])),
        (Column("processed", "tuples/s"), lambda c: float(overload.processed_per_s[c])),
        (Column("queue grows by", "tuples/s"), lambda c: float(overload.backlog_per_s[c])),
    )
    names = overload.full_machines
    full = ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
    return [
        paragraph(head),
        paragraph(f"first to saturate: {overload.saturates_first}"),
        paragraph(f"full machines: {count(len(names))}{f' ({full})' if full else ''}"),
        paragraph(
            f"with back-pressure all topologies together slow down to {rate(carried)} tuples/s; "
            "without it:"
        ),
        flows,
    ]


def purchase_blocks(problem: Problem, purchase: Purchase) -> list[Block]:
    """What to buy so that the offered rate can be carried."""
    most = rate(purchase.bound_scale * float(problem.demand.sum()))
    if purchase.another_plan_may_do:
        head = (
            f"today's machines may be enough: no plan can exceed {most} tuples/s, "
            "so try penstock plan"
        )
    else:
        head = f"today's machines cannot carry it: no plan can exceed {most} tuples/s"
    able = [need for need in purchase.needs if need.likely is not None]
    if not able:
        enough = f"{MOST_BOUGHT:,} more machines"
        why = "buying does not help: something other than machines is the limit"
        if purchase.hottest_key is not None:
            why = hottest_key_in_words(problem, purchase.hottest_key)
        return [
            paragraph(head),
            paragraph(f"not even {enough} of any type would carry it; {why}"),
        ]
    best = able[0]
    return [
        paragraph(head),
        table_of(
            purchase.needs,
            (Column("to carry it, buy"), lambda need: need.machine_type),
            (Column("at least"), lambda need: _number(need.at_least)),
            (Column("likely"), lambda need: _number(need.likely)),
            (
                Column("price/h"),
                lambda need: need.price_per_hour if need.likely is not None else None,
            ),
        ),
        paragraph("at least: no plan needs fewer; likely: if the next plan leaves as large a gap"),
        paragraph(f"to be sure, plan it: penstock plan … --add {best.machine_type}={best.likely}"),
    ]


def _number(number: int | None) -> Cell:
    return "never enough" if number is None else number


def _spare(judged: Assessment) -> list[Block]:
    """What the plan has left at the rate it is judged at, by machine type."""
    unit = float(judged.problem.demand.sum())
    spare = judged.sustainable_scale - judged.scale
    left = table_of(
        _left_over(judged),
        (Column("machine type"), lambda row: row["machine_type"]),
        (Column("machines"), lambda row: row["machines"]),
        (Column("in use"), lambda row: row["in_use"]),
        (Column("mean load", "%", digits=0), lambda row: 100 * row["mean_load"]),
        (Column("highest", "%", digits=0), lambda row: 100 * row["highest_load"]),
        (Column("CPU points left", digits=1), lambda row: row["cpu_points_left"]),
    )
    part = f" ({percent(spare / judged.scale)} more)" if judged.scale > 0 else ""
    return [paragraph(f"left over: {rate(spare * unit)} tuples/s{part}"), left]


def overload_dict(problem: Problem, overload: Overload) -> dict[str, object]:
    """The same as facts."""
    return {
        **answer_head("overload"),
        "offered_scale": overload.offered_scale,
        "sustainable_scale": overload.sustainable_scale,
        "saturates_first": overload.saturates_first,
        "full_machines": list(overload.full_machines),
        "converged": overload.converged,
        "components": [
            {
                "component": label,
                "arriving_per_s": float(overload.arriving_per_s[c]),
                "processed_per_s": float(overload.processed_per_s[c]),
                "backlog_per_s": float(overload.backlog_per_s[c]),
            }
            for c, label in enumerate(problem.labels)
        ],
    }


def purchase_dict(purchase: Purchase) -> dict[str, object]:
    """What to buy as facts."""
    return {"to_buy": [asdict(need) for need in purchase.needs]}


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

"""Small HTML pieces for notebooks; the full report page is a room of its own later."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from penstock.model.plan import Plan
from penstock.planning.facts import Facts, ranked
from penstock.planning.numbers import percent, plain, rate, seconds
from penstock.report.picture import placement_svg

_COLUMNS = (
    ("scheduler", lambda f: f.scheduler),
    ("rate/s", lambda f: rate(f.total_rate_per_s)),
    ("throughput/s", lambda f: rate(f.throughput_per_s)),
    ("gap to bound", lambda f: percent(f.gap)),
    ("instances", lambda f: str(f.instances)),
    ("machines", lambda f: str(f.machines_used)),
    ("utilisation", lambda f: percent(f.mean_utilisation)),
    ("watts", lambda f: plain(f.watts)),
    ("time to plan", lambda f: seconds(f.seconds_to_plan)),
)


def comparison_html(rows: Sequence[Facts]) -> str:
    """A table with a row per scheduler, best first."""
    head = "".join(f"<th>{escape(name)}</th>" for name, _ in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell(row))}</td>" for _, cell in _COLUMNS) + "</tr>"
        for row in ranked(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plan_html(plan: Plan | None, row: Facts) -> str:
    """The facts of a plan and its picture, or why there is none."""
    if plan is None:
        reasons = "".join(f"<li>{escape(reason)}</li>" for reason in row.shortfalls)
        return f"<p>{escape(row.scheduler)} found no plan.</p><ul>{reasons}</ul>"
    return comparison_html([row]) + placement_svg(plan)

"""The schedulers side by side, with the spread over seeds, beside what no plan can exceed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.evaluate.latency import LOAD
from penstock.planning.facts import Facts
from penstock.planning.numbers import counted, rate
from penstock.planning.numbers import percent as percent_text
from penstock.report.charts.bars import Bar, Mark, bars_svg
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Figure,
    Note,
    Number,
    Section,
    Table,
    paragraph,
    percent,
)
from penstock.report.plan_report.facts import PlanReport, Rival

_RATE = "tuples/s"
#: So many are named beside the one that carries most.
_MOST_NAMED = 4


def schedulers(report: PlanReport) -> Section | None:
    if not report.rivals:
        return None
    blocks: list[Block] = []
    if any(rival.rates for rival in report.rivals):
        blocks += [
            _headline(report),
            comparison_figure(report.rivals, _bound(report), report.seeds),
        ]
    blocks.append(_table(report))
    if any(rival.simulated for rival in report.rivals):
        blocks.append(_simulated(report.rivals))
    blocks += [Note(text) for text in _remarks(report)]
    return Section("Schedulers compared", tuple(blocks))


def _headline(report: PlanReport) -> Block:
    able = sorted((r for r in report.rivals if r.rates), key=lambda r: -float(np.mean(r.rates)))
    best, others = able[0], able[1:]
    parts: list[str | Number] = [f"{best.name} carries most"]
    for other in others[:_MOST_NAMED]:
        parts += [
            ", " if len(parts) > 1 else ": ",
            percent(float(np.mean(best.rates)) / float(np.mean(other.rates)) - 1),
            f" more than {other.name}",
        ]
    hidden = len(others) - _MOST_NAMED
    if hidden > 0:
        verb = "carries" if hidden == 1 else "carry"
        parts.append(f"; {counted(hidden, 'other')} {verb} less than these")
    return paragraph(*parts, ".")


def comparison_figure(rivals: Sequence[Rival], bound: float | None, seeds: int = 1) -> Figure:
    """A bar for each scheduler and a line for the bound, in tuples/s of all topologies."""
    best = max((float(np.mean(r.rates)) for r in rivals if r.rates), default=0.0)
    bars = [_bar(rival, bound, best) for rival in rivals]
    marks = [Mark(bound, f"no plan can exceed {rate(bound)}")] if bound else []
    caption = "Input that each scheduler's plan carries"
    if seeds > 1:
        caption += f": mean over {seeds} seeds, the line from least to most"
    if any(rival.breaks_limits for rival in rivals):
        caption += "; hollow: breaks a limit, so it cannot be used"
    alt = "; ".join(f"{bar.name}: {bar.words}" for bar in bars)
    return Figure(
        f"{caption}.",
        f"{alt}. {marks[0].words if marks else ''}",
        lambda width: bars_svg(bars, marks, "sustainable input, tuples/s (of the bound)", width),
    )


def _bound(report: PlanReport) -> float | None:
    """The bound that holds for every plan, not the certificate of one."""
    standing = report.standing
    if standing is None or not 0 < standing.bound.scale < np.inf:
        return None
    return standing.bound.scale * report.demand


def _bar(rival: Rival, bound: float | None, best: float) -> Bar:
    if not rival.rates:
        return Bar(rival.name, None, "no rate" if rival.first.placed else "no plan")
    mean = float(np.mean(rival.rates))
    words = rate(mean) + (f" ({percent_text(mean / bound)})" if bound else "")
    return Bar(
        rival.name,
        mean,
        words,
        min(rival.rates),
        max(rival.rates),
        hollow=rival.breaks_limits,
        strong=mean >= best,
    )


def _table(report: PlanReport) -> Table:
    bound = _bound(report)
    rows: list[tuple[Cell, ...]] = []
    for rival in report.rivals:
        first = rival.first
        mean = float(np.mean(rival.rates)) if rival.rates else None
        spread = (min(rival.rates), max(rival.rates)) if len(rival.rates) > 1 else (None, None)
        rows.append(
            (
                rival.name,
                Number(mean, _RATE, low=spread[0], high=spread[1]),
                percent(mean / bound if mean is not None and bound else None),
                first.instances if first.placed else None,
                first.machines_used if first.placed else None,
                percent(first.mean_utilisation),
                percent(_remote(first)),
                first.path_latency_ms,
                first.watts,
                _median_ms([row.seconds_to_plan for row in rival.rows]),
            )
        )
    columns = (
        Column("scheduler"),
        Column("rate", _RATE),
        Column("of the bound", "%"),
        Column("instances"),
        Column("machines"),
        Column("mean CPU", "%"),
        Column("tuples that leave their process", "%"),
        Column("latency, estimated", "ms"),
        Column("power", "W"),
        Column("time to plan", "ms"),
    )
    spread_note = (
        f"mean over {report.seeds} seeds, in brackets least to most" if report.seeds > 1 else ""
    )
    caption = "The schedulers' plans" + (f" ({spread_note})" if spread_note else "")
    return Table(caption, columns, tuple(rows)).without_unknown()


def _median_ms(seconds: Sequence[float]) -> float | None:
    """The median in milliseconds; ``None`` for a plan that came from a file."""
    median = 1e3 * float(np.median(seconds))
    return None if np.isnan(median) else median


def _remote(row: Facts) -> float | None:
    return None if row.network_mix is None else 1.0 - row.network_mix["same process"]


def _simulated(rivals: Sequence[Rival]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    runs = 1
    for rival in rivals:
        one = rival.simulated
        if one is None:
            continue
        runs = one.runs
        worst = max(one.topologies, key=lambda t: _mean(one.figures, t, "latency_p99_ms"))
        rows.append(
            (
                rival.name,
                float(np.mean(one.offered_per_s)),
                _interval(one.figures["completed_per_s"], _RATE),
                _interval(one.figures[f"topologies.{worst}.latency_p50_ms"], "ms"),
                _interval(one.figures[f"topologies.{worst}.latency_p99_ms"], "ms"),
                100 * float(one.utilisation.mean(axis=0).max()),
            )
        )
    over = f"{runs} runs" if runs > 1 else "parts of one run"
    columns = (
        Column("scheduler"),
        Column("offered", _RATE),
        Column("completed", _RATE),
        Column("latency p50", "ms"),
        Column("latency p99", "ms"),
        Column("CPU of the busiest", "%"),
    )
    caption = (
        f"Simulated at {100 * LOAD:.0f} % of each plan's own rate (in brackets the 95 % interval "
        f"over {over})"
    )
    return Table(caption, columns, tuple(rows))


def _mean(figures: dict[str, tuple[float, float]], topology: str, what: str) -> float:
    return float(np.nan_to_num(figures[f"topologies.{topology}.{what}"][0]))


def _interval(figure: tuple[float, float], unit: str) -> Number:
    mean, half = figure
    if np.isnan(mean):
        return Number(None, unit)
    if np.isnan(half):
        return Number(mean, unit)
    return Number(mean, unit, low=max(0.0, mean - half), high=mean + half)


def _remarks(report: PlanReport) -> list[str]:
    lines = []
    fixed = [r.name for r in report.rivals if len(r.rates) > 1 and min(r.rates) == max(r.rates)]
    if report.seeds > 1 and fixed:
        lines.append(f"The same plan with every seed: {', '.join(fixed)}.")
    for rival in report.rivals:
        first = rival.first
        if first.shortfalls:
            lines.append(f"{rival.name} cannot place {first.shortfalls[0]}.")
        if first.violations:
            count = len(first.violations)
            lines.append(f"{rival.name} breaks {count} limits, first {first.violations[0]}.")
    return lines

"""Several schedulers on one problem, best first."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.evaluate.bound import Bound
from penstock.evaluate.latency import LOAD
from penstock.model.problem import Problem
from penstock.planning.facts import Facts, ranked
from penstock.planning.numbers import counted, percent, rate
from penstock.report.page import (
    Cell,
    Column,
    Document,
    Number,
    Paragraph,
    Section,
    Table,
    Tag,
    Tone,
    paragraph,
    table_of,
)
from penstock.report.pages.bound import bound_blocks
from penstock.report.pages.simulation import simulated_schedulers
from penstock.simulate.results import SimResult

_MOST_SHORTFALLS = 3


def comparison_page(
    rows: Sequence[Facts],
    problem: Problem | None = None,
    bound: Bound | None = None,
    simulated: Sequence[tuple[str, SimResult | None]] = (),
    load: float = LOAD,
) -> Document:
    """Figures people choose by, remarks, the bound, and simulations where there are any."""
    sections = [
        Section("", (comparison_table(rows),)),
        Section("", tuple(map(paragraph, comparison_remarks(rows)))),
    ]
    if problem is not None and bound is not None:
        sections.append(Section("", bound_blocks(problem, bound)))
    if simulated:
        about = f"simulated for a minute at {percent(load, 0)} of each plan's own rate"
        sections.append(Section("", (paragraph(about), simulated_schedulers(simulated))))
    return Document("", tuple(section for section in sections if section.blocks))


def comparison_table(rows: Sequence[Facts]) -> Table:
    """One row per scheduler, best first, with what is known of any of them."""
    in_order = ranked(rows)

    def name(row: Facts) -> Cell:
        is_best = row is in_order[0] and row.total_rate_per_s is not None
        return Tag(row.scheduler, Tone.GOOD) if is_best else row.scheduler

    return table_of(
        in_order,
        (Column("scheduler"), name),
        (Column("rate", "tuples/s"), _rate_or_why_not),
        (Column("throughput", "tuples/s"), lambda row: row.throughput_per_s),
        (Column("gap to bound", "%"), lambda row: _percent(row.gap)),
        (Column("instances"), lambda row: row.instances),
        (Column("machines"), lambda row: row.machines_used),
        (Column("per machine", "tuples/s"), lambda row: row.throughput_per_machine),
        (Column("utilisation", "%"), lambda row: _percent(row.mean_utilisation)),
        (Column("weighted", "%"), lambda row: _percent(row.weighted_utilisation)),
        (Column("network mix"), _network_mix),
        (Column("latency", "ms"), lambda row: row.path_latency_ms),
        (Column("watts"), lambda row: row.watts),
        (Column("time"), lambda row: _time(row.seconds_to_plan)),
    ).without_unknown()


def _percent(part: float | None) -> float | None:
    return None if part is None else 100.0 * part


def _time(seconds: float) -> Paragraph:
    if seconds < 1:
        return paragraph(Number(1000 * seconds, "ms"))
    return paragraph(Number(seconds, "s"))


def _network_mix(row: Facts) -> str | None:
    """Percent of the tuples by hop class, nearest first."""
    if row.network_mix is None:
        return None
    return "/".join(f"{100 * part:.0f}" for part in row.network_mix.values())


def _rate_or_why_not(row: Facts) -> Cell:
    if not row.placed:
        return "no plan"
    if row.not_placed:
        return f"{len(row.not_placed)} not placed"
    return row.total_rate_per_s


def comparison_remarks(rows: Sequence[Facts]) -> list[str]:
    """What the table cannot say: the gain, what limits the best, what went wrong."""
    in_order = ranked(rows)
    with_rates = [row for row in in_order if row.total_rate_per_s is not None]
    lines = []
    if with_rates:
        lines.append(
            "network mix: % of tuples in the same process/machine/rack, to another rack/region; "
            f"latency: spout to sink at {LOAD:g} of the rate, estimated"
        )
    lines += _best(with_rates)
    lines += [
        f"{row.scheduler} is proven optimal ({row.bound_kind})"
        for row in with_rates
        if row.proven_optimal
    ]
    for row in in_order:
        lines += _what_went_wrong(row)
    return lines + _notes_by_text(in_order)


def _best(ranking: list[Facts]) -> list[str]:
    """Who carries most, and by how much, against those that carry the same topologies."""
    if len(ranking) < 2:
        return []
    best, *others = ranking
    top = best.total_rate_per_s or 0.0
    gains = [
        f"{other.scheduler} by {percent(top / other.total_rate_per_s - 1)}"
        for other in others
        if other.not_placed == best.not_placed and other.total_rate_per_s
    ]
    exceeds = f"; it exceeds {', '.join(gains)}" if gains else ""
    if best.not_placed:
        left_out = counted(len(best.not_placed), "topology")
        headline = f"no scheduler places all topologies; {best.scheduler} leaves out {left_out}"
    elif best.violations:
        headline = f"every plan breaks a limit; {best.scheduler} carries most"
    else:
        headline = f"{best.scheduler} carries most"
    return [f"{headline}{exceeds}", f"{best.scheduler} is limited by {best.limited_by}"]


def _what_went_wrong(row: Facts) -> list[str]:
    verb = "cannot place" if row.placed else "finds no plan:"
    lines = [f"{row.scheduler} {verb} {why}" for why in row.shortfalls[:_MOST_SHORTFALLS]]
    hidden = len(row.shortfalls) - len(lines)
    if hidden > 0:
        lines.append(f"{row.scheduler} {verb} and {hidden} more reasons")
    if row.not_placed and row.total_rate_per_s is not None:
        carried = rate(row.total_rate_per_s)
        lines.append(f"{row.scheduler} carries {carried} tuples/s of the topologies it places")
    if row.violations:
        number = counted(len(row.violations), "limit")
        lines.append(f"{row.scheduler} breaks {number}, first {row.violations[0]}")
    return lines


def _notes_by_text(rows: Sequence[Facts]) -> list[str]:
    """Each note once, after those it holds for."""
    holders: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            holders.setdefault(note, []).append(row.scheduler)
    return [f"{', '.join(names)}: {note}" for note, names in holders.items()]

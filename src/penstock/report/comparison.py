"""Several schedulers on one problem, best first, as text for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from penstock.evaluate.latency import LOAD
from penstock.planning.facts import Facts, ranked
from penstock.planning.numbers import UNKNOWN, count, counted, percent, plain, rate, seconds
from penstock.report.text import plain_table

_MOST_SHORTFALLS = 3


def comparison_view(rows: Sequence[Facts], *, bars: bool) -> Table:
    """One row per scheduler, best first, with the figures people choose by."""
    table = plain_table("scheduler")
    for column in ("rate/s", "throughput/s", "gap to bound", "instances", "machines"):
        table.add_column(column, justify="right")
    for column in ("per machine", "utilisation", "weighted", "network mix", "latency ms", "watts"):
        table.add_column(column, justify="right")
    table.add_column("time", justify="right")
    in_order = ranked(rows)
    for row in in_order:
        is_best = row is in_order[0] and row.total_rate_per_s is not None
        table.add_row(
            row.scheduler,
            _rate_or_why_not(row),
            rate(row.throughput_per_s),
            percent(row.gap),
            count(row.instances),
            count(row.machines_used),
            rate(row.throughput_per_machine),
            percent(row.mean_utilisation),
            percent(row.weighted_utilisation),
            network_mix(row),
            plain(row.path_latency_ms, 3),
            plain(row.watts),
            seconds(row.seconds_to_plan),
            style="bold" if bars and is_best else "",
        )
    return table


def network_mix(row: Facts) -> str:
    """Percent of the tuples by hop class, nearest first."""
    if row.network_mix is None:
        return UNKNOWN
    return "/".join(f"{100 * part:.0f}" for part in row.network_mix.values())


def _rate_or_why_not(row: Facts) -> str:
    if not row.placed:
        return "no plan"
    if row.not_placed:
        return f"{len(row.not_placed)} not placed"
    return rate(row.total_rate_per_s)


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

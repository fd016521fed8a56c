"""Text views for a terminal or a pipe, as rich renderables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.change.diff import Changes
from penstock.evaluate.bound import Bound
from penstock.evaluate.predict import LIMITED, OPTIMAL_WITHIN, RATE_ASKED_FOR
from penstock.evaluate.rates import visit_ratios
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.numbers import UNKNOWN, count, counted, percent, plain, points, rate
from penstock.report.folding import change_words, idle_machines, name_ranges
from penstock.report.loads import MachineUse, machine_uses
from penstock.report.losses import losses, told_loss, without_room, worst_loss
from penstock.report.trust import costs_origin, trust_notes

#: Above this the machines are summed up by type unless all are asked for.
MOST_MACHINES_LISTED = 30
MOST_COMPONENTS_LISTED = 60
_BAR = 24


def plan_view(plan: Plan, *, bars: bool, all_machines: bool = False) -> RenderableType:
    """A plan at a glance: what it carries, what limits it, who runs where."""
    problem = plan.problem
    uses = machine_uses(plan)
    listed = all_machines or len(uses) <= MOST_MACHINES_LISTED
    return Group(
        Text(f"{problem.title} on {problem.cluster.name}, planned by {plan.scheduler}", "bold"),
        _summary(plan),
        *_components(plan, most=None if all_machines else MOST_COMPONENTS_LISTED),
        _machines([use for use in uses if use.slices], problem, bars)
        if listed
        else _machine_types(uses, bars),
        *_idle(uses),
        *_warnings(plan),
    )


def _summary(plan: Plan) -> Table:
    predicted = plan.predicted
    grid = Table.grid(padding=(0, 2))
    for name, value in predicted.rate_per_s:
        label = "sustainable rate" if len(predicted.rate_per_s) == 1 else f"rate of {name}"
        carried = "not placed" if name in plan.not_placed else f"{rate(value)} tuples/s"
        grid.add_row(label, carried)
    if demand_met(plan):
        grid.add_row("demand", demand_met(plan))
    if predicted.throughput_per_s is not None:
        grid.add_row("throughput", f"{rate(predicted.throughput_per_s)} tuples/s, all components")
    is_enough = predicted.bound_kind == RATE_ASKED_FOR and predicted.proven_optimal
    if predicted.gap is not None and predicted.bound_scale and not is_enough:
        most = predicted.bound_scale * float(plan.problem.demand.sum())
        limited = predicted.bound_kind.startswith(LIMITED)
        verdict = ", proven optimal" if predicted.proven_optimal else ""
        none = "none of them" if limited else "no plan"
        among = f" among {predicted.bound_kind.removeprefix('exact search over ')}"
        words = f"{none} can exceed {rate(most)} tuples/s"
        kind = "exact search" if limited else predicted.bound_kind
        grid.add_row(
            "gap to bound",
            f"{percent(predicted.gap)}{verdict}{among if limited else ''} ({words}; {kind})",
        )
    if predicted.limited_by:
        grid.add_row("limited by", predicted.limited_by)
    used = len(plan.placement.machines_used)
    machines = len(plan.problem.cluster.machines)
    grid.add_row(
        "uses",
        f"{count(len(plan.placement))} instances on {count(used)} of {count(machines)} machines",
    )
    worst = worst_loss(plan)
    if worst is not None and predicted.scale:
        left = (worst.rate_left_per_s or 0.0) / (predicted.scale * float(plan.problem.demand.sum()))
        grid.add_row(
            "if one is lost",
            f"at least {percent(min(left, 1.0))} of that ({told_loss(plan, worst)})",
        )
    elif losses(plan) and worst is None:
        grid.add_row("if one is lost", _room_elsewhere(plan))
    if plan.problem.profile is not None:
        profile = plan.problem.profile
        grid.add_row("costs", f"profile {profile.name} ({costs_origin(profile)})")
    return grid


def demand_met(plan: Plan) -> str:
    """Whether what the topologies declare is carried; empty where they declare nothing."""
    problem, scale = plan.problem, plan.predicted.scale
    declared = all(topology.demand_per_s is not None for topology in problem.topologies)
    # By priority some demands were cut, and a note says which.
    if not declared or scale is None or plan.not_placed or problem.terms.weights:
        return ""
    asked = f"{rate(float(problem.demand.sum()))} tuples/s"
    if scale < 1 - OPTIMAL_WITHIN:
        return f"{asked}, of which {percent(scale)} can be carried"
    if scale >= 2:
        return f"{asked}, carried {plain(scale, 3)} times over"
    return f"{asked}, carried with {percent(scale - 1)} to spare"


def _room_elsewhere(plan: Plan) -> str:
    short = len(without_room(plan))
    if not short:
        return "its instances have room on the others, by what they ask for"
    cases = len(losses(plan))
    return f"there is room for its instances in {cases - short} of {cases} cases"


def _components(plan: Plan, most: int | None) -> list[RenderableType]:
    problem, placement = plan.problem, plan.placement
    counts = placement.counts(len(problem.components))
    inputs = None
    if problem.has_rates and plan.predicted.scale is not None:
        inputs = visit_ratios(problem, counts) * plan.predicted.scale
    table = plain_table("component", "kind")
    table.add_column("instances", justify="right")
    table.add_column("input/s", justify="right")
    table.add_column("where")
    kinds = [machine.type for machine in problem.cluster.machines]
    shown = problem.labels[:most]
    for c, label in enumerate(shown):
        on = placement.machine[placement.component == c].tolist()
        per_type = Counter(kinds[m] for m in on)
        hosts = Counter(kinds[m] for m in set(on))
        where = ", ".join(f"{n} on {hosts[k]} {k}" for k, n in sorted(per_type.items()))
        table.add_row(
            label,
            problem.components[c].kind.value,
            count(int(counts[c])),
            rate(float(inputs[c])) if inputs is not None else UNKNOWN,
            where or "not placed",
        )
    hidden = len(problem.labels) - len(shown)
    more = [Text(f"… {hidden} components more (--all-machines lists all)")] if hidden else []
    return [table, *more]


def _machines(uses: Sequence[MachineUse], problem: Problem, bars: bool) -> Table:
    table = plain_table("machine", "type")
    table.add_column("load", justify="right")
    if bars:
        table.add_column("", min_width=_BAR)
    table.add_column("CPU points", justify="right")
    table.add_column("runs")
    for use in uses:
        who = ", ".join(f"{problem.labels[s.component]} ×{s.instances}" for s in use.slices)
        cells: list[RenderableType] = [use.name, use.type, percent(use.utilisation, 0)]
        if bars:
            cells.append(_bar(use.utilisation))
        cells += [f"{points(use.cpu_points)} of {plain(use.capacity_points)}", who]
        table.add_row(*cells)
    return table


def _idle(uses: Sequence[MachineUse]) -> list[Text]:
    names = [use.name for use in uses if not use.slices]
    return [Text(idle_machines(names))] if names else []


def _machine_types(uses: Sequence[MachineUse], bars: bool) -> Table:
    table = plain_table("machine type")
    table.add_column("used", justify="right")
    table.add_column("instances", justify="right")
    table.add_column("mean load", justify="right")
    if bars:
        table.add_column("", min_width=_BAR)
    table.add_column("least", justify="right")
    table.add_column("most", justify="right")
    for kind in dict.fromkeys(use.type for use in uses):
        mine = [use for use in uses if use.type == kind]
        load = np.array([use.utilisation for use in mine])
        busy = sum(1 for use in mine if use.slices)
        instances = sum(s.instances for use in mine for s in use.slices)
        cells: list[RenderableType] = [
            kind,
            f"{count(busy)} of {count(len(mine))}",
            count(instances),
        ]
        cells.append(percent(float(load.mean()), 0))
        if bars:
            cells.append(_bar(float(load.mean())))
        cells += [percent(float(load.min()), 0), percent(float(load.max()), 0)]
        table.add_row(*cells)
    return table


def _bar(fraction: float) -> Text:
    filled = min(_BAR, round(fraction * _BAR))
    style = "red" if fraction > 1 + 1e-9 else "green" if fraction > 0.5 else "yellow"
    return Text("█" * filled + "░" * (_BAR - filled), style=style)


def _warnings(plan: Plan) -> list[Text]:
    broken = [Text(f"breaks a limit: {v}", style="red") for v in plan.predicted.violations[:10]]
    more = len(plan.predicted.violations) - len(broken)
    if more > 0:
        broken.append(Text(f"… and {more} limits more", style="red"))
    notes = [*plan.notes, *trust_notes(plan)]
    return broken + [Text(f"note: {note}", style="dim") for note in notes]


def bound_view(problem: Problem, bound: Bound) -> RenderableType:
    """What no plan can exceed, and what would raise it."""
    unit = float(problem.demand.sum())
    table = plain_table("machine type")
    table.add_column("machines", justify="right")
    table.add_column("one more adds, tuples/s", justify="right")
    for kind, number, added in zip(
        problem.cluster.types,
        problem.cluster.machines_per_type,
        bound.added_by_one_machine,
        strict=True,
    ):
        table.add_row(kind.name, count(number), rate(float(added) * unit))
    order = np.argsort(-bound.component_share, kind="stable")[:6]
    needs = ", ".join(f"{problem.labels[c]} {percent(bound.component_share[c], 0)}" for c in order)
    return Group(
        Text(f"upper bound: no plan can exceed {rate(bound.scale * unit)} tuples/s"),
        Text(f"of the capacity that limits, {needs}"),
        table,
    )


def changes_view(changes: Changes) -> RenderableType:
    """What moves, what comes and what goes."""
    if not changes.any:
        return Text("no change")
    table = plain_table("component")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    table.add_column("moves", justify="right")
    table.add_column("what")
    for change in changes.components:
        if not change.is_change:
            continue
        words = change_words(change)
        text = "; ".join(words[:8]) + (f"; … {len(words) - 8} more" if len(words) > 8 else "")
        label = f"{change.topology}/{change.component}"
        table.add_row(
            label, count(change.before), count(change.after), count(len(change.moves)), text
        )
    total = f"{changes.moves:,} moves, {changes.added:,} added, {changes.dropped:,} dropped"
    machines = [
        Text(f"{counted(len(names), 'machine')} {what}: {name_ranges(names)}")
        for what, names in (("taken", changes.machines_taken), ("freed", changes.machines_freed))
        if names
    ]
    rates = [
        Text(f"{name}: {rate(dict(changes.rate_before_per_s).get(name))} → {rate(after)} tuples/s")
        for name, after in changes.rate_after_per_s
    ]
    return Group(Text(total), *machines, *rates, table)


def plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    return table

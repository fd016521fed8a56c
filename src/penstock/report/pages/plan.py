"""A plan at a glance: what it carries, what limits it, who runs where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from penstock.evaluate.predict import LIMITED, OPTIMAL_WITHIN, RATE_ASKED_FOR
from penstock.evaluate.rates import visit_ratios
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.contingencies.losses import loss_in_words, losses, without_room, worst_loss
from penstock.planning.cost_caveats import cost_caveats, costs_origin
from penstock.planning.machine_use import MachineUse, machine_uses
from penstock.planning.numbers import percent as percent_text
from penstock.planning.numbers import plain, rate
from penstock.report.name_ranges import idle_machines
from penstock.report.page import (
    Block,
    Column,
    Document,
    FieldList,
    Note,
    Number,
    Paragraph,
    Section,
    Table,
    Tone,
    field_list,
    paragraph,
    percent,
    table_of,
)

#: Above this the machines are summed up by type unless all are asked for.
MOST_MACHINES_LISTED = 30
_MOST_COMPONENTS_LISTED = 60
_MOST_VIOLATIONS = 10
_RATE = "tuples/s"


def plan_page(plan: Plan, *, all_machines: bool = False) -> Document:
    """The figures of a plan, its components, its machines and what to know about them."""
    problem = plan.problem
    uses = machine_uses(plan)
    listed = all_machines or len(uses) <= MOST_MACHINES_LISTED
    blocks: list[Block] = [
        _summary(plan),
        *_components(plan, most=None if all_machines else _MOST_COMPONENTS_LISTED),
        _machines([use for use in uses if use.slices], problem) if listed else _machine_types(uses),
        *_idle(uses),
        *_warnings(plan),
    ]
    title = f"{problem.title} on {problem.cluster.name}, planned by {plan.scheduler}"
    return Document(title, (Section("", tuple(blocks)),))


def _summary(plan: Plan) -> FieldList:
    predicted, profile = plan.predicted, plan.problem.profile
    named: dict[str, str | Number | Paragraph] = {}
    for name, value in predicted.rate_per_s:
        label = "sustainable rate" if len(predicted.rate_per_s) == 1 else f"rate of {name}"
        named[label] = "not placed" if name in plan.not_placed else Number(value, _RATE)
    named["demand"] = demand_met(plan)
    if predicted.throughput_per_s is not None:
        total = Number(predicted.throughput_per_s, _RATE)
        named["throughput"] = paragraph(total, ", all components")
    named["gap to bound"] = _gap(plan)
    named["limited by"] = predicted.limited_by
    named["uses"] = paragraph(
        Number(len(plan.placement)),
        " instances on ",
        Number(len(plan.placement.machines_used)),
        " of ",
        Number(len(plan.problem.cluster.machines)),
        " machines",
    )
    named["if one is lost"] = _if_one_is_lost(plan)
    if profile is not None:
        named["costs"] = f"profile {profile.name} ({costs_origin(profile)})"
    return field_list(named)


def _gap(plan: Plan) -> str | Paragraph:
    """How far the plan is from what no plan can exceed, where that says something."""
    predicted = plan.predicted
    is_enough = predicted.bound_kind == RATE_ASKED_FOR and predicted.proven_optimal
    if predicted.gap is None or not predicted.bound_scale or is_enough:
        return ""
    most = Number(predicted.bound_scale * float(plan.problem.demand.sum()), _RATE)
    verdict = ", proven optimal" if predicted.proven_optimal else ""
    gap = percent(predicted.gap)
    if predicted.bound_kind.startswith(LIMITED):
        among = f" among {predicted.bound_kind.removeprefix('exact search over ')}"
        return paragraph(
            gap, f"{verdict}{among} (none of them can exceed ", most, "; exact search)"
        )
    return paragraph(gap, f"{verdict} (no plan can exceed ", most, f"; {predicted.bound_kind})")


def demand_met(plan: Plan) -> str:
    """Whether what the topologies declare is carried; empty where they declare nothing."""
    problem, scale = plan.problem, plan.predicted.scale
    declared = all(topology.demand_per_s is not None for topology in problem.topologies)
    # By priority some demands were cut, and a note says which.
    if not declared or scale is None or plan.not_placed or problem.terms.weights:
        return ""
    asked = f"{rate(float(problem.demand.sum()))} tuples/s"
    if scale < 1 - OPTIMAL_WITHIN:
        return f"{asked}, of which {percent_text(scale)} can be carried"
    if scale >= 2:
        return f"{asked}, carried {plain(scale, 3)} times over"
    return f"{asked}, carried with {percent_text(scale - 1)} to spare"


def _if_one_is_lost(plan: Plan) -> str | Paragraph:
    worst = worst_loss(plan)
    if worst is None:
        return _room_elsewhere(plan) if losses(plan) else ""
    if not plan.predicted.scale:
        return ""
    left = (worst.rate_left_per_s or 0.0) / (
        plan.predicted.scale * float(plan.problem.demand.sum())
    )
    return paragraph(
        "at least ", percent(min(left, 1.0)), f" of that ({loss_in_words(plan, worst)})"
    )


def _room_elsewhere(plan: Plan) -> str:
    short = len(without_room(plan))
    if not short:
        return "its instances have room on the others, by what they request"
    cases = len(losses(plan))
    return f"there is room for its instances in {cases - short} of {cases} cases"


def _components(plan: Plan, most: int | None) -> list[Block]:
    problem, placement = plan.problem, plan.placement
    counts = placement.counts(len(problem.components))
    inputs = np.full(len(counts), np.nan)
    if problem.has_rates and plan.predicted.scale is not None:
        inputs = visit_ratios(problem, counts) * plan.predicted.scale
    listed = range(len(problem.labels))[:most]
    hidden = len(problem.labels) - len(listed)
    more = [paragraph(f"… and {hidden} more components (--all-machines lists all)")]
    table = table_of(
        listed,
        (Column("component"), lambda c: problem.labels[c]),
        (Column("kind"), lambda c: problem.components[c].kind.value),
        (Column("instances"), lambda c: int(counts[c])),
        (Column("input", _RATE), lambda c: float(inputs[c])),
        (Column("where"), lambda c: _where(plan, c)),
    )
    return [table, *(more if hidden else [])]


def _where(plan: Plan, component: int) -> str:
    """How many instances on how many machines, by type."""
    placement, machines = plan.placement, plan.problem.cluster.machines
    on = placement.machine[placement.component == component].tolist()
    per_type = Counter(machines[m].type for m in on)
    hosts = Counter(machines[m].type for m in set(on))
    where = (f"{n} on {hosts[kind]} {kind}" for kind, n in sorted(per_type.items()))
    return ", ".join(where) or "not placed"


def _machines(uses: Sequence[MachineUse], problem: Problem) -> Table:
    def runs(use: MachineUse) -> str:
        return ", ".join(f"{problem.labels[s.component]} ×{s.instances}" for s in use.slices)

    def points(use: MachineUse) -> Paragraph:
        return paragraph(Number(use.cpu_points, digits=1), " of ", Number(use.capacity_points))

    return table_of(
        uses,
        (Column("machine"), lambda use: use.name),
        (Column("type"), lambda use: use.type),
        (Column("load", "%", digits=0, bar=True), lambda use: 100 * use.utilisation),
        (Column("CPU points"), points),
        (Column("runs"), runs),
    )


def _idle(uses: Sequence[MachineUse]) -> list[Block]:
    names = [use.name for use in uses if not use.slices]
    return [paragraph(idle_machines(names))] if names else []


def _machine_types(uses: Sequence[MachineUse]) -> Table:
    by_type: dict[str, list[MachineUse]] = {}
    for use in uses:
        by_type.setdefault(use.type, []).append(use)

    def used(kind: str) -> Paragraph:
        busy = sum(1 for use in by_type[kind] if use.slices)
        return paragraph(Number(busy), " of ", Number(len(by_type[kind])))

    load = {kind: [100 * use.utilisation for use in own] for kind, own in by_type.items()}
    return table_of(
        by_type,
        (Column("machine type"), lambda kind: kind),
        (Column("used"), used),
        (
            Column("instances"),
            lambda kind: sum(s.instances for use in by_type[kind] for s in use.slices),
        ),
        (
            Column("mean load", "%", digits=0, bar=True),
            lambda kind: sum(load[kind]) / len(load[kind]),
        ),
        (Column("least", "%", digits=0), lambda kind: min(load[kind])),
        (Column("most", "%", digits=0), lambda kind: max(load[kind])),
    )


def _warnings(plan: Plan) -> list[Block]:
    violations = plan.predicted.violations
    broken = [Note(f"breaks a limit: {v}", Tone.BAD) for v in violations[:_MOST_VIOLATIONS]]
    more = len(violations) - len(broken)
    if more > 0:
        broken.append(Note(f"… and {more} more limits", Tone.BAD))
    return [*broken, *(Note(note) for note in [*plan.notes, *cost_caveats(plan)])]

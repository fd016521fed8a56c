"""Every figure of a setting, by scheduler: what its plan promises and what the simulator measures.

Figures are plain numbers by name, so that they can be kept in a file and rows can refer to them:
``throughput_per_s``, ``instances.mid``, ``kind.midCompute``, ``simulated.latency_ms`` …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite
from typing import TypeAlias

import numpy as np

from penstock import app
from penstock.errors import PenstockError
from penstock.evaluate.bound import Bound
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.terms import Terms
from penstock.simulate.measured import MeasuredInterval
from penstock.simulate.results import figures_of
from penstock.simulate.scenario import Offered, Scenario
from penstock.simulate.variants import offering, saturated
from penstock_bench.reproduce.clusters import cluster_figures
from penstock_bench.reproduce.paper_fields import (
    BOUND,
    CLUSTER,
    PaperSetting,
    SchedulerUse,
    Simulate,
)
from penstock_bench.reproduce.setting import problem_of, with_demand

Figures: TypeAlias = dict[str, float | str | None]
#: Figures by the scheduler's label.
FiguresByName: TypeAlias = dict[str, Figures]
Told: TypeAlias = Callable[[str], None]

#: Facts that are figures as they stand.
_FACTS = (
    "instances",
    "machines_used",
    "throughput_per_s",
    "sink_throughput_per_s",
    "mean_sink_throughput_per_s",
    "throughput_per_machine",
    "mean_utilisation",
    "weighted_utilisation",
    "mean_network_distance",
    "path_latency_ms",
    "watts",
)
#: Nimbus and ZooKeeper.
_MASTERS = 2
#: A short queue, so that back-pressure reaches the spouts of a flooded plan soon.
_FLOODED_QUEUE = 1000


def plan_figures(setting: PaperSetting, say: Told) -> FiguresByName:
    """All schedulers of a setting, and its upper bound."""
    problem = problem_of(setting)
    if setting.demand is not None:
        say("what all carry")
        problem = with_demand(problem, _demand(setting, problem))
    figures: FiguresByName = {}
    bound: Bound | None = None
    for use in setting.uses:
        say(use.shown)
        planned = _planned(problem, use, bound)
        bound = planned.bound or bound
        figures[use.shown] = figures_of_plan(planned)
        if setting.simulate is not None and planned.plan is not None:
            say(f"{use.shown}, simulated")
            figures[use.shown] |= _simulated(planned.plan, setting.simulate)
    if bound is not None:
        figures[BOUND] = bound_figures(problem, bound)
    figures[CLUSTER] = cluster_figures(problem.cluster)
    return figures


def _planned(problem: Problem, use: SchedulerUse, bound: Bound | None) -> app.PlanAnswer:
    if use.carry or use.least:
        carried = float(problem.demand.sum()) if use.carry else None
        problem = problem.with_terms(Terms(carry_per_s=carried, least=use.least))
    return app.plan(problem, use.name, parameters=use.set, bound=bound)


def _demand(setting: PaperSetting, problem: Problem) -> dict[str, float]:
    """The part of the least rate of the named schedulers' plans, the same for all topologies."""
    demand = setting.demand
    assert demand is not None
    uses = {use.shown: use for use in setting.uses}
    scales = []
    for name in demand.of_least:
        facts = _planned(problem, uses[name], None).facts
        if not facts.scale:
            raise PenstockError(f"{name} has no plan, so there is no demand that all carry")
        scales.append(facts.scale)
    rate = demand.part * min(scales)
    return {
        t.name: rate * float(d) for t, d in zip(problem.topologies, problem.demand, strict=True)
    }


def figures_of_plan(planned: app.PlanAnswer) -> Figures:
    """What a plan promises."""
    facts = planned.facts
    figures: Figures = {name: _number(getattr(facts, name)) for name in _FACTS}
    figures["rate_per_s"] = sum(facts.rate_per_s.values()) if facts.rate_per_s else None
    figures["gap"] = _number(facts.certified_gap)
    figures["proven"] = float(facts.proven_optimal)
    figures["why_not"] = "; ".join(facts.shortfalls) or None
    if planned.plan is None or planned.assessment is None:
        return dict.fromkeys(figures) | {"why_not": figures["why_not"] or "no plan"}
    problem, placement = planned.plan.problem, planned.plan.placement
    machines = len(problem.cluster.machines)
    used = len(placement.machines_used)
    figures["machines"] = float(machines)
    figures["machines_idle"] = float(machines - used)
    # The thesis counts Nimbus and ZooKeeper, which have a machine each, as nodes in use.
    figures["nodes_with_masters"] = float(used + _MASTERS)
    figures["throughput_per_node"] = (facts.throughput_per_s or 0.0) / (used + _MASTERS)
    figures["limited_by"] = facts.limited_by
    figures["total_utilisation"] = float(planned.assessment.utilisation.sum())
    counts = placement.counts(len(problem.components)).tolist()
    rates = planned.assessment.component_rate_per_s.tolist()
    for label, row, count, rate in zip(
        problem.labels, problem.cost_rows, counts, rates, strict=True
    ):
        figures[f"instances.{label}"] = float(count)
        figures[f"component_rate.{label}"] = rate
        figures[f"kind.{row}"] = float(figures.get(f"kind.{row}") or 0.0) + count
    for name, rate in (facts.rate_per_s or {}).items():
        figures[f"rate.{name}"] = rate
    return figures


def bound_figures(problem: Problem, bound: Bound) -> Figures:
    if not isfinite(bound.scale):
        return {}
    counted = problem.visits[problem.counts_for_throughput]
    figures: Figures = {
        "rate_per_s": bound.scale * float(problem.demand.sum()),
        "throughput_per_s": bound.scale * float(counted.sum()),
    }
    return figures


# -- simulated ------------------------------------------------------------------------------------


def _simulated(plan: Plan, wanted: Simulate) -> Figures:
    scenario = _scenario(plan, wanted)
    result = app.simulate(plan, scenario, fluid=wanted.fluid)
    whole = figures_of(result.measured)
    figures = {**whole, **_summary(plan.problem, result.measured)}
    return {f"simulated.{name}": _number(value) for name, value in figures.items()}


def _scenario(plan: Plan, wanted: Simulate) -> Scenario:
    calm = Scenario(duration_s=wanted.seconds, sample_s=wanted.sample_s)
    problem = plan.problem
    if wanted.demand:
        return offering(calm, per_s=float(problem.demand.sum()))
    if wanted.load is not None:
        return offering(calm, of_sustainable=wanted.load)
    if wanted.flood is not None:
        flooded = offering(calm, of_sustainable=wanted.flood)
        return replace(flooded, acking=False, queue_limit=_FLOODED_QUEUE)
    if wanted.in_flight is not None:
        window = Offered(of_sustainable=None, in_flight=wanted.in_flight)
        return replace(calm, offered=window, acking=False, queue_limit=None)
    return saturated(calm, problem, plan.placement)


def _summary(problem: Problem, measured: MeasuredInterval) -> Mapping[str, float]:
    """Means over the topologies of what a tuple goes through.

    Processing is the time at executors, waiting included, one of each component after the other, as
    far as a tuple gets: a component that sees one in ten counts for a tenth. Execution is the rest
    of the latency: the network, and waiting for the last of a tuple's parts.
    """
    stay = np.array([c.stay_ms if c.processed_per_s else 0.0 for c in measured.components])
    reached = np.minimum(problem.visits / problem.demand[problem.topology_of], 1.0)
    stay = np.where(problem.counts_for_throughput, stay * reached, 0.0)
    processing = np.bincount(problem.topology_of, stay, len(problem.topologies))
    latency = np.array([t.latency_ms for t in measured.topologies])
    busy = np.array([m.utilisation for m in measured.machines])
    idle_watts = problem.cluster.per_type("idle_watts")[problem.cluster.type_of]
    return {
        "latency_ms": float(latency.mean()),
        "processing_ms": float(processing.mean()),
        "execution_ms": float((latency - processing).mean()),
        "mean_utilisation": float(busy[busy > 0].mean()) if (busy > 0).any() else 0.0,
        # A machine without instances still draws its idle power, unless somebody puts it to sleep.
        "watts_all_awake": (measured.watts or np.nan) + float(idle_watts[busy == 0].sum()),
    }


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None

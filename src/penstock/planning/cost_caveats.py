"""How far a plan's figures may be trusted, from what the profile says about its own."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.rates import instance_rates
from penstock.model.plan import Plan
from penstock.model.profile import Cost, Profile, SpeedBasis
from penstock.planning.numbers import percent, plain, rate

#: A line that is off by less than this is as good as the measurement itself.
_WORTH_SAYING = 0.02
#: An instance may run a little faster than any that was measured without a word.
_BEYOND = 1.2
#: Standard errors to either side of a value that hold 95 %.
_SURE = 1.96


def cost_caveats(plan: Plan) -> list[str]:
    """Which costs are estimates, lines for bent forms, or used beyond what was measured."""
    problem, placement = plan.problem, plan.placement
    if problem.profile is None or not problem.has_rates or plan.predicted.scale is None:
        return []
    kinds = problem.cluster.type_of[placement.machine]
    used = sorted({(int(c), int(t)) for c, t in zip(placement.component, kinds, strict=True)})
    table = problem.profile.by_place
    costs = {(c, t): table[problem.cost_rows[c], problem.cluster.types[t].name] for c, t in used}
    return [
        *_estimated([cost for cost in costs.values() if cost.extrapolated]),
        *_bent([cost for cost in costs.values() if (cost.linear_error or 0.0) > _WORTH_SAYING]),
        *_beyond(plan, costs),
    ]


def costs_origin(profile: Profile) -> str:
    """Where the costs come from, in a few words."""
    estimated_from = dict.fromkeys(
        cost.estimate.measured_on for cost in profile.costs if cost.estimate is not None
    )
    if not estimated_from:
        return profile.origin.value
    return f"estimated from {', '.join(estimated_from)}"


def _estimated(costs: list[Cost]) -> list[str]:
    others = [cost for cost in costs if cost.estimate is None]
    notes = [f"estimated, never measured: the cost of {_names(others)}"] if others else []
    by_speed: dict[tuple[str, SpeedBasis], list[Cost]] = {}
    for cost in costs:
        if cost.estimate is not None:
            key = (cost.estimate.measured_on, cost.estimate.basis)
            by_speed.setdefault(key, []).append(cost)
    return notes + [_by_speed(*key, group) for key, group in by_speed.items()]


def _by_speed(measured_on: str, basis: SpeedBasis, costs: list[Cost]) -> str:
    speeds = {cost.machine_type: cost.estimate.speed for cost in costs if cost.estimate}
    types = ", ".join(f"{kind} ({plain(speed, 3)} times as fast)" for kind, speed in speeds.items())
    by = {
        SpeedBasis.STATED: "the speeds stated in the cluster",
        SpeedBasis.FINGERPRINT: "their fingerprints",
        SpeedBasis.CLOCK: "their clocks",
        SpeedBasis.CLOCK_ALONE: f"their clocks, as if {measured_on} had the mean of them",
    }[basis]
    factor = max(_factor(cost) for cost in costs)
    return (
        f"estimated, never measured: costs on {types}, from those measured on {measured_on} by "
        f"{by}; each may be off by a factor of {plain(factor, 2)} either way (95 %)"
    )


def _factor(cost: Cost) -> float:
    """How many times its true value a cost may be, or the other way round, 19 times out of 20."""
    return float((1.0 + (cost.e_error or 0.0) / cost.e) ** _SURE) if cost.e > 0 else 1.0


def _bent(costs: list[Cost]) -> list[str]:
    if not costs:
        return []
    worst = max(costs, key=lambda cost: cost.linear_error or 0.0)
    form = worst.form.kind.value if worst.form else "bent"
    return [
        (
            f"{_names(costs)}: measured as {form}; the straight line of the plan is off by up to "
            f"{percent(worst.linear_error, 0)} within the rates measured"
        )
    ]


def _beyond(plan: Plan, costs: dict[tuple[int, int], Cost]) -> list[str]:
    """Instances the plan runs faster than any that was measured."""
    problem, placement = plan.problem, plan.placement
    rates = instance_rates(problem, placement).per_instance * (plan.predicted.scale or 0.0)
    kinds = problem.cluster.type_of[placement.machine]
    faster = []
    for (c, t), cost in costs.items():
        most = float(np.max(rates[(placement.component == c) & (kinds == t)]))
        if cost.rate_most is not None and most > _BEYOND * cost.rate_most:
            faster.append((most / cost.rate_most, most, cost))
    if not faster:
        return []
    _, most, cost = max(faster, key=lambda entry: entry[0])
    return [
        (
            f"beyond what was measured: {_names([entry[2] for entry in faster])}; {cost.row} on "
            f"{cost.machine_type} is to take {rate(most)} tuples/s per instance, measured up to "
            f"{rate(cost.rate_most)}"
        )
    ]


def _names(costs: list[Cost]) -> str:
    first = ", ".join(f"{cost.row} on {cost.machine_type}" for cost in costs[:4])
    return first if len(costs) <= 4 else f"{first} and {len(costs) - 4} more"

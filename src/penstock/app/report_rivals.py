"""The schedulers that a report compares its plan with."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.plans import plan as plan_problem
from penstock.app.report_options import ReportOptions, ReportRemarks
from penstock.app.report_simulations import MOST_TUPLES_OF_RIVALS, simulated
from penstock.errors import CycleError, NotMeasuredError, PenstockError
from penstock.evaluate.bound import Bound
from penstock.model.problem import Problem
from penstock.planning.facts import Facts
from penstock.planning.result import PlanResult
from penstock.report.plan_report import Rival
from penstock.schedulers.base import Budget

#: How long each scheduler may search that nobody asked for.
_SECONDS_FOR_OTHERS = 5.0
#: A rate counts as more from this part on; less is rounding.
_MORE = 1 + 1e-9


def compared(
    problem: Problem,
    wanted: ReportOptions,
    bound: Bound | None,
    remarks: ReportRemarks,
) -> list[Rival]:
    """Every scheduler with every seed; the first plan of each simulated."""
    rivals = []
    for name in wanted.schedulers:
        try:
            rival = _rival(name, problem, wanted, bound, remarks)
        except (NotMeasuredError, CycleError) as error:
            remarks(f"{name} is left out of the comparison: {error}")
            continue
        if rival is None:
            remarks("stopped early: not all schedulers were compared")
        else:
            rivals.append(rival)
    return rivals


def carrying_more(
    problem: Problem, own: Facts, wanted: ReportOptions, bound: Bound | None, remarks: ReportRemarks
) -> list[Rival]:
    """Of the other schedulers those whose plan keeps the limits and carries more than ``own``."""
    if own.scale is None:
        return []
    better: list[Rival] = []
    for name in wanted.others:
        if name in wanted.schedulers or wanted.stop():
            continue
        wanted.progress(f"checking whether {name} carries more")
        try:
            planned = plan_problem(
                problem, name, seed=wanted.seed, counts_from=wanted.counts_from, bound=bound,
                budget=lambda: Budget(seconds=_SECONDS_FOR_OTHERS, stop=wanted.stop),
            )  # fmt: skip
        except PenstockError:
            continue  # nobody asked for it
        facts = planned.facts
        if facts.scale is None or facts.violations or facts.scale <= own.scale * _MORE:
            continue
        # Its rate is what counts here; simulating it, too, would take longer than all the rest.
        once = replace(wanted, known={**wanted.known, name: planned}, simulate=False)
        rival = _rival(name, problem, once, bound, remarks)
        better += [rival] if rival is not None else []
    return better


def _rival(
    name: str, problem: Problem, wanted: ReportOptions, bound: Bound | None, remarks: ReportRemarks
) -> Rival | None:
    """One scheduler with every seed; ``None`` if there was no time for it."""
    results: list[PlanResult] = []
    for number in range(wanted.seeds):
        if wanted.stop():
            break
        if number == 0 and name in wanted.known:
            results.append(wanted.known[name])
            continue
        seed = wanted.seed + number
        wanted.progress(f"planning with {name}, seed {seed}")
        planned = plan_problem(
            problem, name, seed=seed, counts_from=wanted.counts_from, budget=wanted.budget,
            bound=bound,
        )  # fmt: skip
        results.append(planned)
    if not results:
        return None
    simulation = None
    first = results[0].plan
    if first is not None and first.predicted.scale and wanted.simulate and not wanted.stop():
        wanted.progress(f"simulating the plan of {name}")
        simulation = simulated(first, wanted, remarks, MOST_TUPLES_OF_RIVALS)
    return Rival(name, tuple(one.facts for one in results), simulation)

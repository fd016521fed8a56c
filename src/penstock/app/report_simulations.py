"""What a report simulates: a minute of a plan, and its latency at several loads."""

from __future__ import annotations

from penstock.app.report_options import ReportOptions, ReportRemarks
from penstock.app.simulations import simulate
from penstock.evaluate.latency import LOAD
from penstock.files.simulation_file import Simulation
from penstock.model.plan import Plan
from penstock.report.pages.simulation import recorded
from penstock.simulate.compiled import has_numba
from penstock.simulate.load_curve import DEFAULT_LOADS, LoadCurve, load_curve
from penstock.simulate.scenario import Scenario
from penstock.simulate.variants import offering, shortened

#: Tuples that all components together handle when a plan is simulated, at most: ten million are
#: some ten seconds of work. The plan the report is about gets more than those it is compared with.
MOST_TUPLES, MOST_TUPLES_OF_RIVALS = 15_000_000, 4_000_000
#: The same for all points of its load curve.
_CURVE_TUPLES = 10_000_000
#: A second at every load may take more, but no more than this: some minute of work.
_MOST_CURVE_TUPLES = 50_000_000
#: A simulation shorter than this says nothing.
_LEAST_SECONDS = 1.0


def simulated(
    plan: Plan, wanted: ReportOptions, remarks: ReportRemarks, tuples: int
) -> Simulation | None:
    """A calm minute, or as much of it as takes some seconds; ``None`` where that is too little."""
    if not has_numba():
        remarks("not simulated, because numba is not installed: pip install 'penstock[simulate]'")
        return None
    per_s = LOAD * (plan.predicted.throughput_per_s or 0.0)
    scenario = offering(Scenario(), of_sustainable=LOAD)
    seconds = min(scenario.duration_s, tuples / (max(per_s, 1e-9) * wanted.runs))
    if seconds < _LEAST_SECONDS:
        remarks(
            f"the plan of {plan.scheduler} is not simulated here, because of its high rate: "
            "penstock simulate does it, with patience"
        )
        return None
    if seconds < scenario.duration_s:
        scenario = shortened(scenario, round(seconds, 1))
    result = simulate(plan, scenario, seed=wanted.seed, runs=wanted.runs, stop=wanted.stop)
    if len(result.runs[0].looks) < 2:
        remarks("stopped early: not simulated")
        return None
    return recorded(result)


def load_curve_of(plan: Plan, wanted: ReportOptions) -> LoadCurve | None:
    """Latency at several loads; ``None`` without numba, or where a second takes too long."""
    per_s = sum(DEFAULT_LOADS) * (plan.predicted.throughput_per_s or 0.0)
    if not has_numba() or per_s * _LEAST_SECONDS > _MOST_CURVE_TUPLES:
        return None
    return load_curve(
        plan.problem, plan.placement, tuples=_CURVE_TUPLES, seed=wanted.seed, stop=wanted.stop
    )

"""What a report says about a plan: judge it here, compare schedulers, simulate it.

:mod:`penstock.report.plan_report` makes a page of what is gathered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.app.plans import plan as plan_problem
from penstock.app.simulations import simulate
from penstock.change.diff import diff
from penstock.errors import CycleError, InputError, NoPlanError, NotMeasuredError, PenstockError
from penstock.evaluate.bound import KIND, Bound, upper_bound
from penstock.evaluate.latency import LOAD
from penstock.evaluate.predict import predict
from penstock.files.simulation_file import Simulation
from penstock.model.outcome import Outcome
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.cost_caveats import costs_origin
from penstock.planning.counts import COUNTS_FROM_NOTE, DEFAULT_COUNTS_FROM
from penstock.planning.facts import Facts, facts
from penstock.planning.result import PlanResult
from penstock.planning.standing import standing
from penstock.report.page import Document, Source
from penstock.report.pages.simulation import recorded
from penstock.report.plan_report import PlanReport, Rival, plan_report_page
from penstock.report.provenance import Provenance
from penstock.schedulers import registered
from penstock.schedulers.base import Budget
from penstock.schedulers.optimal import OptimalScheduler
from penstock.simulate.compiled import has_numba
from penstock.simulate.load_curve import DEFAULT_LOADS, LoadCurve, load_curve
from penstock.simulate.scenario import Scenario
from penstock.simulate.variants import offering, shortened

DEFAULT_RIVALS = ("default", "rstorm", "hetero", "penstock")
#: Tuples that all components together handle when a plan is simulated, at most: ten million are
#: some ten seconds of work. The plan the report is about gets more than those it is compared with.
_MOST_TUPLES, _MOST_TUPLES_OF_RIVALS = 15_000_000, 4_000_000
#: The same for all points of its load curve.
_CURVE_TUPLES = 10_000_000
#: A second at every load may take more, but no more than this: some minute of work.
_MOST_CURVE_TUPLES = 50_000_000
#: How long each scheduler may search that nobody asked for.
_SECONDS_FOR_OTHERS = 5.0
#: A rate counts as more from this part on; less is rounding.
_MORE = 1 + 1e-9
#: A simulation shorter than this says nothing.
_LEAST_SECONDS = 1.0


@dataclass(frozen=True)
class ReportOptions:
    """What a report is to hold besides the plan, and how long that may take."""

    schedulers: Sequence[str] = DEFAULT_RIVALS
    #: Tried besides those, and shown where their plan carries more than the one reported on.
    others: Sequence[str] = ()
    seeds: int = 3
    seed: int = 0
    counts_from: str = DEFAULT_COUNTS_FROM
    before: Plan | None = None
    simulation: Simulation | None = None
    simulate: bool = True
    runs: int = 3
    #: Answers with the first seed that are there already, by scheduler.
    known: Mapping[str, PlanResult] = field(default_factory=dict)
    budget: Callable[[], Budget] = Budget
    stop: Callable[[], bool] = lambda: False
    progress: Callable[[str], None] = lambda _text: None


def quick_schedulers() -> tuple[str, ...]:
    """All that plan in seconds; ``optimal`` tries everything and may not look at the clock."""
    return tuple(
        name
        for name, entry in registered().items()
        if entry.scheduler is not None and name != OptimalScheduler.name
    )


@dataclass
class _Remarks:
    """What the reader must know, gathered on the way."""

    texts: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        if text not in self.texts:
            self.texts.append(text)


def report_on_plan(plan: Plan, wanted: ReportOptions) -> PlanReport:
    """A plan that is given: judged by this cost model, whatever its file says of it."""
    remarks = _Remarks()
    bound = upper_bound(plan.problem) if plan.problem.has_rates else None
    judged_here, certificate = _judged_here(plan, bound, remarks)
    own = _facts(judged_here, bound)
    compared = _with_free_counts(plan)
    rivals = _compared(compared, wanted, bound, remarks)
    rivals += _carrying_more(compared, own, wanted, bound, remarks)
    this = Rival("this plan", (own,))
    if all(rival.first.scale != own.scale for rival in rivals if rival.name == plan.scheduler):
        rivals = [*rivals, replace(this, name=f"this plan ({plan.scheduler})")]
    findings = _findings(judged_here, own, certificate, rivals, wanted, remarks)
    if any(known.plan is plan for known in wanted.known.values()):
        return replace(findings, certificate=Source.RUN)  # nothing of it comes from a file
    return replace(findings, contingencies=Source.GIVEN)


def report_on_problem(problem: Problem, scheduler: str, wanted: ReportOptions) -> PlanReport:
    """A problem that is planned here; the report is about ``scheduler``'s plan."""
    remarks = _Remarks()
    bound = upper_bound(problem) if problem.has_rates else None
    names = list(dict.fromkeys([*wanted.schedulers, scheduler]))
    wanted.progress(f"planning with {scheduler}")
    planned = plan_problem(
        problem, scheduler, seed=wanted.seed, counts_from=wanted.counts_from,
        budget=wanted.budget, bound=bound, if_lost=_kinds_of_losses(problem),
    )  # fmt: skip
    if planned.plan is None:
        if planned.outcome.interrupted:
            raise PenstockError(f"{scheduler} was stopped before it had a plan")
        reasons = [str(shortfall) for shortfall in planned.outcome.shortfalls]
        raise NoPlanError(*(f"{scheduler} finds no plan: {reason}" for reason in reasons))
    asked = replace(wanted, schedulers=names, known={**wanted.known, scheduler: planned})
    compared = _with_free_counts(planned.plan)
    rivals = _compared(compared, asked, bound, remarks)
    rivals += _carrying_more(compared, planned.facts, asked, bound, remarks)
    return _findings(planned.plan, planned.facts, Source.RUN, rivals, wanted, remarks)


def _with_free_counts(plan: Plan) -> Problem:
    """The plan's problem, without counts that its scheduler had from another one.

    Those that somebody laid down stay.
    """
    lent = any(note.startswith(COUNTS_FROM_NOTE) for note in plan.notes)
    return replace(plan.problem, given_counts=None) if lent else plan.problem


def _kinds_of_losses(problem: Problem) -> int:
    """What happens when a machine is lost is worked out where that is quick."""
    return 40 if len(problem.cluster.machines) <= 60 else 0


def _judged_here(plan: Plan, bound: Bound | None, remarks: _Remarks) -> tuple[Plan, Source]:
    """The plan with a prediction of this version; a tighter certificate of its file is kept."""
    filed, scale = plan.predicted, None if bound is None else bound.scale
    kind, source = KIND, Source.RUN
    if (
        filed.bound_scale is not None
        and scale is not None
        and filed.bound_scale < scale * (1 - 1e-9)
    ):
        scale, kind, source = filed.bound_scale, filed.bound_kind, Source.GIVEN
    predicted, _ = predict(plan.problem, plan.placement, scale, kind)
    if filed.scale and predicted.scale and abs(predicted.scale / filed.scale - 1) > 1e-3:
        off = 100 * (filed.scale / predicted.scale - 1)
        remarks(
            f"the plan's file promises {off:+.1f} % against what this version works out; "
            "the report has the latter"
        )
    return replace(plan, predicted=predicted), source


def _facts(plan: Plan, bound: Bound | None) -> Facts:
    _, judged = predict(plan.problem, plan.placement)
    scale = None if bound is None else bound.scale
    return facts(plan.scheduler, plan, judged, Outcome(plan.placement), float("nan"), scale)


def _findings(
    plan: Plan,
    own: Facts,
    certificate: Source,
    rivals: Sequence[Rival],
    wanted: ReportOptions,
    remarks: _Remarks,
) -> PlanReport:
    before = wanted.before
    if before is not None:
        before, _ = _judged_here(before, None, _Remarks())
    has_rate = plan.problem.has_rates and plan.predicted.scale is not None
    simulation, source = wanted.simulation, Source.GIVEN
    if simulation is not None:
        _check_fits(simulation, plan)
    elif has_rate and wanted.simulate and not wanted.stop():
        wanted.progress("simulating")
        simulation, source = _simulated(plan, wanted, remarks, _MOST_TUPLES), Source.RUN
    curve = None
    if has_rate and wanted.simulate and not wanted.stop():
        wanted.progress("simulating latency against load")
        curve = _load_curve(plan, wanted)
    _, judged = predict(plan.problem, plan.placement)
    return PlanReport(
        plan=plan,
        facts=own,
        judged=judged,
        standing=standing(plan.problem, plan.placement) if has_rate else None,
        certificate=certificate,
        rivals=tuple(rivals),
        seeds=wanted.seeds,
        before=before,
        changes=None if before is None else diff(before, plan),
        simulation=simulation,
        simulation_source=source,
        load_curve=curve,
        remarks=tuple(remarks.texts),
    )


def _compared(
    problem: Problem,
    wanted: ReportOptions,
    bound: Bound | None,
    remarks: _Remarks,
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


def _carrying_more(
    problem: Problem, own: Facts, wanted: ReportOptions, bound: Bound | None, remarks: _Remarks
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
    name: str, problem: Problem, wanted: ReportOptions, bound: Bound | None, remarks: _Remarks
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
    simulated = None
    first = results[0].plan
    if first is not None and first.predicted.scale and wanted.simulate and not wanted.stop():
        wanted.progress(f"simulating the plan of {name}")
        simulated = _simulated(first, wanted, remarks, _MOST_TUPLES_OF_RIVALS)
    return Rival(name, tuple(one.facts for one in results), simulated)


def _simulated(
    plan: Plan, wanted: ReportOptions, remarks: _Remarks, tuples: int
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


def _load_curve(plan: Plan, wanted: ReportOptions) -> LoadCurve | None:
    """Latency at several loads; ``None`` without numba, or where a second takes too long."""
    per_s = sum(DEFAULT_LOADS) * (plan.predicted.throughput_per_s or 0.0)
    if not has_numba() or per_s * _LEAST_SECONDS > _MOST_CURVE_TUPLES:
        return None
    return load_curve(
        plan.problem, plan.placement, tuples=_CURVE_TUPLES, seed=wanted.seed, stop=wanted.stop
    )


def _check_fits(simulation: Simulation, plan: Plan) -> None:
    """A simulation of something else would be a lie beside this plan."""
    machines = {machine.name for machine in plan.problem.cluster.machines}
    names = tuple(topology.name for topology in plan.problem.topologies)
    if simulation.topologies != names or not set(simulation.machines) <= machines:
        raise InputError(
            f"the simulation is of {', '.join(simulation.topologies)} on {simulation.cluster}, not "
            f"of {', '.join(names)} on {plan.problem.cluster.name}"
        )


def page(
    report: PlanReport, wanted: ReportOptions, command: str, when: str, seconds: float
) -> Document:
    """The report as a page, with where it comes from."""
    plan = report.plan
    profile = plan.problem.profile
    parameters = [f"{name} {value}" for name, value in plan.parameters.items()]
    about = {
        "costs": f"profile {profile.name} ({costs_origin(profile)})"
        if profile
        else "requests only",
        "scheduler": ", ".join([plan.scheduler, f"seed {plan.seed}", *parameters]),
        "seeds of the comparison": f"{wanted.seed} to {wanted.seed + wanted.seeds - 1}",
    }
    return plan_report_page(
        replace(report, provenance=Provenance.here(command, when, seconds).named | about)
    )

"""What a report says about a plan: judge it here, compare schedulers, simulate it.

:mod:`penstock.report.plan_report` makes a page of what is gathered here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.app.plans import plan as plan_problem
from penstock.app.report_options import ReportOptions, ReportRemarks
from penstock.app.report_rivals import carrying_more, compared
from penstock.app.report_simulations import MOST_TUPLES, load_curve_of, simulated
from penstock.change.diff import diff
from penstock.errors import InputError, NoPlanError, PenstockError
from penstock.evaluate.bound import KIND, Bound, upper_bound
from penstock.evaluate.predict import predict
from penstock.files.simulation_file import Simulation
from penstock.model.outcome import Outcome
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.cost_caveats import costs_origin
from penstock.planning.counts import COUNTS_FROM_NOTE
from penstock.planning.facts import Facts, facts
from penstock.planning.standing import standing
from penstock.report.page import Document, Source
from penstock.report.plan_report import PlanReport, Rival, plan_report_page
from penstock.report.provenance import Provenance


def report_on_plan(plan: Plan, wanted: ReportOptions) -> PlanReport:
    """A plan that is given: judged by this cost model, whatever its file says of it."""
    remarks = ReportRemarks()
    bound = upper_bound(plan.problem) if plan.problem.has_rates else None
    judged_here, certificate = _judged_here(plan, bound, remarks)
    own = _facts(judged_here, bound)
    free = _with_free_counts(plan)
    rivals = compared(free, wanted, bound, remarks)
    rivals += carrying_more(free, own, wanted, bound, remarks)
    this = Rival("this plan", (own,))
    if all(rival.first.scale != own.scale for rival in rivals if rival.name == plan.scheduler):
        rivals = [*rivals, replace(this, name=f"this plan ({plan.scheduler})")]
    findings = _findings(judged_here, own, certificate, rivals, wanted, remarks)
    if any(known.plan is plan for known in wanted.known.values()):
        return replace(findings, certificate=Source.RUN)  # nothing of it comes from a file
    return replace(findings, contingencies=Source.GIVEN)


def report_on_problem(problem: Problem, scheduler: str, wanted: ReportOptions) -> PlanReport:
    """A problem that is planned here; the report is about ``scheduler``'s plan."""
    remarks = ReportRemarks()
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
    free = _with_free_counts(planned.plan)
    rivals = compared(free, asked, bound, remarks)
    rivals += carrying_more(free, planned.facts, asked, bound, remarks)
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


def _judged_here(plan: Plan, bound: Bound | None, remarks: ReportRemarks) -> tuple[Plan, Source]:
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
    remarks: ReportRemarks,
) -> PlanReport:
    before = wanted.before
    if before is not None:
        before, _ = _judged_here(before, None, ReportRemarks())
    has_rate = plan.problem.has_rates and plan.predicted.scale is not None
    simulation, source = wanted.simulation, Source.GIVEN
    if simulation is not None:
        _check_fits(simulation, plan)
    elif has_rate and wanted.simulate and not wanted.stop():
        wanted.progress("simulating")
        simulation, source = simulated(plan, wanted, remarks, MOST_TUPLES), Source.RUN
    curve = None
    if has_rate and wanted.simulate and not wanted.stop():
        wanted.progress("simulating latency against load")
        curve = load_curve_of(plan, wanted)
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

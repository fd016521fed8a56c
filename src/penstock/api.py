"""The Python interface people script against; the command line is a thin layer over it.

>>> import penstock
>>> problem = penstock.problem("linear", "nasiri-large")
>>> result = penstock.plan(problem, scheduler="hetero")
>>> result.facts.gap
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock import examples, schedulers
from penstock.answers import Comparison, Planned
from penstock.engines import Engine
from penstock.engines.spark.planning import SCHEDULER as SPARK_SCHEDULER
from penstock.engines.spark.planning import as_spark_runs_it
from penstock.errors import (
    Finding,
    ForeignSchedulerError,
    InputError,
    TooMuchWorkError,
    UnknownNameError,
    shown,
)
from penstock.evaluate.assess import Assessment
from penstock.evaluate.bound import Bound, hottest_key_in_words, upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.predict import OPTIMAL_WITHIN, RATE_ASKED_FOR, predict
from penstock.evaluate.terms import term_violations
from penstock.files.store import load
from penstock.inputs import Source, is_folder, natural_cluster, resolved, terms_from
from penstock.model.cluster import Cluster
from penstock.model.outcome import RATE, Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.plan import Contingency, Plan, Scalar
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.speed import estimate_by_speed
from penstock.model.terms import Terms
from penstock.model.topology import Topology
from penstock.report.numbers import percent
from penstock.schedulers.admission import by_priority, has_priorities
from penstock.schedulers.base import Budget, Scheduler, parameters_of
from penstock.schedulers.counts import changed_counts, missing_counts, with_counts_of
from penstock.schedulers.foreign import naming_its_package, solve
from penstock.schedulers.lost.by_requests import contingencies_by_requests
from penstock.schedulers.shortage import refutation
from penstock.simulate.load_curve import DEFAULT_LOADS, LoadCurve
from penstock.simulate.load_curve import load_curve as simulate_loads
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Scenario
from penstock.simulate.work import MOST_TUPLES

DEFAULT_SCHEDULER = "penstock"
#: What plans for an engine, unless one is asked for by name.
SCHEDULER_FOR = {Engine.STORM: DEFAULT_SCHEDULER, Engine.SPARK: SPARK_SCHEDULER}
DEFAULT_COUNTS_FROM = "hetero"
#: In place of a scheduler's name: every scheduler keeps the counts that topologies state.
COUNTS_FROM_TOPOLOGY = "topology"
#: How a plan says that its scheduler only placed, and whose counts it placed.
COUNTS_FROM_NOTE = "instance counts from"


def problem(
    topologies: Topology | Source | Sequence[Topology | Source],
    cluster: Cluster | Source | None = None,
    profile: Profile | Source | None = None,
    *,
    weighted: bool = False,
    headroom: float | None = None,
    met: float | None = None,
    terms: Terms | Source | None = None,
    engine: Engine = Engine.STORM,
    estimate_from: str | None = None,
) -> Problem:
    """A problem from values, files, dicts or the names of shipped examples.

    Without a cluster, an example's own is taken; a recorded production folder brings its own.
    For Spark, every stream is divided by shares and instance counts are left to the planner.
    Without a profile, a shipped one that covers the components on these machines is used if there
    is one; otherwise the topologies' requests must do. ``estimate_from`` names a machine type of
    the profile whose costs, divided by relative speed, are taken for types on which it has none.
    """
    given = [topologies] if isinstance(topologies, (Topology, str, Path, Mapping)) else topologies
    findings: list[Finding] = []
    if cluster is None and len(given) == 1 and is_folder(given[0]):
        recorded = load(given[0])  # type: ignore[arg-type]
        if isinstance(recorded, Problem):
            given, cluster = recorded.topologies, recorded.cluster
    parsed = [resolved(t, Topology, "topology", findings) for t in given]
    if cluster is None and not findings:
        cluster = natural_cluster(given)
    machines = resolved(cluster, Cluster, "cluster", findings) if cluster is not None else None
    costs = resolved(profile, Profile, "profile", findings) if profile is not None else None
    if findings or machines is None or any(t is None for t in parsed):
        raise InputError(*findings)
    known = [t for t in parsed if t is not None]
    if headroom is not None:
        machines = replace(machines, headroom=_fraction("headroom", headroom))
    if profile is None:
        costs = examples.profile_for(known, machines)
    if estimate_from is not None:
        if costs is None:
            raise InputError(f"estimates from {estimate_from} need a profile (--profile)")
        costs = estimate_by_speed(costs, machines, estimate_from)
    if met is not None:
        if costs is None:
            raise InputError("met changes a profile, and this problem has none")
        costs = costs.with_met(_not_negative("met", met))
    if engine is Engine.SPARK:
        known = [as_spark_runs_it(t) for t in known]
    built = build(known, machines, costs, weighted=weighted or engine is Engine.SPARK)
    return built if terms is None else built.with_terms(terms_from(terms))


def profile(source: Profile | Source) -> Profile:
    """A profile from a file, a dict or the name of a shipped one."""
    findings: list[Finding] = []
    costs = resolved(source, Profile, "profile", findings)
    if costs is None:
        raise InputError(*findings)
    return costs


def plan(
    problem: Problem,
    scheduler: str = DEFAULT_SCHEDULER,
    *,
    parameters: Mapping[str, Scalar] | None = None,
    seed: int = 0,
    counts_from: str = DEFAULT_COUNTS_FROM,
    budget: Callable[[], Budget] = Budget,
    bound: Bound | None = None,
    if_lost: int = 0,
    same_counts: bool = False,
    progress: Callable[[str], None] = lambda _text: None,
) -> Planned:
    """Plan a problem. A scheduler that only places gets missing counts from ``counts_from``.

    With ``counts_from="topology"`` those that decide counts themselves keep the topologies' too.
    Where topologies have demands and priorities and not all demands can be carried, those of the
    highest priority are carried first. ``if_lost`` adds where instances go when a machine is lost,
    if there are no more kinds of losses than that; with ``same_counts`` none starts or ends then,
    as a running Storm must have it, nor without rates, where they go by what they ask for.
    """
    chosen = configured(scheduler, parameters or {})
    if counts_from == COUNTS_FROM_TOPOLOGY:
        problem = _with_stated_counts(problem, seed, budget)
        counts_from = DEFAULT_COUNTS_FROM

    def once(part: Problem, known: Bound | None = None) -> Planned:
        return _planned(part, scheduler, chosen, seed, counts_from, budget, known)

    planned = once(problem, bound)
    if planned.assessment is not None and has_priorities(problem):
        reached = planned.assessment.sustainable_scale
        if reached < 1.0:
            progress("cutting demands by priority")
            cut = by_priority(problem, reached, lambda part: once(part).facts.scale or 0.0)
            planned = planned if cut is None else _with_cuts(once(cut))
    if if_lost and planned.plan is not None:
        progress("what if a machine is lost")
        lost = _if_lost(planned.plan, if_lost, budget, same_counts=same_counts)
        planned = replace(planned, plan=replace(planned.plan, if_lost=lost))
    return planned


def _if_lost(
    made: Plan, most_kinds: int, budget: Callable[[], Budget], *, same_counts: bool
) -> tuple[Contingency, ...]:
    """Where instances go when a machine is lost, by rates where they are known."""
    if not made.problem.has_rates:
        return contingencies_by_requests(made.problem, made.placement, most_kinds)
    # scipy's solvers take longer to load than most commands to run.
    from penstock.schedulers.lost.same_counts import contingencies_same_counts
    from penstock.schedulers.lost.with_rates import contingencies

    if same_counts:
        return contingencies_same_counts(made.problem, made.placement, budget())
    return contingencies(made.problem, made.placement, budget(), most_kinds)


def _with_cuts(planned: Planned) -> Planned:
    """The plan with a note of whose demand was cut, and to what."""
    if planned.plan is None:
        return planned
    parts = ", ".join(f"{name} {percent(w)}" for name, w in planned.problem.terms.weights)
    note = f"not all demands can be carried; by priority they are planned for: {parts}"
    notes = (*planned.plan.notes, note)
    return replace(planned, plan=replace(planned.plan, notes=notes))


def _planned(
    problem: Problem,
    scheduler: str,
    chosen: Scheduler,
    seed: int,
    counts_from: str,
    budget: Callable[[], Budget],
    bound: Bound | None,
) -> Planned:
    """One scheduler's answer, judged."""
    notes: tuple[str, ...] = ()
    if bound is None and problem.has_rates:
        bound = upper_bound(problem)
    impossible = refutation(problem, bound)
    if impossible is not None and (len(problem.topologies) == 1 or impossible.resource == RATE):
        refuted = Outcome(None, (impossible,), impossible=impossible)
        return Planned(scheduler, problem, None, refuted, None, bound, 0.0)
    if not chosen.looks.counts and missing_counts(problem):
        source = _counts_outcome(problem, counts_from, seed, budget)
        if source.placement is None:
            source = replace(
                source, notes=(f"no instance counts from {counts_from}",), impossible=impossible
            )
            return Planned(scheduler, problem, None, source, None, bound, 0.0)
        problem = with_counts_of(problem, source.placement)
        notes = (f"{COUNTS_FROM_NOTE} {counts_from}",)
    if bound is not None and bound.hottest_key is not None:
        notes = (*notes, hottest_key_in_words(problem, bound.hottest_key))
    started = time.perf_counter()
    outcome = solve(scheduler, chosen, problem, budget(), np.random.default_rng(seed))
    seconds = time.perf_counter() - started
    if impossible is not None and not outcome.feasible:  # all together; some of them may fit
        outcome = replace(outcome, impossible=impossible)
    placement = outcome.placement
    if placement is None:
        return Planned(scheduler, problem, None, outcome, None, bound, seconds)
    # The scheduler's own bound counts where it is tighter; more than was asked for nobody wants.
    bounds = [(bound.scale, bound.kind)] if bound else []
    asked = problem.scale_asked
    if asked is not None and capacity(problem, placement).scale >= asked:
        bounds.append((asked, RATE_ASKED_FOR))
    if outcome.bound_scale is not None:
        bounds.append((outcome.bound_scale, outcome.bound_kind))
    predicted, judged = predict(
        problem, placement, *min(bounds, key=lambda b: b[0], default=(None, ""))
    )
    if not outcome.missed:
        outcome = replace(outcome, missed=_left_undone(problem, placement, judged))
    made = Plan(
        problem=problem,
        placement=placement,
        scheduler=scheduler,
        parameters=_settings(chosen),
        seed=seed,
        predicted=predicted,
        notes=(*notes, *outcome.notes, *_note_on_counts(problem, placement)),
    )
    return Planned(scheduler, problem, made, outcome, judged, bound, seconds)


def compare(
    problem: Problem,
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    counts_from: str = DEFAULT_COUNTS_FROM,
    given_counts: bool = False,
    budget: Callable[[], Budget] = Budget,
    progress: Callable[[str], None] = lambda _name: None,
) -> Comparison:
    """Plan a problem with several schedulers, all of them unless named.

    ``given_counts`` runs every scheduler on the same instance counts, as the papers do.
    """
    chosen = (
        list(names) if names else [n for n, r in schedulers.registered().items() if r.scheduler]
    )
    for name in chosen:
        schedulers.get(name)
    bound = upper_bound(problem) if problem.has_rates else None
    if counts_from == COUNTS_FROM_TOPOLOGY:
        problem = _with_stated_counts(problem, seed, budget)
        counts_from = DEFAULT_COUNTS_FROM
    if given_counts and missing_counts(problem):
        source = _counts_outcome(problem, counts_from, seed, budget)
        if source.placement is not None:
            problem = with_counts_of(problem, source.placement)
    if given_counts and not missing_counts(problem):
        # Laid down for those that would decide counts themselves, too.
        problem = problem.with_counts([count or 0 for count in problem.counts_asked])
    rows = []
    for name in chosen:
        progress(name)
        try:
            row = plan(
                problem, name, seed=seed, counts_from=counts_from, budget=budget, bound=bound
            )
        except (ForeignSchedulerError, TooMuchWorkError) as error:
            # The others still have their answers.
            failed = Outcome(None, notes=(str(error).removeprefix(f"{name}: "),))
            row = Planned(name, problem, None, failed, None, bound, 0.0)
        rows.append(row)
    return Comparison(problem, bound, tuple(rows))


def simulate(
    plan: Plan,
    scenario: Scenario | Source | None = None,
    *,
    seed: int = 0,
    runs: int = 1,
    fluid: bool = False,
    most_tuples: float = MOST_TUPLES,
    progress: Callable[[float], None] = lambda _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> SimResult:
    """What happens when a plan runs: a calm minute unless a scenario says otherwise.

    Several runs with seeds of their own give intervals over them; one gives them over its parts.
    What would handle more than ``most_tuples`` is refused.
    """
    # Only who simulates needs numba, and waits for it.
    from penstock.simulate.simulate import simulate_placement

    given = Scenario() if scenario is None else scenario
    wanted = given if isinstance(given, Scenario) else load(given)
    if not isinstance(wanted, Scenario):
        kind = type(wanted).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not a scenario", str(given)[:200]))
    return simulate_placement(
        plan.problem,
        plan.placement,
        wanted,
        seed,
        runs=runs,
        fluid=fluid,
        most_tuples=most_tuples,
        progress=progress,
        stop=stop,
    )


def load_curve(
    plan: Plan,
    loads: Sequence[float] = DEFAULT_LOADS,
    *,
    scenario: Scenario | None = None,
    seconds: float | None = None,
    most_tuples: float = MOST_TUPLES,
    seed: int = 0,
    progress: Callable[[float, float], None] = lambda _load, _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> LoadCurve:
    """Latency against load: a plan simulated at parts of its sustainable rate."""
    return simulate_loads(
        plan.problem,
        plan.placement,
        scenario,
        loads,
        seconds=seconds,
        most_tuples=most_tuples,
        seed=seed,
        progress=progress,
        stop=stop,
    )


def configured(name: str, parameters: Mapping[str, Scalar]) -> Scheduler:
    """A scheduler with its parameters, checked against those it has."""
    kind = schedulers.get(name)
    known = {p.name: p for p in parameters_of(kind)}
    for given in parameters:
        if given not in known:
            raise UnknownNameError(f"parameter of scheduler {name}", given, known)
    typed = {key: _as_type_of(name, known[key], value) for key, value in parameters.items()}
    with naming_its_package(name):
        return kind(**typed)


def _as_type_of(scheduler: str, parameter: schedulers.Parameter, value: Scalar) -> Scalar:
    """The value in the type of the parameter's default; text from a command line is converted."""
    wanted = type(parameter.default)
    try:
        if wanted is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if wanted in (int, float):
            return wanted(str(value))
    except (KeyError, ValueError):
        words = {bool: "true or false", int: "a whole number", float: "a number"}[wanted]
        message = f"{scheduler}: {parameter.name} must be {words}, not {shown(value)}"
        raise InputError(message) from None
    return value


def _left_undone(
    problem: Problem, placement: Placement, judged: Assessment | None
) -> tuple[Shortfall, ...]:
    """What the terms ask for and a scheduler that does not plan by them does not do."""
    missed = [
        Shortfall(broken.resource, broken.needed, broken.available, machine=broken.place)
        for broken in term_violations(problem, placement)
    ]
    asked, demand = problem.scale_asked, float(problem.demand.sum())
    if judged is not None and asked is not None and judged.scale < asked * (1 - OPTIMAL_WITHIN):
        missed.append(Shortfall(RATE, asked * demand, judged.scale * demand))
    return tuple(missed)


def _settings(scheduler: Scheduler) -> dict[str, Scalar]:
    return {p.name: getattr(scheduler, p.name) for p in parameters_of(type(scheduler))}


def _counts_outcome(
    problem: Problem, name: str, seed: int, budget: Callable[[], Budget]
) -> Outcome:
    """The answer of the scheduler that is to decide the instance counts."""
    source = schedulers.get(name)
    if not source.looks.counts:
        raise InputError(f'scheduler "{name}" decides no counts; --counts-from needs one that does')
    if not problem.has_rates:
        problem.order  # noqa: B018 - a cycle is the better message
        labels = ", ".join(problem.labels[c] for c in missing_counts(problem))
        raise InputError(f"no instance counts for {labels}, and no profile to work them out")
    return solve(name, source(), problem, budget(), np.random.default_rng(seed))


def _with_stated_counts(problem: Problem, seed: int, budget: Callable[[], Budget]) -> Problem:
    """The problem with the topologies' counts laid down; where they state none, hetero decides."""
    if all(count is None for count in problem.counts_asked):
        raise InputError(
            f"--counts-from {COUNTS_FROM_TOPOLOGY}: no component states instances (for Spark the "
            "planner decides them)"
        )
    if not missing_counts(problem):
        return problem.with_counts([count or 0 for count in problem.counts_asked])
    source = _counts_outcome(problem, DEFAULT_COUNTS_FROM, seed, budget)
    if source.placement is None:
        raise InputError(f"no instance counts from {DEFAULT_COUNTS_FROM} for those not stated")
    return with_counts_of(problem, source.placement)


def _note_on_counts(problem: Problem, placement: Placement) -> tuple[str, ...]:
    changed = changed_counts(problem, placement)
    if not changed:
        return ()
    shown = ", ".join(changed[:4]) + (f" and {len(changed) - 4} more" if len(changed) > 4 else "")
    told = f"instances in the topology are a starting point here ({shown})"
    return (f"{told}; --counts-from {COUNTS_FROM_TOPOLOGY} keeps them",)


def _fraction(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise InputError(f"{name} must be at least 0 and below 1, not {value:g}")
    return value


def _not_negative(name: str, value: float) -> float:
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"{name} must be a number of at least 0, not {value:g}")
    return value

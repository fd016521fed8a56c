"""``penstock plan``: how many instances, on which machine, and what that carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli import engine_options, options, terms_options, what_if_options
from penstock.cli.output import say, show, write_file, write_json, write_text
from penstock.engines import registry
from penstock.engines.base import Ability
from penstock.errors import (
    EXIT_DONE,
    EXIT_FAILURE,
    EXIT_INFEASIBLE,
    EXIT_INTERRUPTED,
    UsageError,
)
from penstock.model.outcome import RATE
from penstock.planning.contingencies.losses import without_room
from penstock.planning.defaults import DEFAULT_COUNTS_FROM, DEFAULT_SCHEDULER
from penstock.planning.numbers import counted, rate
from penstock.planning.what_if import assume
from penstock.report.charts import require_charts
from penstock.report.pages.changes import changes_page
from penstock.report.pages.placement import placement_file
from penstock.report.pages.plan import plan_page

if TYPE_CHECKING:
    from penstock.engines.base import Engine
    from penstock.model.outcome import Shortfall
    from penstock.model.plan import Plan
    from penstock.model.problem import Problem
    from penstock.model.profile import Profile
    from penstock.model.snapshot import Snapshot


def command(
    topologies: options.Topologies = None,
    example: options.Example = None,
    cluster: options.Cluster = None,
    profile: options.Profile = None,
    estimate_from: options.EstimateFrom = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            "-s",
            help="One of penstock schedulers. Default: penstock; for Spark, proportional.",
        ),
    ] = None,
    engine: engine_options.EngineName = registry.DEFAULT_ENGINE,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Set a parameter of the scheduler.")
    ] = None,
    current: Annotated[
        Path | None, typer.Option("--current", help="Plan in force: show what would change.")
    ] = None,
    terms: terms_options.TermsFile = None,
    carry: terms_options.Carry = None,
    minimize: terms_options.Minimize = None,
    give_up: terms_options.GiveUp = None,
    latency: terms_options.Latency = None,
    avoid: terms_options.Avoid = None,
    apart: terms_options.Apart = None,
    fix: terms_options.Fix = None,
    most_moves: terms_options.MostMoves = None,
    add: what_if_options.Add = None,
    remove: what_if_options.Remove = None,
    demand: what_if_options.Demand = None,
    if_lost: Annotated[
        bool | None,
        typer.Option(
            "--if-lost/--no-if-lost",
            help="Work out what happens when a machine is lost (default: where that is quick).",
        ),
    ] = None,
    same_counts: Annotated[
        bool,
        typer.Option(
            "--same-counts",
            help="When a machine is lost, move instances but start and stop none, as Storm does.",
        ),
    ] = False,
    counts_from: options.CountsFrom = DEFAULT_COUNTS_FROM,
    weighted: options.Weighted = False,
    headroom: options.Headroom = None,
    met: options.Met = None,
    seed: options.Seed = 0,
    seconds: options.Seconds = None,
    iterations: options.Iterations = None,
    all_machines: Annotated[
        bool, typer.Option("--all-machines", help="List every machine.")
    ] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw who runs where.")] = None,
    taken_from: engine_options.From = None,
    nimbus: engine_options.Nimbus = None,
    ui: engine_options.Ui = None,
    storm_yaml: engine_options.StormYaml = None,
    types: engine_options.Types = None,
    more: engine_options.EngineOptions = None,
    agents: options.Agents = None,
    telemetry: engine_options.Telemetry = None,
    since: engine_options.Since = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Plan topologies on a cluster; changes nothing, prints the plan, keeps it with --out.

    penstock plan --example linear --cluster nasiri-large

    penstock plan clicks.yaml -c cluster.yaml -p profile.yaml --add epyc-2021=3 --demand x2
    """
    if svg:
        require_charts()
    scheduler = scheduler or registry.get(taken_from or engine).capabilities.scheduler
    running = None
    if taken_from is not None:
        target = engine_options.engine(
            taken_from, more, nimbus=nimbus, ui=ui, storm_yaml=storm_yaml, types=types
        )
        registry.require(target, Ability.SNAPSHOT)
        running = app.running(
            target, topologies, _costs(target, profile, telemetry, since), say=say,
            weighted=weighted, headroom=headroom, met=met, estimate_from=estimate_from,
            told=options.machine_table(agents),
        )  # fmt: skip
        problem = running.problem
    elif telemetry or since:
        raise UsageError("--telemetry and --since need --from storm --profile live")
    else:
        problem = options.make_problem(
            topologies, example, cluster, profile, weighted=weighted, headroom=headroom, met=met,
            engine=engine, estimate_from=estimate_from, agents=agents,
        )  # fmt: skip
    before = options.load_plan(current) if current else running.before if running else None
    asked = terms_options.Given(
        terms, carry, minimize, give_up, latency, avoid, apart, fix, most_moves
    )
    changed, assumed = assume(problem, what_if_options.parse(add, remove, demand))
    changed = terms_options.with_terms(changed, asked, before)

    def planned_for(one: Problem, kinds_of_losses: int) -> app.PlanAnswer:
        return app.plan(
            one,
            scheduler,
            parameters=options.parse_settings(setting),
            seed=seed,
            counts_from=counts_from,
            budget=budget,
            if_lost=kinds_of_losses,
            same_counts=same_counts or (running is not None and running.same_counts),
        )

    with options.stoppable_budget(seconds, iterations) as budget:
        planned = planned_for(changed, app.kinds_of_losses(changed, if_lost))
        beside = ""
        if assumed and planned.plan and not (as_json or budget.stopped):
            say("planning without the change, to compare")
            beside = what_if_options.difference(
                planned.plan,
                lambda: planned_for(terms_options.with_terms(problem, asked, before), 0).plan,
            )
    if planned.plan is None:
        if as_json:
            write_json(planned.to_dict())
        return _say_why_not(planned, stopped=budget.stopped)
    plan = running.stamped(planned.plan) if running else planned.plan
    plan = replace(plan, notes=(*plan.notes, *(f"what if: {text}" for text in assumed)))
    _write(plan, out, svg)
    if as_json:
        write_text(app.dumps(plan))
    else:
        _show(plan, before, beside, all_machines=all_machines)
    for shortfall in planned.outcome.shortfalls:
        say(f"not placed: {shortfall}")
    _say_what_is_written(out, svg)
    _say_what_is_left_out(plan, asked=if_lost)
    if planned.outcome.interrupted:
        say(f"{scheduler} was stopped early; this is its best plan so far")
    return EXIT_INTERRUPTED if budget.stopped else _verdict(planned)


def _verdict(planned: app.PlanAnswer) -> int:
    """What a plan leaves undone, told; impossible only where that is proven."""
    outcome = planned.outcome
    for missed in outcome.missed:
        if missed.resource == RATE:
            say(_not_reached(planned, missed))
    if any(missed.resource != RATE for missed in outcome.missed):
        say(
            f"the plan of {planned.scheduler} breaks limits that were asked for; "
            f"-s {DEFAULT_SCHEDULER} keeps them"
        )
    if outcome.feasible:
        return EXIT_DONE
    if outcome.impossible is not None:
        say(f"no plan places everything: {outcome.impossible}")
        return EXIT_INFEASIBLE
    return EXIT_FAILURE


def _not_reached(planned: app.PlanAnswer, missed: Shortfall) -> str:
    """The best that was found beside what was asked for, and what is known beyond it."""
    asked, best = rate(missed.needed), rate(missed.available)
    ours = planned.scheduler == DEFAULT_SCHEDULER
    whose = "the best plan found" if ours else f"the plan of {planned.scheduler}"
    words = f"not found: {asked} {missed.resource} asked for, {whose} carries {best}"
    if planned.bound is None:
        return words
    most = planned.bound.scale * float(planned.problem.demand.sum())
    return f"{words}; a better plan may exist (no plan can exceed {rate(most)})"


def _costs(
    target: Engine, profile: str | None, telemetry: list[str] | None, since: str | None
) -> str | Callable[[Snapshot], Profile] | None:
    """The profile by name, or measured now from the cluster's own telemetry."""
    from penstock.app.measuring import LIVE

    if profile != LIVE:
        if telemetry or since:
            raise UsageError("--telemetry and --since need --profile live")
        return profile
    return app.live_profile(target, engine_options.telemetry(target, telemetry, since), say=say)


def _write(plan: Plan, out: Path | None, svg: Path | None) -> None:
    if out:
        write_file(out, app.dumps(plan, json=out.suffix.lower() not in (".yaml", ".yml")))
    if svg:
        write_file(svg, placement_file(plan))


def _show(plan: Plan, before: Plan | None, beside: str, *, all_machines: bool) -> None:
    show(plan_page(plan, all_machines=all_machines))
    if beside:
        show("", beside)
    if before is not None:
        show("", changes_page(app.diff(before, plan)))


def _say_what_is_written(*paths: Path | None) -> None:
    for path in paths:
        if path:
            say(f"wrote {path}")


def _say_what_is_left_out(plan: Plan, *, asked: bool | None) -> None:
    if asked is None and not plan.if_lost:
        why = "takes long to work out" if plan.problem.has_rates else "makes a long plan"
        say(f"left out: what happens when a machine is lost ({why}); --if-lost adds it")
    if not plan.problem.has_rates:
        _say_what_fits_nowhere(plan)


def _say_what_fits_nowhere(plan: Plan) -> None:
    short = without_room(plan)
    if not short:
        return
    machine, number = max(short, key=lambda loss: loss[1])
    others = len(short) - 1
    more = f"; the same is true of {counted(others, 'other machine')}" if others else ""
    say(f"if {machine} is lost, no room is left for {counted(number, 'instance')} of it{more}")


def _say_why_not(planned: app.PlanAnswer, *, stopped: bool) -> int:
    """Why there is no plan, and the exit code for that."""
    if planned.outcome.impossible is not None:
        say(f"impossible, no plan exists: {planned.outcome.impossible}")
        return EXIT_INFEASIBLE
    if planned.outcome.interrupted:
        say(f"{planned.scheduler} was stopped before it had a plan")
        return EXIT_INTERRUPTED if stopped else EXIT_FAILURE
    for shortfall in planned.outcome.shortfalls:
        say(f"{planned.scheduler} found no plan: {shortfall}")
    say("a plan may still exist; another scheduler may find one")
    return EXIT_FAILURE

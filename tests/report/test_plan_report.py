"""What a report says of a plan is what the cost model says, whatever the view."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.builders import cluster, place, profile, topology
from tests.report.reports import hostile_problem, small_facts, small_report

from penstock import app
from penstock.app import report_simulations, reports
from penstock.app.report_options import ReportOptions
from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.files import examples
from penstock.model.plan import Plan
from penstock.model.problem import build as build_problem
from penstock.model.terms import Terms
from penstock.planning.facts import Facts
from penstock.planning.machine_use import machine_uses
from penstock.report.page import Document, Figure, KeyFigures, Note, Source, Table, Tone
from penstock.report.page.views import VIEWS
from penstock.report.page.wording import words
from penstock.report.pages.simulation import recorded
from penstock.report.plan_report import Rival, plan_report_page
from penstock.simulate.scenario import Down, Replace, Scenario, Slow

QUICK = ReportOptions(schedulers=("default",), seeds=1, simulate=False)


def section(page: Document, title: str):
    return next(s for s in page.sections if s.title == title)


def key_figures(page: Document, title: str) -> dict[str, object]:
    block = next(b for b in section(page, title).blocks if isinstance(b, KeyFigures))
    return {one.name: one.number for one in block.figures}


def table(page: Document, title: str, caption: str) -> Table:
    for block in section(page, title).blocks:
        found = block.data if isinstance(block, Figure) else block
        if isinstance(found, Table) and found.caption.startswith(caption):
            return found
    raise LookupError(caption)


def column(found: Table, name: str, unit: str = "") -> list:
    at = next(i for i, c in enumerate(found.columns) if c.name == name and unit in ("", c.unit))
    return [row[at] for row in found.rows]


def plan_of(problem, scheduler="hetero"):
    made = app.plan(problem, scheduler).plan
    assert made is not None
    return made


def test_the_answer_comes_first_and_how_it_was_made_last():
    made = {"Penstock": "1"}
    titles = [s.title for s in plan_report_page(replace(small_facts(), provenance=made)).sections]
    assert titles == [
        *("The answer", "The topology", "The machines", "Where the limit is", "Before and after"),
        *("Schedulers compared", "Simulation", "How this was made"),
    ]


def test_rate_and_gap_are_those_of_the_cost_model():
    plan = small_facts().plan
    figures = key_figures(small_report(), "The answer")
    carried = capacity(plan.problem, plan.placement).scale * float(plan.problem.demand.sum())
    bound = upper_bound(plan.problem).scale * float(plan.problem.demand.sum())
    assert figures["It carries"].value == pytest.approx(carried)
    assert figures["How good"].value == pytest.approx(100 * carried / bound)
    assert figures["Instances"].value == len(plan.placement)


def test_components_and_streams_have_their_rates():
    plan = small_facts().plan
    judged = assess(plan.problem, plan.placement)
    rates = column(table(small_report(), "The topology", "Components"), "input")
    assert rates == pytest.approx(judged.component_rate_per_s.tolist())
    # Linear: every tuple goes once from low to mid and once from mid to high.
    streams = column(table(small_report(), "The topology", "Streams"), "rate")
    assert streams == pytest.approx([float(judged.rate_per_s[0])] * 2)


def test_every_machine_has_its_load():
    plan = small_facts().plan
    loads = column(table(small_report(), "The machines", "Every machine"), "CPU", "%")
    assert loads == pytest.approx([100 * use.utilisation for use in machine_uses(plan)])


def test_the_first_machine_to_fill_up_is_full_at_the_plans_rate():
    found = small_facts()
    full_at = column(table(small_report(), "Where the limit is", "Machines in the order"),
                     "CPU full at")  # fmt: skip
    assert full_at[0] == pytest.approx(found.rate_per_s)
    assert full_at == sorted(full_at)


def test_before_and_after_are_counted():
    found = small_facts()
    figures = key_figures(small_report(), "Before and after")
    assert figures["Instances that move"].value == found.changes.moves
    before, after = found.before.predicted, found.plan.predicted
    rates = table(small_report(), "Before and after", "Rates")
    assert column(rates, "before") == [before.scale]
    gain = column(rates, "change")[0]
    assert gain.value == pytest.approx(100 * (after.scale / before.scale - 1))


def test_schedulers_have_a_spread_over_their_seeds():
    rates = column(table(small_report(), "Schedulers compared", "The schedulers"), "rate")
    # Neither throws dice, so both seeds give the same plan.
    assert [(n.low, n.high) for n in rates] == [(n.value, n.value) for n in rates]
    notes = [b.text for b in section(small_report(), "Schedulers compared").blocks
             if isinstance(b, Note)]  # fmt: skip
    assert "The same plan with every seed: default, hetero." in notes


def test_a_simulation_from_a_file_is_marked():
    figures = key_figures(small_report(), "Simulation")
    assert {number.source for number in figures.values()} == {Source.GIVEN}
    assert figures["99 % within"].value == 90.0
    assert "90‡" in VIEWS["markdown"](small_report())
    assert small_report().sources == (Source.RUN, Source.GIVEN)


class _Data(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []

    def handle_starttag(self, tag, attrs):
        if tag == "data":
            self.found.append(float(dict(attrs)["value"]))


def test_the_views_of_a_report_have_the_same_numbers():
    page = small_report()
    known = [float(n.value) for n in page.numbers() if n.value is not None]
    assert len(known) > 100
    lines = csv.DictReader(io.StringIO(VIEWS["csv"](page)))
    in_csv = [float(x["value"]) for x in lines if x["source"] != "text" and x["value"]]
    assert in_csv == pytest.approx(known)
    in_json: list[float] = []

    def walk(value):
        if isinstance(value, dict):
            if isinstance(value.get("value"), (int, float)):
                in_json.append(float(value["value"]))
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                walk(item)

    walk(json.loads(VIEWS["json"](page)))
    assert in_json == pytest.approx(known)
    pytest.importorskip("matplotlib")
    parser = _Data()
    parser.feed(VIEWS["html"](page))
    assert parser.found == pytest.approx(known)


def test_a_plan_that_breaks_limits_is_not_praised():
    problem = hostile_problem()
    small = replace(
        problem.cluster, types=tuple(replace(t, slots=1) for t in problem.cluster.types)
    )
    plan = plan_of(replace(problem, cluster=small))
    crowded = replace(plan, placement=replace(plan.placement, slot=plan.placement.slot + 3))
    page = plan_report_page(reports.report_on_plan(crowded, QUICK))
    blocks = section(page, "The answer").blocks
    assert any(isinstance(b, Note) and b.tone is Tone.BAD for b in blocks)
    assert "How good" not in key_figures(page, "The answer")
    assert "Do not apply this plan" in VIEWS["markdown"](page)


def test_a_problem_with_requests_only_has_no_rate_and_says_so():
    linear = examples.load_topology("linear")
    asking = replace(
        linear,
        components=tuple(
            replace(c, cpu_points=10.0, memory_mb=100.0, instances=2) for c in linear.components
        ),
    )
    problem = replace(app.problem("linear", "nasiri-testbed"), topologies=(asking,), profile=None)
    page = plan_report_page(reports.report_on_problem(problem, "default", QUICK))
    titles = {s.title for s in page.sections}
    assert "Where the limit is" not in titles
    assert "there is no rate to promise" in VIEWS["markdown"](page)
    for view in VIEWS:
        if view != "html" or pytest.importorskip("matplotlib"):
            assert VIEWS[view](page)


def test_a_plan_by_requests_says_how_often_a_lost_machine_has_room_elsewhere():
    asked = {"cpu_points": 10.0, "memory_mb": 600.0, "instances": 2}
    # Each of the two machines is too full for the instance of the other.
    problem = build_problem(topology("a", a=asked), cluster(M1=2, every={"memory_mb": 1000.0}))
    plan = app.plan(problem, "penstock", if_lost=10).plan
    page = plan_report_page(reports.report_on_plan(plan, QUICK))
    assert key_figures(page, "The answer")["If one machine is lost"].value == 0


def test_several_topologies_share_a_report():
    problem = app.problem(["linear", "star"], "nasiri-small")
    page = plan_report_page(reports.report_on_problem(problem, "hetero", QUICK))
    figures = [b for b in section(page, "The topology").blocks if isinstance(b, Figure)]
    assert [f.alt.split(".")[0] for f in figures] == ["linear", "star"]


def test_a_tighter_certificate_of_the_file_is_marked_as_given():
    plan = small_facts().plan
    told = replace(plan.predicted, bound_scale=plan.predicted.scale, bound_kind="somebody's proof")
    page = plan_report_page(reports.report_on_plan(replace(plan, predicted=told), QUICK))
    figures = key_figures(page, "The answer")
    assert figures["How good"].value == pytest.approx(100.0)
    assert figures["How good"].source is Source.GIVEN


def test_a_certificate_of_a_plan_made_just_now_is_not_from_a_file():
    problem = app.problem("linear", "nasiri-testbed")
    planned = app.plan(problem, "hetero")
    told = replace(planned.plan.predicted, bound_scale=planned.plan.predicted.scale)
    plan = replace(planned.plan, predicted=told)
    wanted = replace(QUICK, known={"hetero": replace(planned, plan=plan)})
    page = plan_report_page(reports.report_on_plan(plan, wanted))
    assert page.sources == (Source.RUN,)


def test_a_promise_of_the_file_that_does_not_hold_is_told():
    plan = small_facts().plan
    told = replace(plan.predicted, scale=2 * plan.predicted.scale)
    found = reports.report_on_plan(replace(plan, predicted=told), QUICK)
    assert found.remarks[0].startswith("the plan's file promises +100.0 %")
    assert found.plan.predicted.scale == pytest.approx(plan.predicted.scale)


@pytest.mark.slow
def test_the_same_plan_gives_the_same_page():
    pytest.importorskip("matplotlib")
    plan = small_facts().plan
    wanted = replace(QUICK, schedulers=())
    one, two = (
        VIEWS["html"](plan_report_page(reports.report_on_plan(plan, wanted))) for _ in range(2)
    )
    assert one == two


def test_heat_of_a_full_machine_is_not_more_than_full():
    loads = column(table(small_report(), "The machines", "Every machine"), "CPU", "%")
    assert np.max(loads) <= 100 * (1 + 1e-9)


def test_what_changes_in_a_simulation_is_recorded():
    pytest.importorskip("numba")
    plan = small_facts().plan
    changes = (Down(2.0, "M1-1", until_s=3.0), Slow(1.0, "M2-1", 0.5), Replace(2.5, plan, 0.5))
    result = app.simulate(plan, replace(Scenario(), duration_s=4.0, changes=changes))
    one = recorded(result)
    assert one.changes == (
        *((1.0, "M2-1 slow"), (2.0, "M1-1 down"), (3.0, "M1-1 back"), (3.0, "new plan")),
    )
    assert one.utilisation.shape == (4, 3)
    assert one.present.shape == (4, 3)


def test_a_scheduler_that_needs_rates_is_left_out_where_there_are_none():
    linear = examples.load_topology("linear")
    parts = tuple(replace(c, cpu_points=10.0, instances=2) for c in linear.components)
    problem = replace(
        app.problem("linear", "nasiri-testbed"),
        topologies=(replace(linear, components=parts),),
        profile=None,
    )
    wanted = replace(QUICK, schedulers=("default", "hetero"))
    found = reports.report_on_problem(problem, "default", wanted)
    assert [rival.name for rival in found.rivals] == ["default"]
    assert any(text.startswith("hetero is left out") for text in found.remarks)


def test_every_scheduler_that_carries_more_is_compared():
    """default's plan of Linear; isolation carries the same there, the others more."""
    problem = app.problem("linear", "nasiri-testbed")
    plan = plan_of(problem, "default")
    others = ("default", "isolation", "hetero", "proportional", "rstorm")
    found = reports.report_on_plan(plan, replace(QUICK, others=others))
    carried = {name: app.plan(problem, name).facts.scale for name in others}
    better = [name for name in others if carried[name] > carried["default"]]
    assert [rival.name for rival in found.rivals] == ["default", *better]
    assert "isolation" not in better
    assert "hetero" in better


def test_a_plan_too_fast_to_be_simulated_here_says_whose_and_has_no_curve(monkeypatch):
    """100 points at 1e-7 a tuple: 1e9 tuples/s; a second at six loads would take an hour."""
    monkeypatch.setattr(report_simulations, "load_curve", lambda *_, **__: pytest.fail("simulated"))
    problem = build_problem(topology("a"), cluster(M1=1), profile(a=1e-7))
    told = app.plan(problem, "hetero").plan
    assert told is not None
    found = reports.report_on_plan(told, ReportOptions(schedulers=()))
    assert found.simulation is None
    assert found.load_curve is None
    assert [text for text in found.remarks if text.startswith("the plan of hetero is not simul")]


def test_a_plan_that_breaks_limits_is_not_one_that_carries_more():
    """default spreads its two instances, also over the machine that is to be avoided."""
    graph = topology("a", a={"instances": 2})
    problem = build_problem(graph, cluster(M1=2), profile(a=1.0))
    problem = problem.with_terms(Terms(avoid=("M1-2",)))
    breaking = app.plan(problem, "default").facts
    assert breaking.violations
    plan = Plan(problem, place(problem, "a M1-1", "a M1-1"), "hand")
    found = reports.report_on_plan(plan, replace(QUICK, schedulers=(), others=("default",)))
    assert breaking.scale > found.facts.scale
    assert "default" not in [rival.name for rival in found.rivals]


@pytest.mark.slow
def test_counts_that_a_scheduler_was_lent_do_not_bind_the_others():
    """default only places; hetero's counts are no wish of anybody, others may choose their own."""
    problem = app.problem("linear", "nasiri-small")
    plan = plan_of(problem, "default")
    assert plan.problem.given_counts is not None
    wanted = replace(QUICK, schedulers=("penstock",))
    for found in (
        reports.report_on_plan(plan, wanted),
        reports.report_on_problem(problem, "default", wanted),
    ):
        free = next(rival for rival in found.rivals if rival.name == "penstock")
        assert free.rates == pytest.approx([app.plan(problem, "penstock").facts.scale])


def test_the_nearest_rivals_are_named_and_the_others_counted():
    rows = [Facts(name, placed=True, rate_per_s={"t": per_s}) for name, per_s in
            zip("abcdefg", (10.0, 80.0, 100.0, 50.0, 20.0, 40.0, 25.0), strict=True)]  # fmt: skip
    rivals = tuple(Rival(row.scheduler, (row,)) for row in rows)
    page = plan_report_page(replace(small_facts(), rivals=rivals))
    told = words(section(page, "Schedulers compared").blocks[0])
    assert told == (
        "c carries most: 25.0 % more than b, 100.0 % more than d, 150.0 % more than f, "
        "300.0 % more than g; 2 others carry less than these."
    )

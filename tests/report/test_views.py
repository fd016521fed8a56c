"""What people see: numbers, tables, pictures. Names are shown as they are, whatever they hold."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.builders import cluster, nasiri, place, profile, topology

import penstock
from penstock.change.diff import diff
from penstock.files.store import to_dict
from penstock.model.plan import Contingency, Plan, Prediction
from penstock.model.problem import Problem, build
from penstock.model.terms import Least, Terms
from penstock.planning import numbers
from penstock.planning.contingencies.by_requests import contingencies_by_requests
from penstock.planning.contingencies.losses import worst_loss
from penstock.planning.contingencies.same_counts import contingencies_same_counts
from penstock.planning.facts import ranked
from penstock.planning.machine_use import machine_uses
from penstock.report.charts import has_charts
from penstock.report.page import Document
from penstock.report.page.html import to_fragment
from penstock.report.page.terminal import to_text
from penstock.report.pages.changes import changes_page
from penstock.report.pages.comparison import comparison_page, comparison_remarks
from penstock.report.pages.placement import notebook_comparison, notebook_page
from penstock.report.pages.plan import plan_page
from penstock.schedulers.base import Budget

STRANGE = ["[red]x", ":smile:", "<a&b>", "\"q'", "語😀"]


def text(page: Document) -> str:
    """A page as a pipe gets it."""
    return to_text(page, width=160)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0"),
        (12.3456, "12.35"),
        (999.94, "999.9"),
        (1000.0, "1,000"),
        (19779.6, "19,780"),
        (float("inf"), "unlimited"),
    ],
)
def test_rates_have_four_figures_and_thousands_apart(value, shown):
    assert numbers.rate(value) == shown


def test_percentages_and_times_and_plain_numbers():
    assert (numbers.percent(0.3816), numbers.percent(0.5, 0), numbers.percent(None)) == (
        *("38.2 %", "50 %", "–"),
    )
    assert (numbers.seconds(0.0345), numbers.seconds(2.5)) == ("34.5 ms", "2.5 s")
    assert (numbers.plain(None), numbers.plain(12345.678)) == ("–", "12,346")
    assert (numbers.count(5408), numbers.points(3203.04)) == ("5,408", "3,203.0")


@pytest.fixture
def strange():
    return strange_plan()


def strange_plan():
    """A plan in which nothing has a decent name."""
    shape = topology("a>b>c")
    first, second, third, kind, name = STRANGE
    renamed = {"a": first, "b": second, "c": third}
    graph = penstock.load(_renamed(shape, renamed, name))
    machines = {
        "format": "penstock/cluster",
        "version": 1,
        "name": first,
        "types": {kind: {}},
        "machines": [{"type": kind, "names": [second, third]}],
    }
    costs = profile(on=(kind,), **dict.fromkeys(STRANGE[:3], 1.0))
    problem = build(graph, penstock.load(machines), costs)
    return penstock.plan(problem, "hetero")


def _renamed(graph, names, title):
    document = to_dict(graph)
    document["name"] = title
    document["components"] = {
        names[old]: {k: v for k, v in fields.items() if k != "profile"}
        for old, fields in document["components"].items()
    }
    for fields in document["components"].values():
        for stream in fields.get("streams", []):
            stream["to"] = names[stream["to"]]
    return document


def test_strange_names_are_shown_as_they_are(strange):
    seen = text(plan_page(strange.plan))
    for name in STRANGE:
        assert name in seen
    assert all(name in text(changes_page(_from_nothing(strange.plan))) for name in STRANGE[:3])


def _from_nothing(plan: Plan):
    other = place(plan.problem, *(f"{label} {STRANGE[1]}" for label in STRANGE[:3]))
    moved = place(plan.problem, *(f"{label} {STRANGE[2]}" for label in STRANGE[:3]))
    return diff(Plan(plan.problem, other, "one"), Plan(plan.problem, moved, "two"))


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words += data


def test_html_shows_names_and_does_not_obey_them(strange):
    parsed = _Text()
    parsed.feed(to_fragment(notebook_page(strange.plan, strange.facts)))
    assert {"table", "svg"} <= set(parsed.tags) or not has_charts()
    assert "a" not in parsed.tags  # as in <a&b>
    assert "<a&b>" in parsed.words
    assert to_fragment(notebook_comparison([strange.facts])).count("<tr>") == 2


def test_a_table_without_a_terminal_is_not_cut():
    found = penstock.compare(nasiri("linear", (2, 2, 2)), ["default", "hetero"])
    rows = [row.facts for row in found.rows]
    lines = text(comparison_page(rows)).split("\n\n")[0].splitlines()
    assert len(lines) == 3
    assert lines[0].split()[0] == "scheduler"
    assert not any("…" in line for line in lines)
    remarks = comparison_remarks(rows)
    gain = found.rows[1].facts.scale / found.rows[0].facts.scale - 1
    assert remarks[1] == f"hetero carries most; it exceeds default by {100 * gain:.1f} %"


def two_in_little_memory() -> Problem:
    asks = {"memory_mb": 300.0}
    both = [topology("a>b", name=name, a=asks, b=asks) for name in ("x", "y")]
    return build(both, cluster(M1=2, every={"memory_mb": 1000.0}), profile(a=1.0, b=1.0))


@pytest.fixture(scope="module")
def part_placed():
    """Proportional fills both machines with x: 2 x 300 of 1000 MB each, so y has no room.

    Penstock places both. As x alone gets all the CPU, proportional has the higher rate.
    """
    found = penstock.compare(two_in_little_memory(), ["proportional", "penstock"])
    return [row.facts for row in found.rows]


@pytest.mark.slow
def test_placing_all_topologies_ranks_above_any_rate_for_a_part_of_them(part_placed):
    part, whole = part_placed
    assert (part.not_placed, whole.not_placed) == (("y",), ())
    assert part.scale > whole.scale
    lines = text(comparison_page(part_placed)).split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["penstock", "proportional"]
    assert "1 not placed" in lines[2]
    remarks = comparison_remarks(part_placed)
    assert remarks[1] == "penstock carries most"


def test_nothing_is_proven_on_a_part_of_the_topologies(part_placed):
    part, _ = part_placed
    assert not part.proven_optimal
    assert part.gap is None
    assert part.certified_gap is None
    assert "proportional is proven" not in " ".join(comparison_remarks(part_placed))


def test_a_plan_that_breaks_a_limit_ranks_below_one_that_keeps_all():
    found = penstock.compare(nasiri("linear", (2, 2, 2)), ["default", "hetero"])
    slower, faster = (row.facts for row in found.rows)
    broken = replace(faster, violations=("memory of M1-1",))
    assert ranked([broken, slower]) == [slower, broken]
    assert comparison_remarks([broken, slower])[1].startswith("default carries most")


def test_a_topology_without_room_is_shown_as_not_placed():
    made = penstock.plan(two_in_little_memory(), "proportional")
    shown = text(plan_page(made.plan))
    assert "rate of y   not placed" in shown
    assert "gap to bound" not in shown


def test_machines_are_summed_by_type_where_they_are_many():
    many = penstock.plan(nasiri("linear", (11, 11, 11)), "hetero")
    assert "M1-11" not in text(plan_page(many.plan)).split("machine type")[1]
    assert "M1-11" in text(plan_page(many.plan, all_machines=True))


def test_loads_add_up_and_idle_machines_use_nothing():
    """a costs 2 points per tuple/s; 30 tuples/s on one machine of two."""
    problem = build(topology("a"), cluster(M1=2), profile(a=2.0))
    plan = Plan(problem, place(problem, "a M1-2"), "hand", predicted=Prediction(scale=30.0))
    first, second = machine_uses(plan)
    assert (first.cpu_points, first.slices) == (0.0, ())
    assert second.cpu_points == pytest.approx(60.0)
    assert second.utilisation == pytest.approx(0.6)
    (part,) = second.slices
    assert (part.component, part.instances, part.cpu_points) == (0, 1, pytest.approx(60.0))


def test_requests_stand_in_for_loads_where_there_are_no_rates():
    """Two instances that ask for 30 points each."""
    problem = build(topology("a", a={"cpu_points": 30.0, "instances": 2}), cluster(M1=1))
    plan = penstock.plan(problem, "default").plan
    (use,) = machine_uses(plan)
    assert use.cpu_points == 60.0
    seen = text(plan_page(plan))
    assert "sustainable rate" not in seen
    assert "60.0 of 100" in seen


@pytest.mark.parametrize(
    ("memory_mb", "said"),
    [
        (400.0, "its instances have room on the others, by what they request"),
        # Of a's two machines, each is too full for the instance of the other.
        (600.0, "there is room for its instances in 0 of 2 cases"),
    ],
)
def test_a_plan_by_requests_says_whether_a_lost_machine_has_room_elsewhere(memory_mb, said):
    asked = {"cpu_points": 10.0, "memory_mb": memory_mb, "instances": 2}
    problem = build(topology("a", a=asked), cluster(M1=2, every={"memory_mb": 1000.0}))
    placement = place(problem, "a M1-1", "a M1-2")
    lost = contingencies_by_requests(problem, placement)
    view = plan_page(Plan(problem, placement, "mine", if_lost=lost))
    assert said in " ".join(text(view).split())


def test_a_plan_that_saves_machines_says_that_idle_ones_do_not_help():
    """Without M1-1, both share M1-2: half of 100. M1-3 is idle, and off if machines are saved."""
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=1.0))
    placement = place(problem, "a M1-1", "b M1-2")

    def said(terms: Terms) -> str:
        own = problem.with_terms(terms)
        lost = contingencies_same_counts(own, placement, Budget())
        plan = Plan(own, placement, "mine", predicted=Prediction(scale=100.0), if_lost=lost)
        return " ".join(text(plan_page(plan)).split())

    thrifty = said(Terms(least=(Least.MACHINES,)))
    assert "at least 50.0 % of that (without M1-1; idle machines stay off)" in thrifty
    assert "at least 100.0 % of that (without M1-1)" in said(Terms())


def test_a_machine_on_which_nothing_runs_is_not_lost():
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    lost = (Contingency("M1-1", (), 90.0), Contingency("M1-2", (), 0.0))
    plan = Plan(problem, place(problem, "a M1-1"), "mine", if_lost=lost)
    assert worst_loss(plan) == lost[0]

"""The picture of who runs where says what its colours say, whatever machines are called."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.builders import cluster, nasiri, place, profile, topology
from tests.report.test_views import STRANGE, strange_plan

import penstock
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.report.charts.placement import colour
from penstock.report.page import Number
from penstock.report.pages.placement import placement_figure, placement_file
from penstock.report.text_width import text_width

pytest.importorskip("matplotlib")

SVG = "{http://www.w3.org/2000/svg}"


def _words(plan: Plan) -> list[str]:
    root = ElementTree.fromstring(placement_file(plan))
    assert root.tag == f"{SVG}svg"
    return ["".join(node.itertext()).strip() for node in root.iter(f"{SVG}text")]


def _picture(problem: Problem, *instances: str) -> list[str]:
    return _words(Plan(problem, place(problem, *instances), "hand"))


def test_strange_names_are_said_as_they_are():
    words = " ".join(_words(strange_plan().plan))
    for name in STRANGE:
        assert name in words


def test_the_table_says_in_numbers_what_the_boxes_show():
    """Each instance uses all of its machine but what the bound leaves."""
    planned = penstock.plan(nasiri("linear", (1, 1, 1)), "hetero")
    data = placement_figure(planned.plan).data
    assert data is not None
    used: dict[str, float] = {}
    for machine, *_, cpu in data.cells():
        assert isinstance(cpu, Number)
        used[machine] = used.get(machine, 0.0) + cpu.value
    loads = {load.machine: load.cpu_points for load in planned.plan.predicted.machines}
    assert used == pytest.approx(loads)


def test_machines_have_names_racks_and_sizes():
    large = {"cpu_points": 1600.0, "core_points": 100.0, "memory_mb": 65536.0}
    machines = cluster(M1=1, M2=2, types={"M2": large}, racks={"M2-2": "cellar"})
    problem = build(topology("a>b"), machines, profile(a=1.0, b=1.0, on=("M1", "M2")))
    words = _picture(problem, "a M1-1", "a M2-1", "b M2-2")
    assert {"M1-1", "M2-1", "M2-2", "a ×2", "b ×1"} <= set(words)
    assert "1 machine in rack-1, each 100 CPU points" in words
    assert "1 machine in cellar, each 1,600 CPU points (100 per thread), 65,536 MB" in words


@pytest.mark.parametrize(
    "name", ["m", "stream-worker", "stream-worker-in-the-cellar-of-the-old-house"]
)
def test_the_name_of_a_machine_is_no_wider_than_a_box_may_be(name):
    document = {
        "format": "penstock/cluster",
        "version": 1,
        "name": "c",
        "types": {"M1": {}},
        "machines": [{"type": "M1", "names": [name]}],
    }
    problem = build(topology("a"), penstock.load(document), profile(a=1.0))
    (label,) = [w for w in _picture(problem, f"a {name}") if w[:1] == name[0] and w != "c"]
    assert text_width(label, 11) <= 120
    assert label[-1] == name[-1]


def test_idle_machines_are_one_line():
    problem = build(topology("a"), cluster(M1=9), profile(a=1.0))
    words = _picture(problem, "a M1-3")
    assert "8 idle: M1-1, M1-2, M1-4 to M1-9" in words
    assert [word for word in words if word.startswith("M1-")] == ["M1-3"]


def test_components_have_colours_of_their_own():
    assert len({colour(component) for component in range(24)}) == 24

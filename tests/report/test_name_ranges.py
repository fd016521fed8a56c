"""Equal moves are shown once, and machines as ranges."""

from __future__ import annotations

from itertools import permutations

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.change.diff import ComponentChange, diff
from penstock.model.plan import Plan
from penstock.model.problem import build
from penstock.report.name_ranges import change_words, idle_machines, name_ranges
from penstock.report.page.terminal import to_text
from penstock.report.pages.changes import changes_page
from penstock.report.pages.plan import plan_page


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([], ""),
        (["arm-1"], "arm-1"),
        (["arm-1", "arm-2"], "arm-1, arm-2"),
        (["arm-3", "arm-1", "arm-2"], "arm-1 to arm-3"),
        # 10 comes after 9, not after 1.
        ([f"arm-{n}" for n in range(1, 12)], "arm-1 to arm-11"),
        (["arm-1", "arm-2", "arm-3", "arm-5", "old", "old-2"], "arm-1 to arm-3, arm-5, old, old-2"),
        (["a09", "a10", "a11"], "a09 to a11"),
        (["a9", "a010", "a11"], "a9, a010, a11"),
        (["r1-n1", "r1-n2", "r1-n3", "r2-n1"], "r1-n1 to r1-n3, r2-n1"),
    ],
)
def test_neighbours_are_a_range(names, shown):
    assert name_ranges(names) == shown


def test_the_order_of_the_names_does_not_matter():
    shown = {name_ranges(order) for order in permutations(["a-1", "a-01", "a-2", "b"])}
    assert len(shown) == 1


def test_many_ranges_are_cut_by_number_of_machines():
    names = ["a-1", "a-2", "a-3", "b", "c", "d-1", "d-2", "d-3"]
    assert name_ranges(names, most=2) == "a-1 to a-3, b, 4 more"


def test_idle_machines_are_counted_and_named():
    assert idle_machines(["arm-2", "arm-1", "arm-3"]) == "3 machines idle: arm-1 to arm-3"
    assert idle_machines(["old"]) == "1 machine idle: old"


def test_equal_moves_are_shown_once():
    moves = (("arm-1", "epyc-7"),) * 15 + (("arm-1", "epyc-8"),)
    change = ComponentChange("t", "parse", 16, 16, moves=moves)
    assert change_words(change) == ["arm-1 → epyc-7 ×15", "arm-1 → epyc-8"]


def test_equal_additions_of_several_machines_are_one_range():
    added = ("m-1", "m-1", "m-2", "m-2", "m-3", "m-3", "big")
    change = ComponentChange("t", "parse", 0, 7, added=added)
    assert change_words(change) == ["+ big", "+ m-1 to m-3 ×2 each"]
    change = ComponentChange("t", "parse", 5, 0, dropped=("m-1",) * 5, shares_changed=True)
    assert change_words(change) == ["- m-1 ×5", "other shares"]


PROBLEM = build(topology("a>b"), cluster(M1=9), profile(a=1.0, b=1.0))


def _plan(*instances: str) -> Plan:
    return Plan(PROBLEM, place(PROBLEM, *instances), "hand")


def test_diff_folds_equal_moves_and_names_machines_taken_and_freed():
    before = _plan("a M1-1", *["b M1-2"] * 12)
    after = _plan("a M1-1", *["b M1-3"] * 10, "b M1-4", "b M1-5")
    shown = to_text(changes_page(diff(before, after)))
    assert "M1-2 → M1-3 ×10; M1-2 → M1-4; M1-2 → M1-5" in shown
    assert "3 machines taken: M1-3 to M1-5" in shown
    assert "1 machine freed: M1-2" in shown


def test_idle_machines_of_a_plan_are_one_line():
    shown = to_text(plan_page(_plan("a M1-1", "b M1-4")))
    assert "7 machines idle: M1-2, M1-3, M1-5 to M1-9" in shown
    rows = [line for line in shown.splitlines() if line.startswith("M1-")]
    assert [row.split()[0] for row in rows] == ["M1-1", "M1-4"]

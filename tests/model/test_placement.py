"""A placement is sorted by component, compares by value and cannot be written to."""

import numpy as np
import pytest

from penstock.model.outcome import Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.plan import MachineLoad, Prediction
from penstock.model.profile import Cost, Origin, Profile


def test_instances_are_sorted_by_component_and_keep_their_order_within_it():
    made = Placement.of([1, 0, 1, 0], [5, 6, 7, 8], slot=[1, 2, 3, 4])
    assert made.component.tolist() == [0, 0, 1, 1]
    assert made.machine.tolist() == [6, 8, 5, 7]
    assert made.slot.tolist() == [2, 4, 1, 3]
    assert np.isnan(made.share).all()


def test_counts_and_starts_include_components_without_instances():
    made = Placement.of([2, 0, 2], [0, 0, 0])
    assert made.counts(4).tolist() == [1, 0, 2, 0]
    assert made.starts(4).tolist() == [0, 1, 1, 3, 3]
    assert len(made) == 3


def test_machines_and_workers_in_use():
    made = Placement.of([0, 0, 0], [3, 1, 3], slot=[1, 0, 1])
    assert made.machines_used.tolist() == [1, 3]
    assert made.workers == ((1, 0), (3, 1))


def test_placements_are_equal_by_value():
    one, other = Placement.of([0, 1], [2, 3]), Placement.of([1, 0], [3, 2])
    assert one == other
    assert hash(one) == hash(other)
    assert one != Placement.of([0, 1], [2, 2])
    assert one != Placement.of([0, 1], [2, 3], share=[1.0, np.nan])
    assert one != "something else"


def test_columns_have_one_value_per_instance():
    with pytest.raises(ValueError, match="instances"):
        Placement.of([0, 1], [2])


def test_a_placement_cannot_be_written_to():
    made = Placement.of([0], [1])
    for column in (made.component, made.machine, made.slot, made.share):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 7


def test_an_outcome_is_feasible_with_a_placement_and_nothing_missing():
    made = Placement.of([0], [0])
    missing = Shortfall("slots", 1, 0, "x")
    assert Outcome(made).feasible
    assert not Outcome(None).feasible
    assert not Outcome(made, (missing,)).feasible


@pytest.mark.parametrize(
    ("shortfall", "words"),
    [
        (
            Shortfall("memory_mb", 512, 300.5, "x", "count", "m1"),
            "x/count: needs 512 memory_mb, 300.5 available on m1",
        ),
        (Shortfall("slots", 1, 0, "x"), "x: needs 1 slots, 0 available"),
        (
            Shortfall("cpu_points", 122, 100, machine="m1"),
            "needs 122 cpu_points, 100 available on m1",
        ),
    ],
)
def test_a_shortfall_says_who_needs_what_where(shortfall, words):
    assert str(shortfall) == words


def test_the_gap_is_the_part_of_the_bound_left_on_the_table():
    assert Prediction(scale=75.0, bound_scale=100.0).gap == pytest.approx(0.25)
    assert Prediction(scale=100.0000001, bound_scale=100.0).gap == 0.0
    assert Prediction(scale=75.0).gap is None


def test_utilisation_of_a_machine_load():
    assert MachineLoad("m", 2, 40.0, 80.0).utilisation == pytest.approx(0.5)
    assert MachineLoad("m", 0, 0.0, 0.0).utilisation == 0.0


def test_a_profile_with_one_overhead_everywhere_is_a_derived_one():
    made = Profile("p", (Cost("a", "M1", 1.0, 5.0, met_error=0.1), Cost("a", "M2", 2.0, 7.0)))
    changed = made.with_met(0.5)
    assert [cost.met for cost in changed.costs] == [0.5, 0.5]
    assert [cost.e for cost in changed.costs] == [1.0, 2.0]
    assert changed.origin is Origin.DERIVED
    assert changed.costs[0].met_error is None


def test_a_profile_covers_what_it_has_a_cost_for():
    made = Profile("p", (Cost("a", "M1", 1.0, 0.0), Cost("b", "M1", 1.0, 0.0)))
    assert made.covers({"a", "b"}, {"M1"})
    assert not made.covers({"a"}, {"M1", "M2"})
    assert made.rows == ("a", "b")
    assert made.machine_types == ("M1",)

"""Above the sustainable rate: who gets what of a full machine."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.builders import all_on, cluster, place, profile, topology
from tests.model.strategies import placed

from penstock.evaluate.capacity import capacity
from penstock.evaluate.overload import Overload, overload
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Case = tuple[Problem, Placement]
#: Costs that do not depend on the others' rates, so that a machine's CPU can be added up here.
plain = placed(2, "remote cost", "nic")


def one_machine() -> tuple[Problem, Placement]:
    """a -> b on one machine, 1 and 3 points per tuple/s: sustainable up to 100 / 4 = 25."""
    problem = build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=3.0))
    return problem, all_on(problem)


def test_below_the_sustainable_rate_all_is_processed():
    found = overload(*one_machine(), offered_scale=20.0)
    assert found.sustainable_scale == pytest.approx(25.0)
    assert found.arriving_per_s.tolist() == pytest.approx([20.0, 20.0])
    assert found.processed_per_s.tolist() == pytest.approx([20.0, 20.0])
    assert found.full_machines == ()


def test_the_modest_get_what_they_want_and_the_greedy_the_rest():
    # At 40, a wants 40 points and b 120: a gets 40, b the other 60, enough for 20 tuples/s.
    found = overload(*one_machine(), offered_scale=40.0)
    assert found.arriving_per_s.tolist() == pytest.approx([40.0, 40.0])
    assert found.processed_per_s.tolist() == pytest.approx([40.0, 20.0])
    assert found.backlog_per_s.tolist() == pytest.approx([0.0, 20.0], abs=1e-6)
    assert found.full_machines == ("M1-1",)
    assert found.converged


def test_where_all_are_greedy_the_machine_is_shared_evenly():
    # At 80, a wants 80: each gets 50 points. a does 50 tuples/s, b 50/3 of those 50.
    found = overload(*one_machine(), offered_scale=80.0)
    assert found.arriving_per_s.tolist() == pytest.approx([80.0, 50.0])
    assert found.processed_per_s.tolist() == pytest.approx([50.0, 50 / 3])
    assert found.backlog_per_s.tolist() == pytest.approx([30.0, 50 - 50 / 3])


def test_fixed_costs_come_first():
    # met 5 each leaves 90: at 80 each gets 45.
    problem = build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=3.0, met=5.0))
    found = overload(problem, all_on(problem), offered_scale=80.0)
    assert found.processed_per_s.tolist() == pytest.approx([45.0, 15.0])


def test_a_full_thread_holds_up_what_comes_after_it():
    # a's core is full at 25 tuples/s; the rest of the machine idles, b sees 25.
    points = {"core_points": 25.0}
    problem = build(topology("a>b"), cluster(M1=1, every=points), profile(a=1.0, b=0.1))
    found = overload(problem, all_on(problem), offered_scale=100.0)
    assert found.processed_per_s.tolist() == pytest.approx([25.0, 25.0])
    assert found.arriving_per_s.tolist() == pytest.approx([100.0, 25.0])
    assert found.full_machines == ()


def test_instances_on_other_machines_go_on():
    # 50 to each b. M1-2 does its 50; on M1-1 a wants 10 points and b 150: b gets 90, does 30.
    problem = build(topology("a>b"), cluster(M1=1, M2=1), profile(a=0.1, b={"M1": 3.0, "M2": 1.0}))
    placement = place(problem, "a M1-1", "b M1-1", "b M2-1")
    found = overload(problem, placement, offered_scale=100.0)
    assert found.processed_per_s.tolist() == pytest.approx([100.0, 80.0])
    assert found.full_machines == ("M1-1",)
    assert found.saturates_first == "CPU of M1-1 (M1), most of it b"


def test_what_is_done_early_and_what_is_done_late_settle():
    # a feeds b and c, b feeds c, all on one machine of 65 points; 1, 3.5 and 1 points per tuple/s.
    # If a does r, the four b want 3.5 r / 4 each and the three c 2 r / 3 each, all less than a's
    # r: nobody but a is held back, and r (1 + 3.5 + 2) = 65, so r = 10. It takes patience to get
    # there: what a does too much now is taken from it when b and c want their part.
    machine = cluster(M1=1, every={"cpu_points": 65.0})
    problem = build(topology("a>b>c a>c"), machine, profile(a=1.0, b=3.5, c=1.0))
    placement = place(problem, "a M1-1", *["b M1-1"] * 4, *["c M1-1"] * 3)
    found = overload(problem, placement, offered_scale=300.0)
    assert found.converged
    assert found.processed_per_s.tolist() == pytest.approx([10.0, 10.0, 20.0], rel=1e-6)


def test_overheads_that_do_not_fit_leave_nothing_done():
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0, met=100.0))
    found = overload(problem, all_on(problem), offered_scale=10.0)
    assert found.processed_per_s.tolist() == pytest.approx([0.0], abs=1e-6)


def test_a_rounding_error_is_no_overload():
    # Five spouts of 1 tuple/s each. Added in this order they come to 114.62800000000001, a hair
    # more than there is; sorted first they come to 114.628. Either way all is done, up to that.
    costs = {"a": 23.496, "b": 25.403, "c": 23.048, "d": 24.478, "f": 18.203}
    machine = cluster(M1=1, every={"cpu_points": 114.628})
    problem = build(topology("a b c d f", demand_per_s=5.0), machine, profile(**costs))
    found = overload(problem, all_on(problem), offered_scale=1.0)
    assert found.processed_per_s.tolist() == pytest.approx([1.0] * 5, rel=1e-9)


@given(plain, st.sampled_from([0.25, 0.999, 1.0]))
def test_up_to_the_sustainable_scale_everything_is_processed(case: Case, part: float):
    problem, placement = case
    scale = capacity(problem, placement).scale
    assume(0 < scale < math.inf)
    found = overload(problem, placement, offered_scale=part * scale)
    assert found.converged
    np.testing.assert_allclose(found.processed_per_s, found.arriving_per_s, rtol=1e-6)


@given(plain, st.sampled_from([1.1, 2.0, 30.0]))
def test_above_it_no_more_is_processed_than_arrives(case: Case, factor: float):
    problem, placement = case
    scale = capacity(problem, placement).scale
    assume(0 < scale < math.inf)
    found = overload(problem, placement, offered_scale=factor * scale)
    assert found.converged
    assert (found.processed_per_s <= found.arriving_per_s * (1 + 1e-9)).all()


@given(plain, st.sampled_from([1.1, 2.0, 30.0]))
def test_above_it_a_machine_does_no_more_than_it_can(case: Case, factor: float):
    # All on one machine, so that its CPU follows from the components' rates.
    problem, scattered = case
    slot = problem.topology_of[scattered.component]
    placement = Placement.of(scattered.component, np.zeros(len(slot)), slot)
    before = capacity(problem, placement)
    assume(0 < before.scale < math.inf)
    found = overload(problem, placement, offered_scale=factor * before.scale)
    spent = problem.e[:, problem.cluster.type_of[0]] @ found.processed_per_s
    usable = problem.cluster.usable_cpu_per_type[problem.cluster.type_of[0]]
    assert before.machine_fixed[0] + spent <= usable * (1 + 1e-6)


@given(plain)
def test_more_offered_is_never_less_at_the_spouts(case: Case):
    problem, placement = case
    scale = capacity(problem, placement).scale
    assume(0 < scale < math.inf)
    spouts = problem.spout_rate > 0
    less = overload(problem, placement, offered_scale=2 * scale).arriving_per_s[spouts]
    more = overload(problem, placement, offered_scale=4 * scale).arriving_per_s[spouts]
    np.testing.assert_allclose(more, 2 * less, rtol=1e-9)


def test_what_the_iteration_leaves_open_is_no_queue():
    found = Overload(2.0, 1.0, "", (), np.array([100.0, 50.0]), np.array([90.0, 50 - 1e-8]), True)
    assert found.backlog_per_s.tolist() == [10.0, 0.0]

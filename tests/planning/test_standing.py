"""What limits a plan, and what comes next."""

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.model.problem import build
from penstock.planning.standing import standing
from penstock.report.pages.plan_limits import limit_sentences, limits_dict


def test_machines_and_components_stand_in_the_order_they_fill_up():
    # a: 1 point per tuple/s on M1-1, full at 100. b: 0.5 on each of two, of half the tuples each:
    # 0.25 per tuple/s of input, full at 400.
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=0.5))
    found = standing(problem, place(problem, "a M1-1", "b M1-2", "b M1-3"))
    assert found.scale == pytest.approx(100.0)
    assert [m.full_at for m in found.machines] == pytest.approx([100.0, 400.0, 400.0])
    assert [m.spare_points for m in found.machines] == pytest.approx([0.0, 75.0, 75.0])
    assert [m.machine for m in found.full_together] == [0]
    assert found.next_limit is not None
    assert found.next_limit.machine == 1
    a, b = found.components
    assert (a.full_at, a.cpu_part) == pytest.approx((100.0, 100 / 150))
    assert (b.full_at, b.instances) == (pytest.approx(400.0), 2)


def test_prices_are_said_in_words():
    # 300 points carry 200 tuples/s of a + b at 1.5 points each: a is two thirds of the work.
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=0.5))
    found = standing(problem, place(problem, "a M1-1", "b M1-2", "b M1-3"))
    lines = limit_sentences(found)
    assert "next limit: M1-2, at 400 tuples/s (300.0 % more)" in lines
    assert "one more M1 can add up to 66.67 tuples/s" in lines
    assert lines[-1].endswith("1 % off its cost per tuple is worth 0.67 %")
    assert limits_dict(found)["one_more_machine_adds_per_s"] == {"M1": pytest.approx(200 / 3)}

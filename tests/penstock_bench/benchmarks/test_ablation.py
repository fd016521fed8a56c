"""Short forms of what ``penstock bench ablation`` measures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, profile, topology

from penstock.model.problem import build
from penstock.schedulers.penstock import supports
from penstock_bench.benchmarks.ablation import cases, constants, parts, runs, switches
from penstock_bench.benchmarks.ablation.cases import Case
from penstock_bench.benchmarks.ablation.worth import run


def tiny() -> Case:
    """a and b, overhead 2, on three machines of 100 points, with shares."""
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=1.0, met=2.0), weighted=True)
    return Case("tiny", "tiny", problem, 0)


def test_what_is_off_does_not_run_and_what_was_is_on_again():
    # The programme over supports proves 146 of the general bound's 147: without it 147 stands.
    case = tiny()
    without = [switches.replaced("weighted:list_supports", lambda _aggregate: None)]
    without.append(switches.replaced("weighted:bound_by_whole_instances", _general))
    assert run(case).bound == pytest.approx(146 / 147, rel=5e-4)
    assert run(case, *without).bound == pytest.approx(1.0)
    assert run(case).bound == pytest.approx(146 / 147, rel=5e-4)


def _general(aggregate, _effort):
    return aggregate.bound


def test_a_constant_is_changed_for_as_long_as_it_is_asked():
    before = supports._MOST_SUPPORTS
    with switches.constant("supports", "_MOST_SUPPORTS", 1):
        assert supports._MOST_SUPPORTS == 1
    assert before == supports._MOST_SUPPORTS


def test_every_part_names_a_function_that_there_is():
    for part in parts.PARTS:
        owner, name = switches.resolved(part.target)
        assert callable(getattr(owner, name)), part.name
    assert len({part.name for part in parts.PARTS}) == len(parts.PARTS)


def test_constants_are_read_off_the_source_without_those_that_keep_rounding_out():
    found = {one.title: one for one in constants.tuning_constants()}
    assert found["supports._MOST_SUPPORTS"].value == supports._MOST_SUPPORTS
    assert "supports._SAFE" not in found  # 1 + 3e-6 keeps rounding out
    assert [v for _, v in replace(found["supports._MOST_SUPPORTS"], value=8).others()] == [4, 16]
    # What is nearly the whole is meant as what it leaves: 1 % becomes half a per cent and two.
    nearly = [v for _, v in constants.Constant("x", "Y", 0.99).others()]
    assert nearly == pytest.approx([0.995, 0.98])
    assert constants.Constant("x", "Y", (1, 2, 3)).numbers == 3


def test_work_is_counted_and_does_not_depend_on_the_clock():
    first, again = run(tiny()), run(tiny())
    assert first.work == again.work > 0
    assert first.worth == again.worth == pytest.approx(146 / 147, rel=5e-4)


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_a_family_draws_the_same_problems_from_the_same_seed(family):
    drawn, count, few = cases.FAMILIES[family]
    assert count >= few
    first, again = (next(drawn(3, 1)) for _ in range(2))
    assert first[0] == again[0]
    assert np.array_equal(first[1].cluster.type_of, again[1].cluster.type_of)


def test_only_problems_in_which_a_part_runs_are_planned_without_it(monkeypatch):
    def only_tiny(*_arguments, **_options):
        yield tiny()

    monkeypatch.setattr(runs, "cases", only_tiny)
    losses = runs.part_losses(10**6, True, "")
    assert losses["requests: polish"] == []
    (loss,) = losses["layout"]
    assert loss.percent == pytest.approx(0.0, abs=0.01)  # the programme over supports finds it

"""What every scheduler is given: a budget, its parameters, counts, the order of topologies."""

from dataclasses import dataclass, field

import pytest
from tests.builders import cluster, profile, topology

from penstock.errors import InputError
from penstock.model.problem import build
from penstock.schedulers import Budget, Parameter, Scheduler, get, parameters_of
from penstock.schedulers.counts import missing_counts, required_counts, topologies_by_priority


def test_a_budget_without_limits_is_never_spent():
    assert not Budget().spent(10**9)


def test_a_budget_of_rounds():
    budget = Budget(iterations=3)
    assert [budget.spent(done) for done in (0, 2, 3, 4)] == [False, False, True, True]


def test_a_budget_of_seconds_runs_on_the_clock_it_is_given():
    now = [100.0]
    budget = Budget(seconds=5.0, clock=lambda: now[0])
    assert not budget.spent(0)
    now[0] = 105.0
    assert budget.spent(0)


def test_a_budget_ends_when_told_to_stop():
    stop = [False]
    budget = Budget(stop=lambda: stop[0])
    assert not budget.spent(0)
    stop[0] = True
    assert budget.spent(0)


def test_parameters_are_the_dataclass_fields():
    @dataclass(frozen=True)
    class Tuned:
        depth: int = field(default=3, metadata={"help": "how deep"})
        quick: bool = False

    expected = (Parameter("depth", 3, "how deep"), Parameter("quick", False, ""))
    assert parameters_of(Tuned) == expected


def test_what_is_no_dataclass_has_no_parameters():
    assert parameters_of(int) == ()


def test_every_parameter_of_hetero_is_explained():
    assert [p.name for p in parameters_of(get("hetero"))] == ["r0", "per_machine"]
    assert all(p.help for p in parameters_of(get("hetero")))


@pytest.mark.parametrize("name", ["default", "hetero"])
def test_a_built_in_scheduler_is_a_scheduler(name):
    assert isinstance(get(name)(), Scheduler)


def test_missing_counts_are_named_with_their_topology():
    graphs = (topology("a", name="x", a={"instances": 1}), topology("a", name="y"))
    problem = build(graphs, cluster(M1=1), profile(a=1.0))
    assert missing_counts(problem) == [1]
    with pytest.raises(InputError, match="component y/a"):
        required_counts(problem, "default")
    assert required_counts(problem.with_counts([1, 4]), "default") == (1, 4)


def test_topologies_are_served_by_priority_then_in_order():
    graphs = [
        topology("a", name=name, priority=p) for name, p in zip("wxyz", (2, 0, 1, 0), strict=True)
    ]
    problem = build(graphs, cluster(M1=1), profile(a=1.0))
    assert topologies_by_priority(problem) == [1, 3, 2, 0]

"""Resources beside CPU and memory: GPUs that some machines have and some components ask for."""

from dataclasses import replace

import pytest
from tests.builders import build, cluster, machine_names, profile, topology

import penstock
from penstock.evaluate.limits import violations
from penstock.model.resources import ResourceKind
from penstock.schedulers import SCHEDULERS
from penstock_bench.contract.problems import gpu_requests, gpus, gpus_on_many_cores

RESPECTING = [name for name, kind in SCHEDULERS.usable().items() if kind.looks.memory]
ASKED_FOR_ONLY = [name for name in RESPECTING if name in ("rstorm", "tsstream", "penstock")]


@pytest.mark.parametrize("name", RESPECTING)
def test_gpus_go_to_those_who_ask_for_them(name):
    # Two machines have two GPUs each: at most four instances of b, all on them.
    problem = gpus()
    settings = {"per_machine": 4} if name == "optimal" else {}
    plan = penstock.plan(problem, name, parameters=settings).plan
    there = machine_names(problem, plan.placement, "b")
    assert 1 <= len(there) <= 4
    assert set(there) <= {"M1-1", "M1-2"}
    assert all(there.count(machine) <= 2 for machine in there)
    assert violations(problem, plan.placement) == ()


@pytest.mark.parametrize("name", ASKED_FOR_ONLY)
def test_nothing_measured_and_all_gpus_needed(name):
    problem = gpu_requests()
    plan = penstock.plan(problem, name).plan
    assert sorted(machine_names(problem, plan.placement, "b")) == ["M1-1"] * 2 + ["M1-2"] * 2


@pytest.mark.parametrize("name", ASKED_FOR_ONLY)
def test_too_few_gpus_are_named(name):
    problem = gpu_requests().with_counts([4, 5, 4])
    result = penstock.plan(problem, name)
    assert result.plan is None
    assert any("gpu" in str(shortfall) for shortfall in result.outcome.shortfalls)


@pytest.mark.parametrize("name", RESPECTING)
def test_a_resource_that_no_machine_has_is_named(name):
    graph = topology("a>b", a={"instances": 1}, b={"instances": 1, "resources": (("tpu", 1.0),)})
    result = penstock.plan(build(graph, cluster(M1=2), profile(a=1.0, b=1.0)), name)
    assert result.plan is None
    assert str(result.outcome.shortfalls[0]) == "needs 1 tpu, 0 available"


def test_on_many_cores_the_gpus_limit_how_many_instances_there_are():
    # b costs 0.4 points a tuple and 1 to be there, on cores of 100: 247.5 tuples/s an instance.
    # Four GPUs, so 990 tuples/s, however many cores there are.
    problem = gpus_on_many_cores()
    free = replace(problem, topologies=tuple(_without_counts(t) for t in problem.topologies))
    result = penstock.plan(free)
    assert result.plan.predicted.violations == ()
    assert result.plan.predicted.scale == pytest.approx(990.0, rel=0.01)
    assert result.bound.scale == pytest.approx(990.0)


def test_a_soft_resource_only_weighs():
    # Five ask for one of four GPUs; a soft one is no reason to refuse any of them.
    soft = (ResourceKind("gpu", soft=True),)
    problem = gpu_requests().with_counts([4, 5, 4])
    problem = replace(problem, cluster=replace(problem.cluster, resources=soft))
    plan = penstock.plan(problem, "rstorm").plan
    assert len(machine_names(problem, plan.placement, "b")) == 5
    assert not any("gpu" in str(violation) for violation in violations(problem, plan.placement))


def _without_counts(graph):
    return replace(graph, components=tuple(replace(c, instances=None) for c in graph.components))

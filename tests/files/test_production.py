"""Recorded production clusters load with one call, in requests mode."""

from __future__ import annotations

import json

import pytest
from tests.corpus.bases import PRODUCTION_CLUSTER, PRODUCTION_TOPOLOGIES

import penstock
from penstock.errors import NotMeasuredError
from penstock.evaluate.limits import violations
from penstock.files.production import load_production
from penstock.files.store import to_dict
from penstock.model.topology import Component, Grouping, Kind, Stream


@pytest.fixture
def recorded(tmp_path):
    def recorded(topologies: object = PRODUCTION_TOPOLOGIES):
        (tmp_path / "cluster.json").write_text(json.dumps(PRODUCTION_CLUSTER), encoding="utf-8")
        (tmp_path / "topologies.json").write_text(json.dumps(topologies), encoding="utf-8")
        return tmp_path

    return recorded


def changed(**fields: object) -> list[object]:
    """The recorded topology with fields of its second component changed."""
    topology = json.loads(json.dumps(PRODUCTION_TOPOLOGIES[0]))
    topology["components"][1] |= fields
    return [topology]


def test_a_folder_becomes_a_problem_without_rates(recorded):
    problem = penstock.load(recorded())
    (topology,) = problem.topologies
    assert topology.components == (
        Component("in", Kind.SPOUT, instances=2, cpu_points=10.0, memory_mb=128.0),
        Component("out", Kind.BOLT, instances=2, cpu_points=10.0, memory_mb=128.0),
    )
    assert topology.streams == (Stream("in", "out", grouping=Grouping.FIELDS, fields=("k",)),)
    assert (topology.workers, topology.priority, topology.worker_max_heap_mb) == (1, 2, 2000.0)
    assert problem.cluster.worker_min_cpu_points == 10.0
    assert [m.host for m in problem.cluster.machines] == ["host-1", "host-2"]
    assert not problem.has_costs
    with pytest.raises(NotMeasuredError):
        problem.e  # noqa: B018


def test_the_two_rules_count_executors_differently(recorded):
    folder = recorded(changed(parallelism=7, parallelism_nimbus=3))
    assert load_production(folder).components[1].instances == 3
    assert load_production(folder, "storm-test").components[1].instances == 7


def test_a_component_without_executors_is_left_out_with_its_streams(recorded):
    problem = penstock.load(recorded(changed(parallelism_nimbus=0)))
    (topology,) = problem.topologies
    assert [c.name for c in topology.components] == ["in"]
    assert topology.streams == ()


def test_a_grouping_that_nobody_knows_is_custom(recorded):
    topologies = changed()
    topologies[0]["streams"][0]["grouping"] = "custom_serialized"
    assert penstock.load(recorded(topologies)).streams[0].grouping is Grouping.CUSTOM


def executors(problem) -> int:
    return sum(c.instances or 0 for c in problem.components)


@pytest.fixture(scope="module")
def clusters(data_dir):
    return data_dir / "production-clusters"


@pytest.mark.data
def test_large_cluster_01_is_as_recorded(clusters):
    problem = penstock.load(clusters / "largeCluster01")
    assert len(problem.cluster.machines) == 1312
    assert len(problem.cluster.types) == 6
    assert len(problem.cluster.racks) == 16
    assert len(problem.topologies) == 40
    assert executors(load_production(clusters / "largeCluster01", "storm-test")) == 24_349
    cyclic = [t.name for t in problem.topologies if t.cycle]
    assert cyclic == ["TopologyName00011", "TopologyName00012", "TopologyName00039"]


@pytest.mark.data
def test_large_cluster_03_is_as_recorded(clusters):
    problem = load_production(clusters / "largeCluster03", "storm-test")
    assert len(problem.cluster.machines) == 80
    assert len(problem.topologies) == 50
    assert executors(problem) == 1221


@pytest.mark.data
@pytest.mark.parametrize("name", ["largeCluster01", "largeCluster03"])
def test_clusters_and_topologies_round_trip(clusters, name):
    problem = penstock.load(clusters / name)
    assert penstock.load(to_dict(problem.cluster)) == problem.cluster
    for topology in problem.topologies:
        assert penstock.load(to_dict(topology)) == topology


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["largeCluster01", "largeCluster03"])
def test_default_plans_a_recorded_cluster_and_the_plan_round_trips(clusters, name):
    problem = penstock.problem(clusters / name)
    planned = penstock.plan(problem, "default")
    assert planned.plan is not None
    assert len(planned.plan.placement) == executors(problem)
    assert planned.plan.predicted.scale is None
    # Storm's own looks at neither CPU nor memory, and it shows.
    assert violations(problem, planned.plan.placement)
    assert penstock.load(planned.to_dict()) == planned.plan


@pytest.mark.data
def test_headroom_holds_for_a_recorded_cluster_too(clusters):
    problem = penstock.problem(clusters / "largeCluster03", headroom=0.25)
    assert problem.cluster.headroom == 0.25

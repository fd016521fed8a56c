"""A topology knows its order, its cycles and its sinks, and refuses what makes no sense."""

import pickle
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from tests.builders import SHAPES, topology
from tests.model.strategies import problems

import penstock
from penstock.model.problem import Problem
from penstock.model.topology import Component, Grouping, Stream, Topology


def names(graph: Topology, indices: tuple[int, ...] | None) -> list[str]:
    return [graph.components[i].name for i in indices or ()]


@given(problems())
def test_every_source_comes_before_its_targets(problem: Problem):
    place = {c: position for position, c in enumerate(problem.order)}
    assert sorted(place) == list(range(len(problem.components)))
    assert all(place[s.source] < place[s.target] for s in problem.streams)


def test_a_cycle_has_no_order_and_is_named_in_the_direction_of_its_streams():
    graph = topology("s>a>b>c>a")
    assert graph.order is None
    cycle = graph.cycle
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {"a", "b", "c"}
    streams = {(s.source, s.target) for s in graph.streams}
    assert all(pair in streams for pair in pairwise(cycle))


def test_a_component_that_feeds_itself_is_a_cycle():
    graph = topology("s>a>a")
    assert graph.order is None
    assert graph.cycle == ("a", "a")


def test_without_a_cycle_there_is_none_to_name():
    assert topology("a>b a>c").cycle == ()


@pytest.mark.parametrize(
    ("shape", "sinks"),
    [
        (SHAPES["linear"], ["high"]),
        (SHAPES["diamond"], ["low3"]),
        (SHAPES["star"], ["mid1", "mid2"]),
    ],
)
def test_sinks_are_what_nobody_subscribes_to(shape, sinks):
    graph = topology(shape)
    assert names(graph, graph.sinks) == sinks


def test_an_acker_is_no_sink_and_makes_none():
    graph = topology("a>b a>ack b>ack", ack={"kind": "acker"})
    assert names(graph, graph.sinks) == ["b"]


def test_a_lone_spout_is_its_own_sink():
    assert topology("a").sinks == (0,)


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({}, None),
        ({"max_instances": 4}, 4),
        ({"tasks": 6}, 6),
        ({"max_instances": 4, "tasks": 3}, 3),
    ],
)
def test_the_most_instances_are_the_least_limit(limits, most):
    assert Component("a", **limits).most_instances == most


def test_a_component_without_a_row_has_its_own():
    assert Component("split").cost_row == "split"
    assert Component("split", profile="mid").cost_row == "mid"


def test_a_stream_is_named_where_its_name_is_not_the_usual_one():
    assert Stream("a", "b").label == "a->b"
    assert Stream("a", "b", "late").label == "a->b:late"


def test_a_topology_without_components_is_refused():
    with pytest.raises(ValueError, match="no components"):
        Topology("t", ())


def test_a_name_given_twice_is_refused():
    with pytest.raises(ValueError, match=r"named twice.*a"):
        Topology("t", (Component("a"), Component("a")))


def test_a_stream_to_nowhere_is_refused():
    with pytest.raises(ValueError, match="a->nobody: no nobody"):
        Topology("t", (Component("a"),), (Stream("a", "nobody"),))


def test_what_is_to_be_known_of_a_grouping_stands_with_it():
    """No module keeps a set of groupings of its own; a new grouping states its traits once."""
    source = Path(penstock.__file__).parent
    sets = re.compile(r"\{\s*Grouping\.\w+,|in \(Grouping\.")
    keeping = [str(path) for path in source.rglob("*.py") if sets.search(path.read_text("utf-8"))]
    assert keeping == []
    assert all(grouping.traits for grouping in Grouping)


def test_groupings_are_found_by_name_and_written_as_it():
    assert Grouping("fields") is Grouping.FIELDS
    assert f"{Grouping.LOCAL_OR_SHUFFLE}" == "local-or-shuffle"
    assert [g.value for g in Grouping if not g.is_divided] == ["all", "global"]
    assert pickle.loads(pickle.dumps(Grouping.ALL)).is_copied

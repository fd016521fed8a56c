"""Generated problems: the size asked for, the same for the same seed, like real ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import plan
from penstock.errors import InputError
from penstock.evaluate.rates import visit_ratios
from penstock.files.store import load, to_dict
from penstock.model.problem import build
from penstock.model.topology import Grouping, Kind
from penstock_bench.generate import Size, generate

sizes = st.builds(
    Size,
    components=st.integers(1, 40),
    machines=st.integers(4, 60),
    types=st.integers(1, 4),
    topologies=st.integers(1, 3),
    mixed_groupings=st.booleans(),
    memory=st.booleans(),
)


@given(sizes, st.integers(0, 10**6))
@settings(max_examples=60)
def test_a_problem_is_as_large_as_asked_and_realistic(size: Size, seed: int):
    made = generate(size, seed)
    problem = build(made.topologies, made.cluster, made.profile)
    assert len(made.topologies) == size.topologies
    assert [len(t.components) for t in made.topologies] == [size.components] * size.topologies
    assert len(made.cluster.machines) == size.machines
    assert (made.cluster.machines_per_type >= 1).all()
    assert len(made.cluster.types) == size.types
    assert problem.acyclic
    # Visits per tuple of the topology's own input; selectivities are rounded to four figures.
    visits = visit_ratios(problem) / problem.demand[problem.topology_of]
    bolts = np.array([c.kind is Kind.BOLT for c in problem.components])
    assert (visits[bolts] >= 0.05 * 0.999).all()
    assert (visits[bolts] <= 20 * 1.001).all()
    # Nobody waits for nothing: every bolt is fed.
    fed = {(t.name, stream.target) for t in made.topologies for stream in t.streams}
    for graph in made.topologies:
        for component in graph.components:
            assert (component.kind is Kind.BOLT) == ((graph.name, component.name) in fed)
    speeds = problem.e.max(axis=1) / problem.e.min(axis=1)
    # A factor of 4 between types, and the kinds of work differ around it.
    assert (speeds < 4 * np.exp(0.2 * 10)).all()
    assert np.isnan(problem.memory_mb).all() == (not size.memory)


@given(sizes, st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_same_seed_gives_the_same_problem_and_files_keep_it(size: Size, seed: int):
    made = generate(size, seed)
    assert generate(size, seed) == made
    for value in (*made.topologies, made.cluster, made.profile):
        assert load(to_dict(value)) == value


def test_another_seed_gives_another_problem():
    assert generate(Size(), 1).topologies != generate(Size(), 2).topologies


def test_groupings_are_mixed_only_on_request():
    plain = generate(Size(components=60), 0).topologies[0]
    assert {stream.grouping for stream in plain.streams} == {Grouping.SHUFFLE}
    mixed = generate(Size(components=60, mixed_groupings=True), 0).topologies[0]
    kinds = {stream.grouping for stream in mixed.streams}
    assert Grouping.FIELDS in kinds
    assert len(kinds) >= 3
    # Grouping by fields says how many keys there are.
    assert all((s.keys > 0) == (s.grouping is Grouping.FIELDS) for s in mixed.streams)


def test_several_topologies_declare_a_demand_and_one_does_not():
    assert generate(Size(), 0).topologies[0].demand_per_s is None
    demands = [t.demand_per_s for t in generate(Size(topologies=3), 0).topologies]
    assert all(500 <= demand <= 5000 for demand in demands)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_generated_can_be_planned(seed):
    made = generate(Size(components=8, machines=12), seed)
    planned = plan(build(made.topologies, made.cluster, made.profile), "hetero")
    assert planned.plan is not None
    assert planned.plan.predicted.scale > 0


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"components": 0}, "components must be at least 1, not 0"),
        ({"machines": -1}, "machines must be at least 1, not -1"),
        ({"topologies": 0}, "topologies must be at least 1, not 0"),
        ({"machines": 100_001}, "at most 100,000 machines, not 100,001"),
        ({"types": 5, "machines": 4}, "5 types need at least as many machines"),
    ],
    ids=str,
)
def test_a_size_that_makes_no_sense_is_refused(size, message):
    with pytest.raises(InputError, match=message):
        Size(**size)

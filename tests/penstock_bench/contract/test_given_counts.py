"""Counts that are laid down are kept by every scheduler, those that would decide them included."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import build, cluster, nasiri, profile, topology

from penstock import app
from penstock.errors import InputError
from penstock.schedulers import SCHEDULERS, Budget

USABLE = SCHEDULERS.usable()


@pytest.mark.parametrize("name", USABLE)
@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 3, 5), (6, 2, 1)])
def test_counts_laid_down_are_kept(name, counts):
    problem = nasiri("linear", (2, 2, 2)).with_counts(counts)
    outcome = USABLE[name]().solve(problem, Budget(), np.random.default_rng(0))
    assert outcome.placement.counts(3).tolist() == list(counts)


@pytest.mark.slow
@pytest.mark.parametrize("example", ["wordcount", "linear"])
def test_given_counts_compares_all_on_the_same(example):
    # WordCount declares its counts; Linear has none and gets hetero's.
    found = app.compare(app.problem(example), given_counts=True)
    size = len(found.problem.components)
    seen = {tuple(row.plan.placement.counts(size).tolist()) for row in found.rows}
    assert seen == {found.problem.given_counts}


@pytest.mark.slow
@pytest.mark.parametrize("name", USABLE)
def test_counts_of_the_topology_are_kept_or_it_is_said_that_they_are_not(name):
    problem = app.problem("wordcount")
    stated = [c.instances for c in problem.components]
    free = app.plan(problem, name).plan
    changed = free.placement.counts(len(stated)).tolist() != stated
    said = [note for note in free.notes if "--counts-from topology keeps them" in note]
    assert len(said) == changed
    kept = app.plan(problem, name, counts_from="topology").plan
    assert kept.placement.counts(len(stated)).tolist() == stated
    assert not any("--counts-from" in note for note in kept.notes)


def test_counts_a_topology_does_not_state_are_decided():
    graph = topology("a>b>c", b={"instances": 3})
    problem = build(graph, cluster(M1=2), profile(a=1.0, b=1.0, c=1.0))
    made = app.plan(problem, "penstock", counts_from="topology").plan
    assert made.placement.counts(3)[1] == 3
    assert (made.placement.counts(3) > 0).all()


def test_a_topology_without_counts_has_none_to_keep():
    with pytest.raises(InputError, match="no component states instances"):
        app.plan(app.problem("linear"), counts_from="topology")

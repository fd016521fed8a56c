"""Counts that are laid down are kept by every scheduler, those that would decide them included."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import nasiri

from penstock import api
from penstock.schedulers import Budget, registered

SCHEDULERS = {name: entry.scheduler for name, entry in registered().items() if entry.scheduler}


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 3, 5), (6, 2, 1)])
def test_counts_laid_down_are_kept(name, counts):
    problem = nasiri("linear", (2, 2, 2)).with_counts(counts)
    outcome = SCHEDULERS[name]().solve(problem, Budget(), np.random.default_rng(0))
    assert outcome.placement.counts(3).tolist() == list(counts)


@pytest.mark.parametrize("example", ["wordcount", "linear"])
def test_given_counts_compares_all_on_the_same(example):
    # WordCount declares its counts; Linear has none and gets hetero's.
    found = api.compare(api.problem(example), given_counts=True)
    size = len(found.problem.components)
    seen = {tuple(row.plan.placement.counts(size).tolist()) for row in found.rows}
    assert seen == {found.problem.given_counts}

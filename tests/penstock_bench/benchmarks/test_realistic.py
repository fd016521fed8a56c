"""The realistic suite's problems, and others like them."""

from __future__ import annotations

from penstock_bench.benchmarks.realistic import CASES, realistic_problem


def test_a_seed_gives_another_problem_of_the_same_setting():
    """``penstock bench realistic --seed 1`` tries problems that nobody has looked at."""
    name = "skew 0.8, 24 machines"
    own, other = (realistic_problem(name, seed, weighted=False) for seed in (None, 1))
    assert CASES[name][0].machines == len(own.cluster.machines) == len(other.cluster.machines)
    assert own.topologies != other.topologies
    assert other.topologies == realistic_problem(name, 1, weighted=False).topologies

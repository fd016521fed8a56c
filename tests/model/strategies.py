"""Random problems and placements for property tests; the shipped contract suite draws them, too."""

from penstock_bench.contract.random_problems import (
    dice,
    placed,
    problems,
    random_placement,
    random_problem,
)

__all__ = ["dice", "placed", "problems", "random_placement", "random_problem"]

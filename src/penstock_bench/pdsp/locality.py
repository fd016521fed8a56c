"""How much of a stream stays in its worker or on its host where Storm deals executors in turn.

Storm's default scheduler sorts executors by task (components by name, ackers among them) and deals
them to the workers in turn, workers in turn over hosts. Shuffle grouping in Storm 2 sends to
instances in the same worker while they are not loaded, then to the same host. Both together decide
which tuples are serialised: with 120 workers a chain of four bolts keeps under a tenth of its
transfers in the worker at 48 instances each and over 40 % at 64. The placement itself was not
recorded; this is what Storm's source says it must have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from penstock_bench.pdsp.runs import PlanEdge, Runs

_ACKER = "__acker"


def dealt_workers(parallelism: Mapping[str, int], workers: int) -> dict[str, IntVector]:
    """Worker of every executor by component, with one acker per worker as is Storm's default."""
    counts = {**parallelism, _ACKER: workers}
    first = 0
    dealt = {}
    for component in sorted(counts):
        dealt[component] = np.arange(first, first + counts[component]) % workers
        first += counts[component]
    return dealt


def edge_shares(
    edges: Sequence[PlanEdge], parallelism: Mapping[str, int], workers: int, nodes: int
) -> FloatMatrix:
    """Share of each edge's tuples that stay in the worker, and on the host; shape (edges, 2)."""
    dealt = dealt_workers(parallelism, workers)
    shares = np.zeros((len(edges), 2))
    for i, edge in enumerate(edges):
        if edge.source not in dealt or edge.target not in dealt:
            continue  # the jar that ran may differ from the source that was read
        here = dealt[edge.source][:, None]
        there = dealt[edge.target][None, :]
        for j, same in enumerate((here == there, here % nodes == there % nodes)):
            # A shuffle prefers a neighbour as soon as there is one; keys do not.
            shares[i, j] = (same.any(axis=1) if edge.grouping == "shuffle" else same).mean()
    return shares


def edge_rates(edges: Sequence[PlanEdge], selectivity: Mapping[str, float]) -> FloatVector:
    """Tuples over each edge per tuple of all spouts; unknown selectivities count as 1."""
    spouts = {edge.source for edge in edges if edge.from_spout}
    into: dict[str, float] = {}
    rates = []
    for edge in edges:  # in the order of the plan, sources before targets
        if edge.from_spout:
            rate = 1.0 / len(spouts)
        else:
            rate = into.get(edge.source, 0.0) * selectivity.get(edge.source, 1.0)
        into[edge.target] = into.get(edge.target, 0.0) + rate
        rates.append(rate)
    return np.array(rates)


@dataclass(frozen=True)
class Locality:
    """Edge shares of every run, computed once; the rates over the edges come from training runs."""

    runs: Runs
    #: One array (edges, 2) per run.
    shares: tuple[FloatMatrix, ...]

    @classmethod
    def of(cls, runs: Runs) -> Locality:
        known: dict[tuple[str, str, float], FloatMatrix] = {}
        shares = []
        for i in range(len(runs)):
            plan = str(runs.plan[i])
            key = (plan, str(sorted(runs.parallelism[i].items())), float(runs.workers[i]))
            if key not in known:
                known[key] = edge_shares(
                    runs.edges.get(plan, ()),
                    runs.parallelism[i],
                    int(runs.workers[i]),
                    int(runs.nodes[i]),
                )
            shares.append(known[key])
        return cls(runs, tuple(shares))

    def stays(self, training: BoolVector) -> FloatMatrix:
        """Share of all transfers that stay in the worker, and on the host; shape (runs, 2)."""
        rates = {
            plan: edge_rates(self.runs.edges.get(plan, ()), self._selectivity(plan, training))
            for plan in sorted(set(self.runs.plan.tolist()))
        }
        stays = np.zeros((len(self.runs), 2))
        for i, shares in enumerate(self.shares):
            weights = rates[str(self.runs.plan[i])]
            if weights.sum() > 0:
                stays[i] = weights @ shares / weights.sum()
        return stays

    def _selectivity(self, plan: str, training: BoolVector) -> dict[str, float]:
        values_of: dict[str, list[float]] = {}
        for i in np.flatnonzero(training & (self.runs.plan == plan)):
            for operator, value in self.runs.selectivity[i].items():
                values_of.setdefault(operator, []).append(value)
        return {operator: float(np.median(values)) for operator, values in values_of.items()}

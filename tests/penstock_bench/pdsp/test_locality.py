"""Who shares a worker where Storm deals executors in turn."""

from __future__ import annotations

import numpy as np
import pytest

from penstock_bench.pdsp.locality import dealt_workers, edge_rates, edge_shares
from penstock_bench.pdsp.runs import PlanEdge


def test_executors_are_dealt_by_name_after_the_ackers():
    # Four workers: ackers take 0 to 3, then a from 0, b from 2, spout from 1.
    dealt = dealt_workers({"spout": 2, "b": 3, "a": 2}, 4)
    assert {name: workers.tolist() for name, workers in dealt.items()} == {
        "__acker": [0, 1, 2, 3],
        "a": [0, 1],
        "b": [2, 3, 0],
        "spout": [1, 2],
    }


def test_a_shuffle_prefers_neighbours_and_keys_do_not():
    parallelism = {"spout": 2, "b": 3, "a": 2}
    edges = (PlanEdge("spout", "b", "shuffle", True), PlanEdge("b", "a", "fields", False))
    # Of the spouts in workers 1 and 2 one has a b; of 3 × 2 pairs b and a share worker 0 once.
    # Two hosts, even and odd workers: both spouts have a b on theirs; b and a on 3 of 6 pairs.
    assert edge_shares(edges, parallelism, 4, 2) == pytest.approx(
        np.array([[1 / 2, 1.0], [1 / 6, 3 / 6]])
    )


def test_rates_follow_selectivities_and_two_spouts_share_the_input():
    edges = (
        PlanEdge("s1", "parse", "shuffle", True),
        PlanEdge("s2", "parse", "shuffle", True),
        PlanEdge("parse", "count", "fields", False),
        PlanEdge("count", "sink", "shuffle", False),
    )
    assert edge_rates(edges, {"parse": 6.0}) == pytest.approx([0.5, 0.5, 6.0, 6.0])

"""``penstock plan --if-lost``: the contingencies in the file, held against what their moves do."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.files.store import load
from penstock.model.plan import Plan
from penstock_bench.contract.contingencies import faults_of

CASE = Path(__file__).parents[1] / "fixtures" / "contingency"


def of_plan(path: str, *, same_counts: bool = False) -> list[str]:
    plan = load(Path(path))
    assert isinstance(plan, Plan)
    assert plan.if_lost
    return [
        fault
        for loss in plan.if_lost
        for fault in faults_of(plan.problem, plan.placement, loss, same_counts=same_counts)
    ]


@pytest.mark.parametrize("how", ["", "--same-counts"])
def test_a_global_stream_beside_a_shuffled_one_is_not_promised_too_much(run, how):
    """594 tuples/s were promised after the loss of B-1, and the moves carried 354."""
    files = f"{CASE}/topology.json -c {CASE}/cluster.json -p {CASE}/profile.json"
    code, _, err = run(f"plan {files} --if-lost --iterations 5 {how} -o plan.json")
    assert code == 0, err
    assert of_plan("plan.json", same_counts=bool(how)) == []
    lost = {loss.machine: loss.rate_left_per_s for loss in load(Path("plan.json")).if_lost}
    assert lost["B-1"] > 0


@pytest.mark.parametrize("how", ["", "--same-counts"])
def test_two_topologies_are_not_put_into_one_slot(run, how):
    """As two-in-one-slot.yaml tells it: x/a[0] was sent to (m-2, slot 0), where y runs."""
    rows = "{on: {m: {e: 0.1, met: 1}}}"
    texts = {
        f"{name}.yaml": f"{{format: penstock/topology, version: 1, name: {name}, "
        "components: {a: {kind: spout}}}"
        for name in ("x", "y")
    } | {
        "cluster.yaml": "{format: penstock/cluster, version: 1, name: c, "
        "types: {m: {cpu_points: 100, slots: 2}}, machines: [{type: m, count: 2}]}",
        "profile.yaml": "{format: penstock/profile, version: 1, name: p, origin: assumed, "
        f"rows: {{x.a: {rows}, y.a: {rows}}}}}",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    files = "x.yaml y.yaml -c cluster.yaml -p profile.yaml"
    code, _, err = run(f"plan {files} --if-lost --iterations 3 {how} -o plan.json")
    assert code == 0, err
    assert of_plan("plan.json", same_counts=bool(how)) == []
    # One instance of 0.1 points per tuple/s each: the machine that is left is (100 - 2) / 0.1 / 2
    # tuples/s for each topology, 980 for both.
    rates = [loss.rate_left_per_s for loss in load(Path("plan.json")).if_lost]
    assert rates == [pytest.approx(980.0)] * 2

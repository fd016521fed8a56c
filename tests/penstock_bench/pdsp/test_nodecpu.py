"""CPU of a node: each form recovers what it describes, and the data choose among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import NotMeasuredError
from penstock_bench.pdsp import nodecpu_pooled
from penstock_bench.pdsp.nodecpu import NodeForm, NodeModel, NodeRuns, fit_best, fit_node
from penstock_bench.pdsp.nodecpu_pooled import NodeLoads, fit_pooled

VECTORS = (2.0, 4, 16, 32, 64, 96)
#: e per 100,000/s, met per ten executors, constant, shape.
TRUTH = {
    NodeForm.PLAIN: [8.0, 1.5],
    NodeForm.CONSTANT: [8.0, 1.5, 5.0],
    NodeForm.SATURATING: [12.0, 2.0, 5.0, 0.9],
    NodeForm.SPINNING: [8.0, 2.0, 5.0, 0.5],
    NodeForm.GROWING: [6.0, 1.0, 5.0, 0.3],
}


def runs_of(form: NodeForm) -> tuple[NodeRuns, list[str]]:
    """Three rates at six vectors, 3 bolts of N instances and 11 others."""
    rate = np.tile([1e5, 3e5, 6e5], len(VECTORS))
    count = np.repeat(VECTORS, 3)
    executors = 3 * count + 11
    truth = NodeModel(form, np.array(TRUTH[form]), np.zeros(0))
    runs = NodeRuns(rate, executors, truth.predict(rate, executors))
    return runs, [f"{n:g}" for n in count]


def test_the_forms_by_hand():
    rate, executors = np.array([2e5]), np.array([30.0])

    def cpu(form: NodeForm, *parameters: float) -> float:
        return float(NodeModel(form, np.array(parameters), np.zeros(0)).predict(rate, executors)[0])

    assert cpu(NodeForm.PLAIN, 8, 2) == pytest.approx(8 * 2 + 2 * 3)
    assert cpu(NodeForm.CONSTANT, 8, 2, 5) == pytest.approx(27)
    assert cpu(NodeForm.SATURATING, 8, 2, 5, 0.5) == pytest.approx(50 * (1 - np.exp(-27 / 50)))
    assert cpu(NodeForm.SPINNING, 8, 2, 5, 0.5) == pytest.approx(21 + 6 * np.exp(-21 / 50))
    assert cpu(NodeForm.GROWING, 8, 2, 5, 1.0) == pytest.approx(16 * 3 + 6 + 5)


@pytest.mark.parametrize("form", list(NodeForm))
def test_a_form_recovers_itself(form):
    runs, _ = runs_of(form)
    fitted = fit_node(form, runs)
    assert fitted.parameters == pytest.approx(TRUTH[form], rel=0.02)
    assert fitted.predict(runs.rate_per_s, runs.executors) == pytest.approx(
        runs.cpu_percent, rel=1e-3
    )


def test_an_outlier_does_not_pull_and_nothing_is_negative():
    runs, _ = runs_of(NodeForm.CONSTANT)
    cpu = runs.cpu_percent.copy()
    cpu[4] *= 5
    fitted = fit_node(NodeForm.CONSTANT, replace(runs, cpu_percent=cpu))
    assert fitted.parameters == pytest.approx(TRUTH[NodeForm.CONSTANT], rel=0.1)
    # CPU that falls with the rate: the slope stays at zero.
    falling = fit_node(NodeForm.CONSTANT, replace(runs, cpu_percent=60 - runs.rate_per_s / 2e4))
    assert (falling.parameters >= 0).all()


def test_standard_errors_shrink_with_more_runs():
    rng = np.random.default_rng(0)
    errors = []
    for repeats in (1, 16):
        rate = np.tile([1e5, 3e5, 6e5], 6 * repeats)
        executors = np.tile(np.repeat(3 * np.array(VECTORS) + 11, 3), repeats)
        cpu = (8 * rate / 1e5 + 1.5 * executors / 10) * np.exp(rng.normal(0, 0.03, len(rate)))
        errors.append(fit_node(NodeForm.PLAIN, NodeRuns(rate, executors, cpu)).standard_errors)
    # Sixteen times the runs: a quarter of the error, give or take.
    assert (errors[1] < 0.5 * errors[0]).all()


@pytest.mark.parametrize("form", [NodeForm.PLAIN, NodeForm.SATURATING, NodeForm.GROWING])
def test_left_out_vectors_choose_the_form(form):
    runs, vectors = runs_of(form)
    chosen = fit_best(runs, vectors)
    predicted = chosen.predict(runs.rate_per_s, runs.executors)
    assert predicted == pytest.approx(runs.cpu_percent, rel=0.01)
    if form is not NodeForm.PLAIN:  # the richer forms contain the straight line
        assert chosen.form is form


def test_one_run_is_refused():
    with pytest.raises(NotMeasuredError):
        fit_node(NodeForm.PLAIN, NodeRuns(np.ones(1), np.ones(1), np.ones(1)))


def pooled_case(seed: int = 0) -> tuple[NodeLoads, np.ndarray]:
    """Four plans on two machine types after the model's own idea, with 2 % noise."""
    rng = np.random.default_rng(seed)
    rows = [
        (plan, machine, n, rate)
        for plan in "abcd"
        for machine in ("big", "small")
        for n in VECTORS
        for rate in (1e5, 5e5)
    ]
    plan, machine, count, rate = (np.array(column) for column in zip(*rows, strict=True))
    e = np.array([{"a": 8.0, "b": 4.0, "c": 12.0, "d": 6.0}[p] for p in plan])
    slow = np.where(machine == "small", 1.6, 1.0)
    local = np.where(count >= 64, 0.6, 0.0)
    loads = NodeLoads(
        plan=plan,
        machine_type=machine,
        vector=np.array([f"{n:g}" for n in count]),
        rate_per_s=rate,
        offered_per_s=rate,
        parallelism=count,
        executors_per_cpu=(3 * count + 11) / 200,
        falls_short=np.zeros(len(rows), dtype=bool),
        worker_local=local,
        host_local=np.full(len(rows), 0.7),
    )
    load = 6 + slow * (e * rate / 1e5 * np.exp(-0.7 * local) + 12 * loads.executors_per_cpu)
    return loads, 110 * -np.expm1(-load / 110) * np.exp(rng.normal(0, 0.02, len(rows)))


def test_pooled_predicts_a_vector_left_out_within_the_noise():
    loads, cpu = pooled_case()
    held = (loads.plan == "b") & (loads.machine_type == "small") & (loads.parallelism == 16)
    fitted = fit_pooled(loads.where(~held), cpu[~held])
    assert fitted.predict(loads.where(held)) == pytest.approx(cpu[held], rel=0.08)


def test_pooled_calibrates_a_new_plan_from_two_runs():
    loads, cpu = pooled_case()
    new = loads.plan == "d"
    own = np.flatnonzero(new & (loads.machine_type == "big"))[[0, -1]]
    training = ~new
    training[own] = True
    held = new & (loads.machine_type == "big") & ~training
    fitted = fit_pooled(loads.where(training), cpu[training])
    errors = np.abs(fitted.predict(loads.where(held)) / cpu[held] - 1)
    assert np.median(errors) < 0.08


def test_local_tuples_are_found_to_be_cheaper_and_choose_the_form():
    loads, cpu = pooled_case()
    fitted = fit_pooled(loads, cpu)
    assert fitted.form != "saturating"
    assert fitted.left_out_errors[fitted.form] < fitted.left_out_errors["saturating"]
    parameters = fitted.fit.parameters(loads.labels, len(loads))
    assert parameters["worker_local"] == pytest.approx(np.full(len(loads), 0.7), abs=0.3)


def test_the_same_rows_give_the_same_answer():
    loads, cpu = pooled_case()
    forms = {"storm": nodecpu_pooled.POOLED_FORMS["storm"]}
    one, other = (fit_pooled(loads, cpu, forms).predict(loads) for _ in range(2))
    assert (one == other).all()

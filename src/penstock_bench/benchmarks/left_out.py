"""Predictions of measured runs that the models did not see.

Whatever a prediction uses is fitted to the training rows of its fold: parameters, the choice of
form, how far groups are drawn to each other, selectivities. ``Fold`` is the only way in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector
from penstock_bench.pdsp import nodecpu_pooled, scalability, scalability_pooled
from penstock_bench.pdsp.locality import Locality
from penstock_bench.pdsp.nodecpu import NodeForm, NodeRuns, fit_node
from penstock_bench.pdsp.runs import Runs


@dataclass(frozen=True)
class Fold:
    """One pair of plan and machine type, rows to learn from and rows to predict (masks)."""

    pair: BoolVector
    training: BoolVector
    held: BoolVector


#: Runs and a fold in, predictions for the held rows out.
Model = Callable[[Runs, Fold], FloatVector]


def predict(runs: Runs, folds: list[Fold], models: Mapping[str, Model]) -> dict[str, FloatVector]:
    """Every model's prediction of every held row; NaN where a row is in no fold."""
    predicted = {name: np.full(len(runs), np.nan) for name in models}
    for fold in folds:
        for name, model in models.items():
            predicted[name][fold.held] = model(runs, fold)
    return predicted


def pairs(runs: Runs) -> Iterator[BoolVector]:
    """Rows of each plan on each machine type."""
    for plan, machine in sorted(
        set(zip(runs.plan.tolist(), runs.machine_type.tolist(), strict=True))
    ):
        yield (runs.plan == plan) & (runs.machine_type == machine)


def vectors_left_out(runs: Runs, least_vectors: int, least_rows: int = 1) -> list[Fold]:
    """One fold per vector of a pair, where so many other vectors and rows remain."""
    folds = []
    for pair in pairs(runs):
        for vector in np.unique(runs.vector[pair]):
            held = pair & (runs.vector == vector)
            rest = pair & ~held
            if len(np.unique(runs.vector[rest])) >= least_vectors and rest.sum() >= least_rows:
                folds.append(Fold(pair, ~held, held))
    return folds


def everywhere(runs: Runs, folds: list[Fold]) -> list[Fold]:
    """The same held rows, with the number of instances left out of every plan and machine type."""
    return [
        Fold(
            fold.pair,
            ~np.isin(runs.bolt_parallelism, runs.bolt_parallelism[fold.held]),
            fold.held,
        )
        for fold in folds
    ]


def application_left_out(runs: Runs, order: FloatVector, least_rows: int = 4) -> list[Fold]:
    """All other applications and two runs of a pair: the first and the last in ``order``."""
    folds = []
    for pair in pairs(runs):
        rows = np.flatnonzero(pair)
        if len(rows) < least_rows:
            continue
        # Ties by number of instances, then by run, so that the choice is always the same.
        ranked = rows[np.lexsort((runs.run_id[rows], runs.bolt_parallelism[rows], order[rows]))]
        calibration = np.zeros(len(runs), dtype=np.bool_)
        calibration[ranked[[0, -1]]] = True
        same_vector = pair & np.isin(runs.vector, runs.vector[calibration])
        held = pair & ~same_vector
        other_apps = ~np.isin(runs.app, runs.app[rows])
        if held.any() and len(np.unique(runs.vector[calibration])) == 2:
            folds.append(Fold(pair, other_apps | calibration, held))
    return folds


# -- node CPU -------------------------------------------------------------------------------------


def node_form(form: NodeForm) -> Model:
    """One form fitted to the pair's own training rows, as in the papers."""

    def model(runs: Runs, fold: Fold) -> FloatVector:
        fitted = fit_node(form, _node_runs(runs.where(fold.pair & fold.training)))
        held = runs.where(fold.held)
        return fitted.predict(held.rate_per_s, held.executors)

    return model


def execute_time_as_cpu(runs: Runs, fold: Fold) -> FloatVector:
    """Storm's execute milliseconds times the rate, taken for CPU; nothing is fitted."""
    held = runs.where(fold.held)
    busy = np.array([sum(threads.values()) for threads in held.busy_threads])
    return np.asarray(100.0 * busy / (held.nodes * held.logical_cpus_per_node))


class PooledNodeCpu:
    """Ours: all plans and machine types together."""

    def __init__(
        self,
        runs: Runs,
        forms: Mapping[str, tuple[str, ...]] = nodecpu_pooled.POOLED_FORMS,
    ) -> None:
        self._locality = Locality.of(runs)
        self._forms = forms
        #: How often each form was chosen.
        self.chosen: dict[str, int] = {}
        self._last: tuple[bytes, nodecpu_pooled.PooledNodeModel] | None = None

    def __call__(self, runs: Runs, fold: Fold) -> FloatVector:
        loads = self._loads(runs, fold.training)
        key = fold.training.tobytes()
        if self._last is None or self._last[0] != key:  # folds often share their training rows
            fitted = nodecpu_pooled.fit_pooled(
                loads.where(fold.training), runs.cpu_percent[fold.training], self._forms
            )
            self.chosen[fitted.form] = self.chosen.get(fitted.form, 0) + 1
            self._last = (key, fitted)
        return self._last[1].predict(loads.where(fold.held))

    def _loads(self, runs: Runs, training: BoolVector) -> nodecpu_pooled.NodeLoads:
        stays = self._locality.stays(training)
        return nodecpu_pooled.NodeLoads(
            plan=runs.plan,
            machine_type=runs.machine_type,
            vector=runs.vector,
            rate_per_s=runs.rate_per_s,
            offered_per_s=runs.offered_per_s,
            parallelism=runs.bolt_parallelism,
            executors_per_cpu=runs.executors / (runs.nodes * runs.logical_cpus_per_node),
            falls_short=runs.falls_short,
            worker_local=stays[:, 0],
            host_local=stays[:, 1],
        )


def _node_runs(runs: Runs) -> NodeRuns:
    return NodeRuns(runs.rate_per_s, runs.executors, runs.cpu_percent)


# -- saturated throughput -------------------------------------------------------------------------


def universal(runs: Runs, fold: Fold) -> FloatVector:
    """The Universal Scalability Law of the pair alone."""
    own = runs.where(fold.pair & fold.training)
    fitted = scalability.fit_universal(own.bolt_parallelism, own.rate_per_s)
    return fitted.predict(runs.bolt_parallelism[fold.held])


def ceiling(runs: Runs, fold: Fold) -> FloatVector:
    """min(k·N, Xmax) of the pair alone."""
    own = runs.where(fold.pair & fold.training)
    fitted = scalability.fit_ceiling(own.bolt_parallelism, own.rate_per_s)
    return fitted.predict(runs.bolt_parallelism[fold.held])


def constant_execute_time(runs: Runs, fold: Fold) -> FloatVector:
    """The first bolt whose threads are all busy; NaN where execute times are too short to see."""
    own = runs.where(fold.pair & fold.training)
    seen: dict[str, list[float]] = {}
    for busy, rate in zip(own.busy_threads, own.rate_per_s, strict=True):
        for operator, threads in busy.items():
            seen.setdefault(operator, []).append(threads / rate)
    cost = {operator: float(np.median(values)) for operator, values in seen.items()}
    limits = [
        scalability.constant_execute_limit(parallelism, cost)
        for parallelism in runs.where(fold.held).parallelism
    ]
    return np.array([limit if np.isfinite(limit) else np.nan for limit in limits])


def pooled_scaling(runs: Runs, fold: Fold) -> FloatVector:
    """Ours: all plans and machine types together."""
    places = scalability_pooled.SaturatedRuns(runs.plan, runs.machine_type, runs.bolt_parallelism)
    fitted = scalability_pooled.fit_pooled(
        places.where(fold.training), runs.rate_per_s[fold.training]
    )
    return fitted.predict(places.where(fold.held))


# -- noise ----------------------------------------------------------------------------------------


def near_replicates(
    runs: Runs, measured: FloatVector, rates_within: float | None = None
) -> FloatVector:
    """Relative differences between runs of one vector, where rates are that close if asked."""
    differences = []
    for pair in pairs(runs):
        for vector in np.unique(runs.vector[pair]):
            rows = np.flatnonzero(pair & (runs.vector == vector)).tolist()
            for i, a in enumerate(rows):
                for b in rows[i + 1 :]:
                    if rates_within is None or _apart(runs.rate_per_s, a, b) <= rates_within:
                        differences.append(_apart(measured, a, b))
    return np.array(differences)


def _apart(values: FloatVector, a: int, b: int) -> float:
    return float(abs(values[a] - values[b]) / (0.5 * (values[a] + values[b])))

"""Node CPU of many application plans on several machine types, fitted together.

    work  = e · x^(1+bend) · N^gamma · exp(−s_worker·local_worker − s_host·local_host)
    spin  = met · executors per CPU · N^crowding · (factor when the topology falls behind)
    load  = base + p · offered + work + spin
    CPU   = C · (1 − exp(−load / C))

What is new against eq. 5, and why: tuples that stay in their worker are not serialised (``local``);
executors that wait for input spin, and under back-pressure they spin differently, more in some
plans and less in others, so ``met`` has a factor where a topology falls behind what is offered;
producers and brokers on the same nodes cost CPU for
what is offered, not for what gets in; a node near full load measures less than the sum of its
parts. Each plan, machine type and pair has its own e and met, drawn to each other as far as the
data say so (``shrinkage``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from penstock.errors import NotMeasuredError
from penstock.model.arrays import BoolVector, FloatVector
from penstock_bench.pdsp.shrinkage import (
    Formula,
    SharedFit,
    Term,
    TextVector,
    fit_shared,
    left_out_residuals,
    pairs,
)

_RATE_UNIT_PER_S = 1e5
#: Vectors and rates in the middle of what is measured, so that e and met mean something there.
_MIDDLE_PARALLELISM = 16.0
_MANY = 32.0

_TERMS = {
    term.name: term
    for term in (
        Term("e", np.log(6.0), 1.5, ("machine", "plan", "pair")),
        Term("base", np.log(8.0), 1.0, ("machine",)),
        Term("met", np.log(30.0), 1.0, ("machine", "plan", "pair")),
        Term("ceiling", np.log(110.0), 0.4, ("all", "machine")),
        Term("producers", np.log(0.2), 1.5, ("all", "machine")),
        Term("behind", 0.0, 0.5, ("all", "machine", "plan")),
        Term("bend", 0.0, 0.2, ("all", "plan")),
        Term("gamma", 0.0, 0.3, ("all", "machine", "plan")),
        Term("crowding", 0.0, 0.3, ("all", "machine")),
        Term("worker_local", 0.0, 0.5, ("all", "plan")),
        Term("host_local", 0.0, 0.5, ("all",)),
        Term("idle_only", np.log(60.0), 0.7, ("all", "machine")),
    )
}
_SATURATING = ("e", "base", "met", "ceiling")
_STORM = (
    *_SATURATING,
    "producers",
    "behind",
    "bend",
    "gamma",
    "crowding",
    "worker_local",
    "host_local",
)
#: Forms by name, the simplest first.
POOLED_FORMS: Mapping[str, tuple[str, ...]] = {
    "saturating": _SATURATING,
    "storm": _STORM,
    "storm, spinning when idle": (*_STORM, "idle_only"),
}
#: What can be said without knowing what was offered.
RATE_ONLY_FORMS: Mapping[str, tuple[str, ...]] = {
    "rate only": tuple(name for name in _STORM if name not in ("producers", "behind"))
}


@dataclass(frozen=True)
class NodeLoads:
    """What is known before CPU is measured; arrays of one entry per run."""

    plan: TextVector
    machine_type: TextVector
    vector: TextVector
    rate_per_s: FloatVector
    offered_per_s: FloatVector
    #: The N of the vector.
    parallelism: FloatVector
    #: User executors over the logical CPUs of all nodes.
    executors_per_cpu: FloatVector
    falls_short: BoolVector
    #: Share of transfers that stay in their worker, and on their host.
    worker_local: FloatVector
    host_local: FloatVector

    def __len__(self) -> int:
        return len(self.rate_per_s)

    def where(self, chosen: BoolVector) -> NodeLoads:
        return NodeLoads(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @property
    def labels(self) -> dict[str, TextVector]:
        return {
            "plan": self.plan,
            "machine": self.machine_type,
            "pair": pairs(self.plan, self.machine_type),
        }

    @property
    def held_together(self) -> TextVector:
        """Runs of one vector of one pair: left out together."""
        return pairs(self.labels["pair"], self.vector)


@dataclass(frozen=True)
class PooledNodeModel:
    """A fitted form and what it was chosen by."""

    form: str
    fit: SharedFit
    #: Mean relative error of left-out vectors inside the training rows, by form.
    left_out_errors: Mapping[str, float]

    def predict(self, loads: NodeLoads) -> FloatVector:
        """Node CPU in per cent."""
        parameters = self.fit.parameters(loads.labels, len(loads))
        return np.asarray(np.exp(_formula(loads)(parameters)))


def fit_pooled(
    loads: NodeLoads,
    cpu_percent: FloatVector,
    forms: Mapping[str, tuple[str, ...]] = POOLED_FORMS,
) -> PooledNodeModel:
    """Fit every form, keep the one that predicts left-out vectors of these rows best."""
    if len(loads) < 2:
        raise NotMeasuredError("node CPU needs at least two runs to fit")
    fits = {
        name: fit_shared(
            [_TERMS[term] for term in terms], loads.labels, _formula(loads), np.log(cpu_percent)
        )
        for name, terms in forms.items()
    }
    errors = {name: _left_out_error(fit, loads) for name, fit in fits.items()}
    best = min(fits, key=lambda name: errors[name])
    return PooledNodeModel(best, fits[best], errors)


def _left_out_error(fit: SharedFit, loads: NodeLoads) -> float:
    residuals = left_out_residuals(fit.precision(), fit.linear_target, loads.held_together)
    # A collapsed run is off by any amount in every form and must not choose it.
    return float(np.mean(np.minimum(np.abs(residuals), 0.3)))


def _formula(loads: NodeLoads) -> Formula:
    log_rate = np.log(loads.rate_per_s / _RATE_UNIT_PER_S)
    offered = loads.offered_per_s / _RATE_UNIT_PER_S
    log_parallelism = np.log(loads.parallelism / _MIDDLE_PARALLELISM)
    log_crowd = np.log(loads.parallelism / _MANY)
    log_executors = np.log(loads.executors_per_cpu)
    behind = loads.falls_short.astype(np.float64)

    def log_cpu(parameters: Mapping[str, FloatVector]) -> FloatVector:
        nothing = np.zeros(len(loads))

        def of(name: str) -> FloatVector:
            return parameters.get(name, nothing)

        work = np.exp(
            of("e")
            + (1.0 + of("bend")) * log_rate
            + of("gamma") * log_parallelism
            - of("worker_local") * loads.worker_local
            - of("host_local") * loads.host_local
        )
        load = work + np.exp(of("base"))
        if "producers" in parameters:
            load = load + np.exp(of("producers")) * offered
        spin = np.exp(
            of("met") + log_executors + of("crowding") * log_crowd + of("behind") * behind
        )
        if "idle_only" in parameters:
            spin = spin * np.exp(-load / np.exp(of("idle_only")))
        ceiling = np.exp(of("ceiling"))
        return np.asarray(np.log(-ceiling * np.expm1(-(load + spin) / ceiling)))

    return log_cpu

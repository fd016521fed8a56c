"""One box at one scale: the prices that prove most, and where to split if they do not suffice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.pattern_bound.fillings import BoxFillings, Fillings
from penstock.evaluate.pattern_bound.prices import FillingProgramme
from penstock.evaluate.pattern_bound.relaxed import CountBox, RelaxedProblem
from penstock.model.arrays import FloatVector

#: A box is refuted only where its machines are worth less than its input by this factor.
REFUTED = 1.0 - 1e-11
#: Rounds of column generation, and the part of the value at which it ends.
_ROUNDS, _NEAR = 40, 1e-9
#: No split leaves less than this part of a range on either side.
_LEAST_PART = 0.15


@dataclass(frozen=True)
class BoxProof:
    """The best prices found for a box, and the fillings that are worth most at them."""

    value: float
    prices: FloatVector
    counts: FloatVector
    #: What it gains that fillings have instances of unlike size, by component.
    spread: FloatVector


def prove(
    relaxed: RelaxedProblem,
    fillings: Fillings,
    box: CountBox,
    first: FloatVector | None,
    scale: float,
) -> BoxProof:
    """Prices at which the machines of a box are worth as little as can be; input is worth 1."""
    fed = relaxed.fed
    priced = BoxFillings(relaxed, fillings, box, scale)
    programme = FillingProgramme(relaxed.visits[fed], relaxed.machines)
    components = len(relaxed.visits)
    prices = first
    if prices is None or len(prices) != components:
        prices = np.where(relaxed.visits > 0, relaxed.e.mean(axis=0), 0.0)
        prices = np.where(np.isfinite(prices), prices, 1.0)
    prices = _normed(prices, relaxed.visits)
    best, best_prices = np.inf, prices
    inputs: list[FloatVector] = []
    rows: list[int] = []
    for _ in range(_ROUNDS):
        filled = priced.best(prices)
        value = float(relaxed.machines @ filled.worth)
        if value < best:
            best, best_prices = value, prices
        if best < REFUTED:
            return BoxProof(best, best_prices, box.least, np.zeros(components))
        programme.add(filled.inputs[:, fed], filled.kinds)
        inputs.extend(filled.inputs)
        rows.extend(filled.rows.tolist())
        theta, proposed = programme.solve()
        if best - theta <= _NEAR or theta > 1.0 + _NEAR:
            break
        prices = np.zeros(components)
        prices[fed] = proposed
        prices = _normed(prices, relaxed.visits)
    used, machines = programme.in_use()
    counts = fillings.counts[np.array(rows, dtype=np.int64)[used]]
    taken = np.array(inputs)[used]
    total = machines @ counts
    each = np.divide(machines @ taken, total, out=np.zeros(components), where=total > 0)
    spread = machines @ np.abs(taken - counts * each) * best_prices
    return BoxProof(best, best_prices, np.maximum(total, 1.0), spread)


def _normed(prices: FloatVector, visits: FloatVector) -> FloatVector:
    total = float(prices @ visits)
    return prices / total if total > 0 else np.ones(len(prices)) / float(visits.sum())


def where_to_split(box: CountBox, proof: BoxProof) -> tuple[int, float]:
    """The component that gains most by instances of unlike size, at its average count."""
    width = box.most - box.least
    gain = np.where(width > 0, proof.spread, -1.0)
    if gain.max() <= 1e-12:
        gain = np.where(width > 0, width / box.most, -1.0)
    component = int(gain.argmax())
    least, most = float(box.least[component]), float(box.most[component])
    margin = np.floor(_LEAST_PART * (most - least))
    at = float(np.clip(np.floor(proof.counts[component]), least + margin, most - 1.0 - margin))
    return component, at

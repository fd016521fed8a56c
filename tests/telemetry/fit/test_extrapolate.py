"""Costs on types never measured: exact where work and speed explain all, wide where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import TABLE_3

from penstock.telemetry.fit.extrapolate import ASSUMED_INTERACTION, estimate_missing

Known = dict[tuple[str, str], tuple[float, float]]

WORK = {"a": 0.1, "b": 0.2, "c": 0.5, "d": 0.9}
SLOWNESS = {"M1": 1.0, "M2": 2.0, "M3": 1.6}


def table(error: float = 0.0, interaction: float = 0.0, seed: int = 0) -> Known:
    rng = np.random.default_rng(seed)
    return {
        (row, kind): (
            work * slow * float(np.exp(rng.normal(0.0, interaction))), error * work * slow,
        )
        for row, work in WORK.items()
        for kind, slow in SLOWNESS.items()
    }  # fmt: skip


def without(known: Known, *gone: tuple[str, str]) -> Known:
    return {key: value for key, value in known.items() if key not in gone}


def test_a_table_of_work_times_speed_is_recovered() -> None:
    gone = [("a", "M2"), ("d", "M3")]
    found = estimate_missing(without(table(), *gone), gone)
    # 0.1 * 2.0 and 0.9 * 1.6
    assert found["a", "M2"].value == pytest.approx(0.2, rel=1e-6)
    assert found["d", "M3"].value == pytest.approx(1.44, rel=1e-6)
    # Ten entries, six unknowns: four to spare show no interaction, which leaves some doubt about
    # it, 0.2 * sqrt(0.25 / 4.25) = 0.0485 in logarithms for the entry itself, and some for the fit.
    assert 0.0485 * 0.2 < found["a", "M2"].error < 2 * 0.0485 * 0.2


def test_what_was_measured_is_not_estimated() -> None:
    known = table()
    assert estimate_missing(known, list(known)) == {}


def test_islands_that_no_measurement_links_give_none() -> None:
    known = {("a", "M1"): (0.1, 0.001), ("b", "M2"): (0.4, 0.004), ("b", "M3"): (0.3, 0.003)}
    assert estimate_missing(known, [("a", "M2"), ("a", "M3"), ("b", "M1")]) == {}
    # One measurement links them: b on M1 is half of b on M2, so a on M2 is twice a on M1.
    linked = {**known, ("b", "M1"): (0.2, 0.002)}
    found = estimate_missing(linked, [("a", "M2"), ("a", "M3")])
    assert found["a", "M2"].value == pytest.approx(0.2)
    assert found["a", "M3"].value == pytest.approx(0.15)


def test_rows_and_types_nobody_measured_give_none() -> None:
    assert estimate_missing(table(), [("z", "M1"), ("a", "M9")]) == {}
    assert estimate_missing({}, [("a", "M1")]) == {}


def test_costs_of_zero_have_no_logarithm_and_are_left_out() -> None:
    known = {**without(table(), ("a", "M2")), ("b", "M2"): (0.0, 0.1)}
    found = estimate_missing(known, [("a", "M2")])
    assert found["a", "M2"].value == pytest.approx(0.2, rel=1e-6)


def test_where_nothing_is_spare_an_interaction_is_assumed() -> None:
    known = {("a", "M1"): (0.1, 0.0), ("b", "M1"): (0.2, 0.0), ("b", "M2"): (0.4, 0.0)}
    found = estimate_missing(known, [("a", "M2")])["a", "M2"]
    assert found.value == pytest.approx(0.2)
    # log a2 = a1 + b2 - b1, each off by the assumed 0.2, and a2's own: exp(0.2 * sqrt(4)) - 1.
    assert found.error == pytest.approx(0.2 * np.expm1(2 * ASSUMED_INTERACTION), rel=1e-3)


def test_interaction_and_unsure_measurements_widen_the_errors() -> None:
    gone = ("a", "M2")
    exact = estimate_missing(without(table(0.001), gone), [gone])[gone]
    unsure = estimate_missing(without(table(0.05), gone), [gone])[gone]
    mixed = estimate_missing(without(table(0.001, interaction=0.2), gone), [gone])[gone]
    relative = [found.error / found.value for found in (exact, unsure, mixed)]
    assert relative == sorted(relative)
    assert relative[2] > 2 * relative[0]


def test_with_interaction_the_truth_lies_within_two_errors_as_a_rule() -> None:
    gone, inside = ("b", "M3"), []
    for seed in range(200):
        full = table(0.01, interaction=0.1, seed=seed)
        found = estimate_missing(without(full, gone), [gone])[gone]
        inside.append(abs(full[gone][0] - found.value) <= 2 * found.error)
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize("row", TABLE_3)
@pytest.mark.parametrize("kind", ["M1", "M2", "M3"])
def test_leaving_out_one_of_nasiris_costs_leads_back_to_it(row: str, kind: str) -> None:
    known = {(r, k): (e, 0.02 * e) for r, costs in TABLE_3.items() for k, e in costs.items()}
    found = estimate_missing(without(known, (row, kind)), [(row, kind)])[row, kind]
    assert abs(TABLE_3[row][kind] - found.value) <= 2 * found.error
    # The table is nearly work times speed: within 10 % of the truth, and sure to about that.
    assert found.value == pytest.approx(TABLE_3[row][kind], rel=0.1)
    assert found.error < 0.15 * found.value

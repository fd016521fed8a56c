"""Many groups fitted together: what is shared, what is each group's own, what is left out."""

from __future__ import annotations

import numpy as np
import pytest

from penstock_bench.pdsp.shrinkage import Term, fit_shared, left_out_residuals


def levels(sizes: list[int], seed: int = 0) -> tuple[dict, np.ndarray, np.ndarray]:
    """log y = 2 + own level of the group + 1 % noise."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0, 0.5, len(sizes))
    group = np.repeat(np.arange(len(sizes)), sizes)
    target = 2 + own[group] + rng.normal(0, 0.01, len(group))
    return {"group": np.array([f"g{g}" for g in group])}, target, own


def fit(labels, target):
    term = Term("level", 0.0, 3.0, ("all", "group"))
    return fit_shared([term], labels, lambda given: given["level"], target)


def test_each_group_gets_its_own_level_and_the_spread_is_learnt():
    labels, target, own = levels([10] * 12)
    fitted = fit(labels, target)
    names = {"group": np.array([f"g{g}" for g in range(12)])}
    assert fitted.parameters(names, 12)["level"] == pytest.approx(2 + own, abs=0.02)
    learnt = fitted.spreads[fitted.columns["level", "group"]["g0"]]
    assert learnt == pytest.approx(np.std(own), rel=0.3)


def test_groups_that_do_not_differ_are_drawn_together():
    rng = np.random.default_rng(3)
    labels = {"group": np.array([f"g{i % 12}" for i in range(48)])}
    fitted = fit(labels, 2 + rng.normal(0, 0.2, 48))
    own = fitted.parts[list(fitted.columns["level", "group"].values())]
    # Means of four would differ by 0.1 (0.2 / sqrt 4); drawn together they hardly do.
    assert np.std(own) < 0.05


def test_a_group_never_seen_gets_what_all_share():
    labels, target, _ = levels([10] * 12)
    fitted = fit(labels, target)
    unseen = fitted.parameters({"group": np.array(["new"])}, 1)["level"]
    assert unseen == pytest.approx([fitted.parts[fitted.columns["level", "all"][""]]])


def test_left_out_residuals_are_those_of_leaving_out():
    """The formula is linear, so the shortcut is exact for the same weights and spreads."""
    labels, target, _ = levels([4] * 8)
    fitted = fit(labels, target)
    rows = np.array([f"{i // 2}" for i in range(len(target))])
    shortcut = left_out_residuals(fitted.precision(), fitted.linear_target, rows)
    for group in ("0", "5"):
        held = rows == group
        J, w = fitted.jacobian[~held], fitted.weights[~held]
        precision = (J.T * w) @ J + np.diag(fitted.spreads**-2)
        parts = np.linalg.solve(precision, J.T @ (w * fitted.linear_target[~held]))
        expected = fitted.linear_target[held] - fitted.jacobian[held] @ parts
        assert shortcut[held] == pytest.approx(expected, abs=1e-8)

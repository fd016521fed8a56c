"""The estimate over all windows of a group, from a fit to a sample of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.sandwich import small_sample_factors


def refined(fit: CostFit, sums: Mapping[str, float]) -> CostFit:
    """The fit after one step over all windows, with error bars from all of them."""
    bread = np.linalg.inv(np.array([[sums["jxx"], sums["jx"]], [sums["jx"], sums["j1"]]]))
    # Newton's step. Solving with the weights held would leave a sixth of the start's error.
    step = bread @ np.array([sums["g1"], sums["g2"]])
    theta: FloatVector = np.array([fit.e, fit.met]) + step
    if theta[1] < 0:
        theta = np.array([sums["bx"] / sums["axx"], 0.0])
    theta = np.maximum(theta, 0.0)
    meat = np.array([[sums["g11"], sums["g12"]], [sums["g12"], sums["g22"]]])
    variance = np.diag(bread @ meat @ bread.T)
    errors = np.sqrt(variance) * small_sample_factors(
        np.array([fit.samples]), 2, np.array([int(sums["clusters"])])
    )
    return replace(
        fit,
        e=float(theta[0]),
        met=float(theta[1]),
        e_error=float(errors[0]),
        met_error=float(errors[1]),
    )

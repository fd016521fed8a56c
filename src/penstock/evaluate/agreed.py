"""The rate a plan is run at: what is asked of it, and what its latency limits leave."""

from __future__ import annotations

import numpy as np

from penstock.errors import quantity
from penstock.evaluate.assess import Assessment, assess
from penstock.evaluate.latency import path_latency_ms
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: Halvings of the range of scales when a latency limit is met: to one part in a million.
_HALVINGS = 20
#: Latency has no end at the sustainable rate itself.
_ALMOST = 1.0 - 1e-9


def agreed_scale(judged: Assessment) -> float:
    """The scale a plan is run at: the one asked for if it carries that, within its latency limits.

    Without terms it is the sustainable scale.
    """
    terms = judged.problem.terms
    scale = judged.sustainable_scale
    if judged.problem.scale_asked is not None:
        scale = min(scale, judged.problem.scale_asked)
    for name, limit in terms.latency_ms:
        scale = min(scale, _scale_within(judged, name, limit, scale))
    return scale


def held_back_by(judged: Assessment) -> str:
    """Why a plan is run below what it could carry, in words; empty if it is not."""
    terms, demand = judged.problem.terms, float(judged.problem.demand.sum())
    scale = agreed_scale(judged)
    if scale >= judged.sustainable_scale:
        return ""
    most = f"it could carry {quantity(judged.sustainable_scale * demand, 4)} tuples/s"
    asked = judged.problem.scale_asked
    if asked is not None and scale >= asked:
        return f"the rate asked for; {most}"
    tight = [
        name for name, ms in terms.latency_ms if _scale_within(judged, name, ms, scale) <= scale
    ]
    return f"the latency limit of {', '.join(tight)}; {most}"


def _scale_within(judged: Assessment, topology: str, limit_ms: float, highest: float) -> float:
    """The largest scale at which a topology's tuples take no longer than the limit, or 0."""
    if not np.isfinite(highest) or highest <= 0:
        return highest
    index = [t.name for t in judged.problem.topologies].index(topology)

    def within(scale: float) -> bool:
        latency = path_latency_ms(judged, scale / judged.sustainable_scale, index)
        return latency is not None and latency <= limit_ms

    if within(highest * _ALMOST):
        return highest
    low, high = 0.0, highest
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if within(middle) else (low, middle)
    return low


def judged_by_terms(problem: Problem, placement: Placement) -> Assessment:
    """A placement judged at the scale it is run at."""
    judged = assess(problem, placement)
    scale = agreed_scale(judged)
    return judged if scale == judged.scale else assess(problem, placement, scale)

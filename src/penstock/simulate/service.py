"""How long tuples take: the profile's mean work, times a factor with mean 1 of a chosen shape."""

from __future__ import annotations

import math

import numpy as np

from penstock.simulate.compiled import compiled
from penstock.simulate.generator import exponential, normal, uniform
from penstock.simulate.records import REAL, SERVICE, Records
from penstock.simulate.scenario import ServiceTime, Shape
from penstock.simulate.tables import real_at, service_at

_KINDS = {shape: number for number, shape in enumerate(Shape)}
_EXPONENTIAL = _KINDS[Shape.EXPONENTIAL]
_LOGNORMAL = _KINDS[Shape.LOGNORMAL]
_EMPIRICAL = _KINDS[Shape.EMPIRICAL]


def service_records(services: tuple[ServiceTime, ...]) -> tuple[Records, Records]:
    """One record per component, and the empirical factors they point into."""
    records = np.zeros(len(services), SERVICE)
    factors: list[float] = []
    for record, service in zip(records, services, strict=True):
        record["kind"] = _KINDS[service.shape]
        # A lognormal with this sigma has that deviation over mean.
        record["shape"] = math.sqrt(math.log1p(service.variation**2))
        record["first"], record["count"] = len(factors), len(service.samples)
        mean = sum(service.samples) / max(1, len(service.samples))
        factors += [sample / mean for sample in service.samples]
    return records, np.array(factors or [1.0]).view(REAL)


@compiled
def draw_factor(w, component, row):
    """A service time over its mean."""
    service = service_at(w.services, component)
    if service.kind == _EXPONENTIAL:
        return exponential(w, row)
    if service.kind == _LOGNORMAL:
        sigma = service.shape
        return math.exp(sigma * normal(w, row) - 0.5 * sigma * sigma)
    if service.kind == _EMPIRICAL:
        at = service.first + int(uniform(w, row) * service.count)
        return real_at(w.factors, at).value
    return 1.0

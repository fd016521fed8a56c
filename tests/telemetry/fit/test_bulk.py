"""Fits of many groups at once are those of each group alone, and do not depend on the company."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from tests.telemetry.fit.plain_line import plain_line
from tests.telemetry.fit.single import fit_group

from penstock.model.arrays import IntVector
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.group_fit import fit_groups
from penstock.telemetry.fit.points import GroupedPoints, Points
from penstock.telemetry.fit.regression import fit_lines
from penstock.telemetry.fit.segments import Segments, stable_order

FIGURES = [name for name, f in CostFit.__dataclass_fields__.items() if f.type == "float"]
SIZES = (12, 13, 40, 120, 333, 1500)


def random_group(rng: np.random.Generator, n: int, form: CpuForm | None = None) -> Points:
    """Some tasks under a load that comes and goes: noise, wild readings, rates counted in part."""
    tasks = int(rng.integers(1, 8))
    task, time_ms = np.arange(n) % tasks, np.arange(n) // tasks * 10_000
    e, met = 10 ** rng.uniform(-2, 0), rng.choice([0.0, 0.5, 5.0])
    form = form or CpuForm(FormKind.LINEAR, e=e, met=met)
    true_rate = 60.0 / form.e * rng.uniform(0.05, 1.0, n)
    instances = rng.choice([2.0, 4.0, 8.0], n)
    cpu = form.cpu_points(true_rate, instances) * rng.normal(1.0, rng.uniform(0.01, 0.1), n)
    wild = rng.random(n) < rng.choice([0.0, 0.04])
    variance = rng.choice([0.0, 0.02]) * true_rate
    return Points(
        # Whole numbers of tuples: several windows share a rate.
        rate=np.maximum(np.round(rng.normal(true_rate, np.sqrt(variance))), 0.0),
        cpu=np.where(wild, cpu * rng.uniform(3.0, 9.0, n), cpu),
        rate_variance=variance,
        time_ms=time_ms,
        task=task,
        cluster=task + 100 * (time_ms // 600_000),
        instances=instances,
    )


def joined(groups: list[Points]) -> tuple[Points, IntVector]:
    columns = {f.name: np.concatenate([getattr(g, f.name) for g in groups]) for f in fields(Points)}
    return Points(**columns), np.repeat(np.arange(len(groups)), [len(g) for g in groups])


@pytest.mark.parametrize("seed", range(4))
def test_lines_in_bulk_are_those_of_a_plain_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = [random_group(rng, int(rng.choice(SIZES))) for _ in range(30)]
    fits = fit_lines(GroupedPoints.of(*joined(groups), len(groups)))
    for number, group in enumerate(groups):
        # Equal rates share slices in the order of time; the reference takes them as they come.
        line = plain_line(group.where(np.lexsort((group.task, group.time_ms))))
        off = np.abs(fits.coefficients[number] - line.coefficients)
        # Among a dozen points, one of hardly any weight can keep the reference from settling.
        exact = 1e-4 if len(group) > 20 else 0.05
        assert np.all(off <= 0.1 * exact * line.errors + 1e-9)
        assert fits.errors[number] == pytest.approx(line.errors, rel=exact)
        assert fits.r_squared[number] == pytest.approx(line.r_squared, abs=1e-4)


def test_a_group_is_fitted_the_same_in_any_company_and_order() -> None:
    rng = np.random.default_rng(7)
    bent = CpuForm(FormKind.SPINNING, e=0.2, met=3.0, spin=16.0, shape=120.0)
    groups = [random_group(rng, int(n), form) for n in SIZES for form in (None, bent)]
    groups.append(groups[0].where(np.arange(5)))  # too few
    points, group = joined(groups)
    mixed = rng.permutation(len(points))
    keys = [("t", f"c{number}", "M") for number in range(len(groups))]
    samples = [len(g) for g in groups]
    together = fit_groups(points.where(mixed), group[mixed], keys, samples)
    for number, own in enumerate(groups):
        alone, fit = fit_group(own), together[number]
        assert (fit.form, fit.not_ready, fit.samples) == (alone.form, alone.not_ready, len(own))
        for name in FIGURES:
            expected = pytest.approx(getattr(alone, name), rel=1e-6, nan_ok=True)
            assert getattr(fit, name) == expected, name
    assert {fit.form for fit in together} >= {"linear", "spinning", ""}


def test_segments_do_what_numpy_does_for_each_group() -> None:
    rng = np.random.default_rng(3)
    groups = [np.sort(rng.normal(size=n)) for n in (1, 7, 2, 30, 8)]
    values, segments = np.concatenate(groups), Segments(np.array([len(g) for g in groups]))
    assert segments.sums(values) == pytest.approx([g.sum() for g in groups])
    assert segments.medians(values) == pytest.approx([np.median(g) for g in groups])
    assert segments.maxima(values).tolist() == [g.max() for g in groups]
    assert segments.sorted_quantiles(values, 0.3) == pytest.approx(
        [np.quantile(g, 0.3) for g in groups]
    )
    split = segments.split(np.array([1, 3, 2, 8, 4]))
    # 7 in three parts, 30 in eight: the first ones are one longer, as numpy's array_split has it.
    assert split.counts.tolist() == [1, 3, 2, 2, 1, 1, 4, 4, 4, 4, 4, 4, 3, 3, 2, 2, 2, 2]


def test_an_empty_group_has_no_sum_and_no_median() -> None:
    segments = Segments(np.array([2, 0, 1]))
    values = np.array([1.0, 3.0, 5.0])
    assert segments.sums(values).tolist() == [4.0, 0.0, 5.0]
    assert segments.medians(values) == pytest.approx([2.0, np.nan, 5.0], nan_ok=True)


def test_counting_sorts_as_comparing_does() -> None:
    rng = np.random.default_rng(4)
    floats = rng.choice([-2.5, -0.0, 0.0, 1e-9, 3.0, 1e300], 500)
    integers = rng.integers(-(2**63), 2**63 - 1, 500, endpoint=True)[rng.integers(0, 20, 500)]
    expected = np.lexsort((integers, floats))
    assert stable_order(floats, integers).tolist() == expected.tolist()

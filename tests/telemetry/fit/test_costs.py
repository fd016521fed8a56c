"""Costs of groups: fitted, or refused in words that help; and one last step over all windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.telemetry.fit.single import fit_group, fit_line
from tests.telemetry.frames import Row, slot_windows

from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.costs import refined
from penstock.telemetry.fit.points import Points
from penstock.telemetry.slots.columns import Columns, Vocabulary, joined, rows_of
from penstock.telemetry.slots.fit_points import chosen
from penstock.telemetry.slots.fit_task import SQUARES, SUMS, step_sums
from penstock.telemetry.slots.keys import HOUR_MS, hour_name
from penstock.telemetry.slots.sums import MOST_SAMPLED, SampleSizes, partial_sums

#: Topology, component and machine type.
GROUP = ("t", "b", "M1")
E, MET = 0.2, 3.0


def points(rate: Any, cpu: Any, variance: float = 0.0, tasks: int = 1) -> Points:
    """Windows of ten seconds; a cluster is a task in ten minutes."""
    n = len(rate)
    task = np.arange(n) % tasks
    time_ms = np.arange(n) // tasks * 10_000
    return Points(
        rate=np.asarray(rate, float),
        cpu=np.asarray(cpu, float),
        rate_variance=np.full(n, variance),
        time_ms=time_ms,
        task=task,
        cluster=task + 1000 * (time_ms // 600_000),
        instances=np.full(n, float(tasks)),
    )


def fitted(measured: Points, samples: int | None = None) -> CostFit:
    return fit_group(measured, samples)


# -- refusals ----------------------------------------------------------------------------------


def refusal(rate: Any, cpu: Any, variance: float = 0.0) -> str:
    found = fitted(points(rate, cpu, variance))
    assert found.not_ready
    return found.not_ready


def test_too_few_windows_are_refused() -> None:
    rate = np.linspace(10.0, 100.0, 11)
    assert refusal(rate, E * rate + MET) == (
        "only 11 windows with rate and CPU, 12 are needed; run longer"
    )
    assert fitted(points(rate, E * rate)).e != fitted(points(rate, E * rate)).e  # unknown, not 0


def test_twelve_windows_are_enough_where_they_are_clear() -> None:
    rate = np.linspace(10.0, 100.0, 12)
    found = fitted(points(rate, E * rate + MET))
    assert (found.not_ready, found.e, found.met) == (
        "", pytest.approx(E), pytest.approx(MET),
    )  # fmt: skip


def test_one_rate_cannot_tell_the_cost_of_a_tuple_from_the_fixed_cost() -> None:
    rate = np.linspace(98.0, 102.0, 100)  # 4 % apart
    assert refusal(rate, E * rate + MET).startswith(
        "only one rate seen (98.2 to 101.8 tuples/s): the cost of a tuple cannot be told from"
    )
    # Far apart only because they are badly counted: a spread of 28 within 3 * 10 of noise.
    seen = np.linspace(10.0, 40.0, 100)
    assert "run it at other rates too" in refusal(seen, E * seen + MET, variance=100.0)


def test_cpu_that_falls_with_the_rate_is_not_this_components() -> None:
    rate = np.linspace(10.0, 100.0, 200)
    noise = np.random.default_rng(0).normal(0.0, 0.5, 200)
    told = refusal(rate, 50.0 - 0.1 * rate + noise)
    assert told == "CPU falls as the rate rises; is it this component's CPU?"


def test_tuples_that_cost_next_to_nothing_cost_nothing() -> None:
    """An acker: its fixed cost is seen, that of its tuples drowns in noise."""
    rng = np.random.default_rng(3)
    rate = np.tile(np.linspace(20.0, 80.0, 40), 2)
    found = fitted(points(rate, 1.0 - 0.002 * rate + rng.normal(0.0, 0.1, 80)))
    assert found.not_ready == ""
    assert found.e == 0.0
    assert found.met == pytest.approx(0.9, abs=0.05)  # the level in the middle, at 50 tuples/s
    # 0.002 points per tuple/s, known to a half: 0.12 points over the rates seen matter to nobody.
    dear = fitted(points(rate, 1.0 + 0.002 * rate + rng.normal(0.0, 0.15, 80)))
    assert dear.e_error > 0.25 * dear.e > 0
    assert dear.not_ready == ""


def test_a_cost_known_to_less_than_a_quarter_is_none() -> None:
    rng = np.random.default_rng(1)
    rate = np.linspace(10.0, 100.0, 30)
    # 0.05 points per tuple/s: 4.5 over the range, in noise of 5.
    found = fitted(points(rate, 0.05 * rate + 20.0 + rng.normal(0.0, 5.0, 30)))
    assert found.e > 0
    assert found.e_error > 0.25 * found.e
    assert found.not_ready.startswith(f"too uncertain: e = {found.e:.3g} ± ")
    assert "measure longer, or at rates further apart than 10 to 100 tuples/s" in found.not_ready


def test_both_halves_of_the_time_are_fitted_on_their_own() -> None:
    rate = np.tile(np.linspace(10.0, 100.0, 50), 4)
    e = np.repeat([0.2, 0.3], 100)
    found = fitted(points(rate, e * rate + MET))
    assert (found.e_first, found.e_last) == (pytest.approx(0.2), pytest.approx(0.3))
    assert (found.rate_least, found.rate_most) == (
        pytest.approx(10.0, abs=1.0), pytest.approx(100.0, abs=1.0),
    )  # fmt: skip


# -- all windows -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> Points:
    """Ten tasks of 1,200 windows: noise of 5 %, sampled rates, wild readings."""
    rng = np.random.default_rng(2)
    n = 3 * MOST_SAMPLED
    rate = rng.uniform(10.0, 100.0, n)
    cpu = (E * rate + MET) * rng.normal(1.0, 0.05, n)
    cpu = np.where(rng.random(n) < 0.03, 6.0 * cpu, cpu)
    seen = rate + rng.normal(0.0, 2.0, n)
    return points(seen, cpu, variance=4.0, tasks=10)


def rows_of_points(measured: Points, component: str = "b") -> list[Row]:
    names = ("time_ms", "task", "rate", "cpu", "rate_variance")
    return [
        dict(zip(("time_ms", "task", "rate", "cpu_points", "rate_variance"), row, strict=True))
        | {"run": "r", "component": component}
        for row in zip(*(getattr(measured, name).tolist() for name in names), strict=True)
    ]


def step(rows: list[Row], start: CostFit) -> dict[str, float]:
    """Sums over windows, hour by hour."""
    total = dict.fromkeys((*SUMS, *SQUARES), 0.0)
    hours = sorted({row["time_ms"] // HOUR_MS for row in rows})
    for hour in hours:
        vocabulary = Vocabulary()
        windows = slot_windows([r for r in rows if r["time_ms"] // HOUR_MS == hour], vocabulary)
        table = step_sums(windows, vocabulary, {GROUP: start}, hour_name(hour * HOUR_MS))
        (row,) = table.to_pylist()
        assert (row["topology"], row["component"], row["machine_type"]) == GROUP
        assert row["hour"] == hour_name(hour * HOUR_MS)
        total = {name: value + row[name] for name, value in total.items()}
    return total


def test_one_step_over_all_windows_is_as_good_as_the_full_fit(large: Points) -> None:
    some = np.random.default_rng(3).permutation(len(large))[: MOST_SAMPLED // 2]
    start = fitted(large.where(np.sort(some)), samples=len(large))
    full = fit_line(large)
    sums = step(rows_of_points(large), start)
    found = refined(start, sums)
    assert sums["clusters"] == 10 * 20  # ten tasks, 12,000 s in stretches of 600 s
    e, met = full.coefficients
    # From a sixth of the windows the start is off by sqrt(6 - 1) = 2.2 errors of the full fit, as a
    # rule; one step leaves a small part of one.
    assert abs(found.e - e) < 0.2 * full.errors[0]
    assert abs(found.met - met) < 0.2 * full.errors[1]
    assert found.e_error == pytest.approx(full.errors[0], rel=0.05)
    assert found.met_error == pytest.approx(full.errors[1], rel=0.05)
    assert found.e == pytest.approx(E, abs=3 * found.e_error)


def test_windows_of_other_groups_and_unusable_ones_add_nothing_to_the_step(large: Points) -> None:
    start = CostFit(*GROUP, 100, e=E, met=MET, scatter_floor=1.0, scatter_slope=0.05)
    rows = rows_of_points(large.where(np.arange(500)))
    others = [
        *(row | {"component": "other"} for row in rows[:20]),
        *(row | {"machine_type": "M2"} for row in rows[:20]),
        *(row | {"status": "warm-up", "task": 20} for row in rows[:20]),
        *(row | {"cpu_points": None, "task": 21} for row in rows[:20]),
        *(row | {"rate": None, "task": 22} for row in rows[:20]),
    ]
    assert step([*others, *rows], start) == pytest.approx(step(rows, start))


# -- samples -----------------------------------------------------------------------------------


def points_of_slots(rows: list[Row], sizes: SampleSizes, vocabulary: Vocabulary) -> Columns:
    """Points that slots put by, with the least that is known of how many there will be."""
    slots = np.array([row["time_ms"] // 600_000 for row in rows])
    parts = []
    for slot in np.unique(slots):
        windows = slot_windows([rows[n] for n in np.flatnonzero(slots == slot)], vocabulary)
        parts.append(partial_sums(windows, vocabulary, sizes)["points"])
    return joined(parts)


def keys_of(points: Columns, vocabulary: Vocabulary) -> list[tuple[str, int, int]]:
    component = [vocabulary.words[number] for number in points["component"]]
    return sorted(zip(component, points["task"].tolist(), points["time_ms"].tolist(), strict=True))


def test_about_as_many_windows_as_wanted_are_sampled_and_always_the_same(large: Points) -> None:
    rows = rows_of_points(large) + rows_of_points(large.where(np.arange(50)), "small")
    small = ("t", "small", "M1")
    sizes = SampleSizes({GROUP: len(large), small: 50}, {})
    taken = []
    for shuffle, least in ((False, 0), (False, len(large) // 2), (True, len(large) // 3)):
        # Of slots at least those are put by that the sample will have.
        vocabulary = Vocabulary()
        order = np.random.default_rng(1).permutation(len(rows)) if shuffle else np.arange(len(rows))
        given = [rows[n] for n in order]
        stored = points_of_slots(given, SampleSizes({GROUP: least, small: 0}, {}), vocabulary)
        sample = rows_of(stored, chosen(stored, vocabulary, sizes))
        taken.append(keys_of(sample, vocabulary))
    # 4,000 of 12,000, chosen by hash: give or take sqrt(12000 * 1/3 * 2/3) = 52.
    names = [name for name, _, _ in taken[0]]
    assert names.count("b") == pytest.approx(MOST_SAMPLED, abs=4 * 52)
    assert names.count("small") == 50
    assert taken[1] == taken[0]
    assert taken[2] == taken[0]

"""Stepped loads on an engine whose costs are known: when it stops, and what it has found."""

import json
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from penstock import app
from penstock.app import topology_calibration
from penstock.calibration.cost_watch import CostWatch
from penstock.calibration.steps import LEVELS, FullLoad
from penstock.engines.base import Ability, Batch, Capabilities, Engine
from penstock.errors import InputError, PenstockError
from penstock.model.telemetry import Input, Sample

#: Points per tuple/s and whatever the rate, on the slow of two machines; the fast does half.
E, MET = 0.02, 3.0
EVERY_S = 2.0
#: Both machines together go through so many tuples a second.
FULL_PER_S = 6_000.0


def batch(number, tuples, noise=0.0, rng=None):
    """``source`` feeds ``work``, half on each of two machine types."""
    seconds = max(EVERY_S, tuples / FULL_PER_S)
    samples = []
    for task, (kind, speed) in enumerate((("slow", 1.0), ("fast", 2.0))):
        rate = tuples / 2 / seconds
        off = 1.0 + (noise * rng.standard_normal() if rng is not None else 0.0)
        here = {"host": kind, "machine_type": kind, "worker": "1", "uptime_s": EVERY_S * number}
        when = {"time_ms": int(2000 * number), "window_ms": int(1000 * seconds)}
        cpu = off * (E * rate + MET) / speed
        inputs = (Input("source", "default", tuples / 2),)
        samples += [
            Sample(topology="t", component="source", task=task, inputs=(), produced=tuples / 2,
                   cpu_points=0.05, **here, **when),
            Sample(topology="t", component="work", task=2 + task, inputs=inputs, cpu_points=cpu,
                   **here, **when),
        ]  # fmt: skip
    return Batch(number, seconds, tuple(samples))


@dataclass(frozen=True)
class KnownCosts(Engine):
    """Runs nothing, and says what it would have cost."""

    name: ClassVar[str] = "known"
    summary: ClassVar[str] = "costs that are known"
    capabilities: ClassVar[Capabilities] = Capabilities(frozenset({Ability.RUN}))
    noise: float = 0.02
    orders: list = field(default_factory=list)

    def run(self, order):
        self.orders.append(order)
        rng = np.random.default_rng(len(self.orders))
        number = 0
        while not order.stop():
            rows = round(order.rows_per_batch * order.levels[number % len(order.levels)])
            number += 1
            order.on_batch(batch(number, rows, self.noise, rng))

    def results(self, folder, rows):
        return ()


@pytest.fixture
def measured(monkeypatch):
    """In place of the pipeline: what it was asked for."""
    asked = []
    monkeypatch.setattr(
        topology_calibration, "measure", lambda folder, options, **_: asked.append(options)
    )
    return asked


def calibrated(engine, **options):
    times = iter(range(10**6))
    return app.calibrate(
        "wordcount",
        engine,
        app.CalibrationOptions(every_s=EVERY_S, **options),
        clock=lambda: float(next(times)),
    )


def test_it_ends_when_every_cost_is_known_within_the_error(measured):
    engine = KnownCosts()
    result = calibrated(engine)
    assert result.open_costs == ()
    # Half of what there is time for is enough at a scatter of 2 %: some tens of batches.
    assert result.batches <= 60
    assert measured[0].warm_up_s == 4 * EVERY_S


def test_full_is_what_takes_all_the_time_between_two_batches(measured):
    result = calibrated(KnownCosts())
    # 6,000 a second for two seconds.
    assert result.full_rows == pytest.approx(12_000, rel=0.01)


def test_what_is_too_uncertain_when_time_is_up_is_named(measured):
    result = calibrated(KnownCosts(noise=0.5), minutes=0.5, error=0.01)
    assert {(c.component, c.machine_type) for c in result.open_costs} == {
        ("work", "slow"),
        ("work", "fast"),
    }
    assert all(cost.error is None or cost.error > 0.01 for cost in result.open_costs)


def test_a_run_that_is_stopped_early_does_not_pass_for_known(measured):
    """Two batches after those that warm up are too few for any line."""
    seen = []

    class Counting(KnownCosts):
        def run(self, order):
            take = order.on_batch
            object.__setattr__(order, "on_batch", lambda one: (seen.append(one), take(one)))
            super().run(order)

    result = app.calibrate(
        "wordcount",
        Counting(),
        app.CalibrationOptions(every_s=EVERY_S),
        stop=lambda: len(seen) >= _batches_of_the_first_run() + 6,
    )
    assert ("work", "slow") in {(c.component, c.machine_type) for c in result.open_costs}


def _batches_of_the_first_run():
    """Four to warm up, then from 1,000 on doubled up to 16,000, which takes over 2 s."""
    return 4 + 5


def test_costs_are_those_the_engine_has():
    watch, rng = CostWatch(0.05), np.random.default_rng(0)
    for number in range(50):
        watch.add(batch(number, 12_000 * LEVELS[number % len(LEVELS)], 0.02, rng))
    found = {(f.component, f.machine_type): f for f in watch.fits()}
    assert found["work", "slow"].e == pytest.approx(E, rel=0.05)
    assert found["work", "fast"].e == pytest.approx(E / 2, rel=0.05)
    # A source that costs a twentieth of a point need not be known.
    assert watch.open_costs() == []


def test_little_cpu_is_little_beside_the_others_only():
    """All of a run that gets a hundredth of the CPU: no component takes a point, and all count."""
    watch, rng = CostWatch(0.05), np.random.default_rng(0)
    for number in range(20):
        seen = batch(number, 12_000 * LEVELS[number % len(LEVELS)], 0.5, rng)
        starved = tuple(replace(s, cpu_points=s.cpu_points / 100) for s in seen.samples)
        watch.add(replace(seen, samples=starved))
    assert ("work", "slow") in {(c.component, c.machine_type) for c in watch.open_costs()}


def test_one_load_alone_tells_no_cost():
    watch = CostWatch(0.05)
    for number in range(20):
        watch.add(batch(number, 6_000))
    assert {cost.component for cost in watch.open_costs()} >= {"work"}
    assert all(cost.error is None for cost in watch.open_costs() if cost.component == "work")


def test_where_an_empty_batch_takes_long_already_full_is_twice_its_time():
    """5 s for a batch, and 6,000 tuples a second: 5.17 s with 1,000 tuples, so 10.33 s are full."""
    full = FullLoad(EVERY_S)
    for number, level in enumerate(full.levels):
        rows = full.most_rows * level
        seen = batch(number, rows)
        full.see(Batch(number, 5.0 + rows / FULL_PER_S, seen.samples))
    # The first that takes longer is of 64,000 tuples, 15.67 s: 10.33 / 15.67 of that.
    room_s, took_s = 2 * (5 + 1 / 6), 5 + 64 / 6
    assert full.rows == pytest.approx(64_000 * room_s / took_s, abs=1)


def test_a_topology_that_fills_nothing_is_refused():
    full = FullLoad(10**9)
    for number in range(len(full.levels)):
        full.see(batch(number, 1000))
    assert full.is_done
    with pytest.raises(PenstockError, match="does not fill these machines"):
        full.required_rows()


def test_a_folder_with_something_in_it_is_not_gone_on_with(tmp_path):
    (tmp_path / "x").write_text(json.dumps(1))
    with pytest.raises(InputError, match="is not empty"):
        app.calibrate("wordcount", KnownCosts(), out=tmp_path)

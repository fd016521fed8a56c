"""Latency against load: the curve of theory, the same for the same seed, cut short by Ctrl-C."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
from tests.builders import build, cluster, place, profile, topology

from penstock.errors import InputError
from penstock.report.pages.load_curve import curve_remarks, load_curve_dict
from penstock.simulate.load_curve import load_curve
from penstock.simulate.patterns import Wave
from penstock.simulate.scenario import Offered, Scenario


@pytest.fixture(scope="module")
def pair():
    """b carries 100 tuples/s; what a does costs nothing."""
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=1.0, on=("M1",)))
    return problem, place(problem, "a M1-1", "b M1-2")


def test_the_curve_is_that_of_theory(pair):
    """M/M/1: the stay is exponential with mean 1 / (100 - rate), so p99 = ln 100 / (100 - rate)."""
    curve = load_curve(*pair, loads=(0.8, 0.5), tuples=800_000)
    assert [point.load for point in curve.points] == [0.5, 0.8]
    for point in curve.points:
        p99_ms = point.result.measured.topologies[0].latency_p99_ms
        assert p99_ms == pytest.approx(1e3 * log(100) / (100 - 100 * point.load), rel=0.05)


def test_every_run_handles_about_as_many_tuples(pair):
    curve = load_curve(*pair, loads=(0.25, 0.5, 0.75), tuples=60_000)
    # 20,000 each, every tuple handled by two components: 25, 50 and 75 a second for 10,000.
    assert [p.result.scenario.duration_s for p in curve.points] == [400, 200, 130]


def test_a_load_s_figures_do_not_depend_on_the_others(pair):
    alone = load_curve(*pair, loads=(0.6,), seconds=100).points[0]
    among = load_curve(*pair, loads=(0.3, 0.6), seconds=100).points[1]
    assert repr(alone.result.measured) == repr(among.result.measured)


def test_stopped_it_keeps_the_loads_that_are_done(pair):
    done = []

    def progress(load: float, part: float) -> None:
        if load > 0.5:
            done.append(part)

    curve = load_curve(
        *pair, loads=(0.5, 0.6, 0.7), seconds=50, progress=progress, stop=lambda: bool(done)
    )
    assert [point.load for point in curve.points] == [0.5]
    assert curve.stopped
    assert curve_remarks(curve)[-1] == "stopped early: higher loads were not simulated"


def test_the_bend_and_loads_that_are_too_high_are_told(pair):
    curve = load_curve(*pair, loads=(0.5, 0.7, 1.5), seconds=400)
    bend, behind, *_ = curve_remarks(curve)
    assert bend.startswith("p99 is at most 2 times that at 50 % up to a load of 70 %, and at 150 %")
    assert behind.startswith("at 150 %: t falls behind")
    written = load_curve_dict(curve)
    assert (written["format"], written["version"]) == ("penstock/load-curve", 1)
    assert "latency_p99_ms" in written["points"][2]["topologies"][0]["at_least"]


def test_a_scenario_that_changes_has_no_load(pair):
    wave = Scenario(name="day", offered=replace(Offered(), pattern=Wave(60.0, 0.2, 1.0)))
    with pytest.raises(InputError, match="scenario day changes over time"):
        load_curve(*pair, wave)

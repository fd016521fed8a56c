"""Scenarios and sweeps from their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import app
from penstock.errors import InputError
from penstock.files.store import load, save
from penstock.simulate.patterns import Bursts, Steps, Wave
from penstock.simulate.scenario import (
    CutOff,
    Down,
    Offered,
    Replace,
    Scenario,
    ServiceTime,
    Shape,
    Slow,
)

HEAD = "format: penstock/scenario\nversion: 1\n"


def scenario(tmp_path: Path, text: str) -> Scenario:
    file = tmp_path / "scenario.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    found = load(file)
    assert isinstance(found, Scenario)
    return found


def test_nothing_given_is_the_calm_scenario(tmp_path):
    assert scenario(tmp_path, "name: steady\n") == Scenario()


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("{per_s: 500}", Offered(None, 500.0)),
        ("{in_flight: 90}", Offered(None, None, 90)),
        (
            "{of_sustainable: 0.5, wave: {period_s: 60, low: 0.2}}",
            Offered(0.5, pattern=Wave(60.0, 0.2)),
        ),
        (
            "{bursts: {every_s: 60, for_s: 5, factor: 3}}",
            Offered(0.8, pattern=Bursts(60.0, 5.0, 3.0)),
        ),
    ],
)
def test_what_is_offered(tmp_path, text, offered):
    assert scenario(tmp_path, f"offered: {text}\n").offered == offered


def test_a_recorded_trace(tmp_path):
    (tmp_path / "rates.csv").write_text("second,rate\n0,10\n5,30.5\n", encoding="utf-8")
    found = scenario(tmp_path, "offered: {trace: rates.csv}\n").offered
    assert found == Offered(None, 1.0, None, Steps(((0.0, 10.0), (5.0, 30.5))))


def test_a_broken_trace_is_told_line_by_line(tmp_path):
    (tmp_path / "rates.csv").write_text("0,10\n5\n4,3\n3,1\nx,y\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        scenario(tmp_path, "offered: {trace: rates.csv}\n")
    text = str(caught.value)
    assert "scenario.yaml:3 offered.trace: " in text
    assert "rates.csv:2: must be a second and tuples/s" in text
    assert "rates.csv:4: is not later than the line before" in text
    assert "rates.csv:5: must be" in text


def test_service_times_by_component(tmp_path):
    found = scenario(
        tmp_path,
        "service:\n  shape: deterministic\n  components:\n"
        "    count: {shape: empirical, samples: [1, 2]}\n",
    )
    assert found.service == ServiceTime(Shape.DETERMINISTIC)
    assert found.services == (("count", ServiceTime(Shape.EMPIRICAL, samples=(1.0, 2.0))),)


def test_every_kind_of_change(tmp_path):
    plan = app.plan(app.problem("linear", "nasiri-testbed"), "hetero").plan
    save(plan, tmp_path / "other.json")
    found = scenario(
        tmp_path,
        "changes:\n"
        "  - {at_s: 1, slow: m1, speed: 0.5, until_s: 2}\n"
        "  - {at_s: 2, down: m2}\n"
        "  - {at_s: 3, cut_off: r1, until_s: 9}\n"
        "  - {at_s: 4, replace: other.json, pause_s: 1.5}\n",
    ).changes
    assert found[:3] == (Slow(1.0, "m1", 0.5, 2.0), Down(2.0, "m2"), CutOff(3.0, "r1", 9.0))
    assert isinstance(found[3], Replace)
    assert (found[3].at_s, found[3].pause_s) == (4.0, 1.5)
    assert found[3].plan.placement == plan.placement


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("offered: {per_s: 3, in_flight: 9}", "says how much arrives twice: per_s and in_flight"),
        (
            "offered: {wave: {period_s: 9, low: 0}, bursts: {every_s: 9, for_s: 1, factor: 2}}",
            "has two patterns over time: wave and bursts",
        ),
        (
            "offered: {in_flight: 9, wave: {period_s: 9, low: 0}}",
            "cannot be combined with in_flight",
        ),
        ("changes: [{at_s: 1}]", "must be one of slow, down, cut_off, replace, not nothing"),
        ("changes: [{at_s: 1, down: a, slow: b}]", "not slow and down"),
        ("changes: [{at_s: 1, down: a, pause_s: 3}]", "changes[0].pause_s: belongs to replace"),
        ("changes: [{at_s: 1, replace: gone.json}]", "gone.json: no such file"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        scenario(tmp_path, text + "\n")
    assert message in str(caught.value)


def test_a_sweep_reads_its_scenarios_and_names_them(tmp_path):
    (tmp_path / "bad-day.yaml").write_text(HEAD + "name: bad day\n", encoding="utf-8")
    (tmp_path / "sweep.yaml").write_text(
        "format: penstock/sweep\nversion: 1\nproblems: [{topology: linear}]\n"
        "schedulers: [hetero, default]\nseeds: 3\n"
        "scenarios: [{load: 0.9}, {saturate: true}, {file: bad-day.yaml}]\n",
        encoding="utf-8",
    )
    found = load(tmp_path / "sweep.yaml")
    assert found.seeds == (0, 1, 2)
    assert [one.name for one in found.scenarios] == ["load 0.9", "saturated", "bad day"]
    assert found.scenarios[0].scenario.offered.of_sustainable == 0.9


def test_two_scenarios_of_one_name_would_be_mixed_up(tmp_path):
    (tmp_path / "sweep.yaml").write_text(
        "format: penstock/sweep\nversion: 1\nproblems: [{topology: linear}]\n"
        "schedulers: [hetero]\nscenarios: [{load: 0.9}, {load: 0.9, seconds: 5}]\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r'two scenarios are named "load 0\.9"'):
        load(tmp_path / "sweep.yaml")

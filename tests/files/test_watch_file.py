"""Watch rules and recorded loads as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.errors import InputError
from penstock.files.load_file import read_load
from penstock.files.store import load
from penstock.files.watch_file import watch_to_dict
from penstock.model.watch_rules import Hours, WatchRules, WatchSetting

HEAD = {"format": "penstock/watch", "version": 1}


def test_without_anything_said_rules_are_the_defaults():
    assert load(HEAD) == WatchSetting("penstock", {}, WatchRules())


def test_what_is_written_is_read_again():
    rules = WatchRules(
        dead_band=0.1, most_moves_per_hour=50, forbidden_hours=(Hours(22.0, 6.5),), most_machines=9
    )
    setting = WatchSetting("flink", {"target": 0.8}, rules)
    assert load(watch_to_dict(setting)) == setting


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"forbidden_hours": ["25:00-06:00"]}, "forbidden_hours[0]", "two times of the day"),
        ({"most_machines": 2, "fewest_machines": 3}, "most_machines", "less than fewest"),
        ({"dead_band": 1.5}, "dead_band", "less than 1"),
        ({"coool_down_s": 3}, "coool_down_s", ""),
    ],
)
def test_what_makes_no_sense_is_named(fields, field, words):
    with pytest.raises(InputError) as caught:
        load(HEAD | fields)
    found = str(caught.value)
    assert field in found
    assert words in found


def written(folder: Path, *lines: str) -> Path:
    path = folder / "load.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_heading_says_the_unit_and_dates_are_times(tmp_path):
    path = written(
        tmp_path, "time,events_per_5min", "2019-07-01 00:00:00,300", "2019-07-01 00:05:00,600"
    )
    rates, step_s = read_load(path)
    assert step_s == 300.0
    np.testing.assert_allclose(rates, [1.0, 2.0])


def test_what_is_missing_is_what_was_before(tmp_path):
    rates, step_s = read_load(written(tmp_path, "0,5", "1,6", "2,7", "4,9"))
    assert step_s == 1.0
    np.testing.assert_allclose(rates, [5, 6, 7, 7, 9])


def test_of_two_lines_for_one_time_the_later_counts(tmp_path):
    rates, _ = read_load(written(tmp_path, "0,5", "1,6", "1,8", "2,7"))
    np.testing.assert_allclose(rates, [5, 8, 7])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("0,5", "1,x"), "a time and a rate"),
        (("0,5", "1,6", "0,6"), "earlier"),
        (("0,5",), "fewer than two"),
        (("0,5", "1,6", "2,7", "3.5,8"), "even distances"),
        (("0,0", "1,0"), "above zero"),
        (("0,5", "1,6", "2,7", "1000000000,8"), "covers 1,000,000,000 steps of 1 s; at most"),
        (("0,5", "5e-324,6"), "even distances"),
        (("0,5", "1e300,6"), "a time and a rate"),
        (("0,5", "1,1e300"), "a time and a rate"),
        (("t,rate_per_0s", "0,5", "1,6"), "no rate is counted in such a time"),
        (("t,rate_per_" + "9" * 5000 + "s", "0,5", "1,6"), "no rate is counted in such a time"),
    ],
)
def test_what_is_no_load_is_said_with_its_line(tmp_path, lines, words):
    with pytest.raises(InputError, match=words):
        read_load(written(tmp_path, *lines))

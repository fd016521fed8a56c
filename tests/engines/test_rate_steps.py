"""What a source is offered, from a file of steps."""

import os
from math import inf

import pytest

from penstock.engines.rate_steps import RateSteps, read_rate_steps, write_rate_steps
from penstock.errors import InputError

STEPS = RateSteps(((1000.0, 60.0), (1010.0, 0.0), (1015.0, 20.0)))


@pytest.mark.parametrize(
    ("now", "rate", "total"),
    # 60 tuples/s for ten seconds, nothing for five, then 20.
    [(999, 0, 0), (1005, 60, 300), (1012, 0, 600), (1015, 20, 600), (1020, 20, 700)],
)
def test_what_is_offered_adds_up_over_the_steps(now, rate, total):
    assert (STEPS.per_s(now), STEPS.until(now)) == (rate, total)


def test_when_so_many_had_been_offered():
    # The 300th at half of the first step, the 620th a second into the last.
    assert [STEPS.reached(n) for n in (300, 620)] == [1005.0, 1016.0]
    assert RateSteps(((0.0, 0.0),)).reached(1) == inf


def test_a_load_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "rates"
    assert write_rate_steps(path, STEPS.steps) == STEPS
    assert read_rate_steps(path) == STEPS


def test_a_number_alone_holds_since_the_file_was_written(tmp_path):
    path = tmp_path / "rates"
    path.write_text("30\n")
    os.utime(path, (100.0, 100.0))
    assert read_rate_steps(path).until(102.0) == 60.0


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "says no rate"),
        ("1000 60\n1010", 2, "must be a time"),
        ("1000 60\n900 2", 2, "is earlier than the line before"),
        ("1000 -1", 1, "must be a time"),
        ("1000 nan", 1, "must be a time"),
        ("a b", 1, "must be a time"),
    ],
)
def test_a_load_that_is_none_is_refused_with_its_line(tmp_path, text, line, said):
    path = tmp_path / "rates"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as error:
        read_rate_steps(path)
    assert error.value.findings[0].line == line

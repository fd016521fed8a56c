"""Progress of steps: on a terminal, every few seconds, and for nobody else."""

from __future__ import annotations

import sys

import pytest

from penstock.cli.step_progress import StepProgress, in_words, step_progress
from penstock.telemetry.step_watch import StepState


def state(seconds: float, tasks_done: int = 12, tasks: int = 48, records: int = 0) -> StepState:
    return StepState("take in", seconds, tasks_done, tasks, seconds, records)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        # 12 of 48 in 8 s: the other 36 take 24 s.
        (state(8.0, records=4_000_000),
         "take in: 12 of 48 tasks, 500,000 records a second, about 24 s left"),
        (state(8.0, tasks_done=0), "take in: 0 of 48 tasks"),
        (state(8.0, tasks_done=0, tasks=0), "take in: 8 s so far"),
    ],
)  # fmt: skip
def test_a_step_is_told_with_what_is_known_of_it(seen, words):
    assert in_words(seen) == words


def test_it_is_told_after_three_seconds_and_then_every_five(capsys):
    now = [100.0]
    progress = StepProgress(clock=lambda: now[0])
    for second in range(12):
        now[0] = 100.0 + second
        progress.see(state(float(second)))
    # At 3 s, and at 8 s.
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    ("terminal", "as_json", "told"),
    [(True, False, True), (True, True, False), (False, False, False)],
)
def test_only_a_person_at_a_terminal_is_told(monkeypatch, terminal, as_json, told):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert (step_progress(as_json=as_json) is not None) is told

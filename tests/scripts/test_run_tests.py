"""make test runs in parts: what chooses no test in any of them fails, in some of them does not."""

from __future__ import annotations

import pytest
from tests.scripts.scripts import SCRIPTS, script

run_tests = script("run_tests")
OK, FAILED, USAGE, NOTHING = 0, 1, 4, 5
REPOSITORY = SCRIPTS.parent / "tests" / "test_repository.py"


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([OK, OK, OK], OK),
        ([NOTHING, OK, NOTHING], OK),  # -k java: all of them in one part
        ([NOTHING, NOTHING, NOTHING], NOTHING),  # -k jaav
        ([OK, FAILED, OK], FAILED),
        ([NOTHING, USAGE, OK], USAGE),  # no such file
    ],
)
def test_parts_add_up(codes, expected):
    left = iter(codes)
    assert run_tests.run_parts([()] * 3, [], lambda arguments: next(left)) == expected


def test_after_a_failure_no_other_part_runs():
    calls = []

    def call(arguments):
        calls.append(arguments)
        return FAILED

    run_tests.run_parts([("-m", "a"), ("-m", "b")], ["-x"], call)
    assert calls == [("-m", "a", "-x")]


class Beside:
    """A call that is under way until somebody waits for it."""

    def __init__(self, log, code):
        self.log, self.code = log, code

    def result(self):
        self.log.append("waited for")
        return self.code

    def stop(self):
        self.log.append("stopped")


@pytest.mark.parametrize(
    ("codes", "beside", "expected", "log"),
    [
        # What measures has the computer to itself.
        ([OK, OK, OK], OK, OK, ["begun", 0, 1, "waited for", "stopped", 2]),
        ([OK, OK, OK], FAILED, FAILED, ["begun", 0, 1, "waited for", "stopped"]),
        ([FAILED, OK, OK], OK, FAILED, ["begun", 0, "stopped"]),
        ([NOTHING, NOTHING, NOTHING], OK, OK, ["begun", 0, 1, "waited for", "stopped", 2]),
        ([NOTHING] * 3, NOTHING, NOTHING, ["begun", 0, 1, "waited for", "stopped", 2]),
    ],
)
def test_clusters_run_beside_the_parts_that_compute(codes, beside, expected, log):
    seen, left = [], iter(enumerate(codes))

    def begin(part):
        seen.append("begun")
        return Beside(seen, beside)

    def call(part):
        number, code = next(left)
        seen.append(number)
        return code

    assert run_tests.run_all([], call, begin) == expected
    assert seen == log


def test_every_test_is_in_one_part_and_in_no_second():
    marks = ("spark", "storm", "kafka", "alone", "slow")
    for bits in range(2 ** len(marks)):
        own = {mark: bool(bits >> n & 1) for n, mark in enumerate(marks)}
        parts = (run_tests.BESIDE, *run_tests.IN_TURN, *run_tests.AT_LAST)
        assert sum(eval(part[-1], {}, own) for part in parts) == 1, own


def test_a_call_beside_others_shows_what_it_printed_and_leaves_nothing(capfd):
    beside = run_tests.Pytest(["-p", "no:xdist", str(REPOSITORY), "-k", "licence"])
    assert beside.result() == OK
    beside.stop()
    assert "." in capfd.readouterr().out
    stopped = run_tests.Pytest(["-p", "no:xdist", str(REPOSITORY)])
    stopped.stop()
    assert stopped._process.returncode is not None


def test_programs_that_tests_start_keep_what_they_compile():
    given = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "4", "HOME": "/h"}
    made = run_tests.environment(given)
    assert "PYTHONDONTWRITEBYTECODE" not in made
    assert (made["OMP_NUM_THREADS"], made["OPENBLAS_NUM_THREADS"]) == ("4", "1")
    assert made["HOME"] == "/h"


@pytest.mark.slow
def test_a_typo_in_what_chooses_fails(monkeypatch, capfd):
    monkeypatch.setattr(run_tests, "QUICK", (("-p", "no:xdist", str(REPOSITORY)),))
    assert run_tests.main(["--quick", "-k", "no_such_test"]) == NOTHING
    assert "No test was chosen by: -k no_such_test" in capfd.readouterr().err
    assert run_tests.main(["--quick", "-k", "licence"]) == OK

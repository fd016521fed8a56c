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


@pytest.mark.slow
def test_a_typo_in_what_chooses_fails(monkeypatch, capfd):
    monkeypatch.setattr(run_tests, "QUICK", (("-p", "no:xdist", str(REPOSITORY)),))
    assert run_tests.main(["--quick", "-k", "no_such_test"]) == NOTHING
    assert "No test was chosen by: -k no_such_test" in capfd.readouterr().err
    assert run_tests.main(["--quick", "-k", "licence"]) == OK

"""Runs the tests in parts, one pytest call each, with the arguments that pytest is given.

A part in which no test was chosen is passed over. Where that holds of all parts there is a typo in
what chooses, and that fails. ``--quick`` runs one part: no Java, and nothing that takes long.
``--coverage`` says which lines ran; without it nothing is traced, and nothing is slower.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

NOTHING_CHOSEN = 5  # as pytest.ExitCode says it

Part = tuple[str, ...]

QUICK: tuple[Part, ...] = (
    (
        "-n",
        "auto",
        "--maxprocesses",
        "8",
        "--dist",
        "worksteal",
        "-m",
        "not spark and not storm and not slow",
    ),
)
ALL: tuple[Part, ...] = (
    # The long ones need not wait for the short ones of a process, so processes share what is left.
    ("-n", "auto", "--maxprocesses", "8", "--dist", "worksteal", "-m", "not spark and not storm"),
    # A file runs in one process, whose Spark session it shares with all others there.
    ("-n", "2", "--dist", "loadfile", "-m", "spark and not alone and not kafka"),
    ("-p", "no:xdist", "-m", "storm or alone or kafka"),
)


def run_parts(parts: Sequence[Part], arguments: Sequence[str], call: Callable[[Part], int]) -> int:
    """The first exit code that is an error; 5 if not one part had a test."""
    chosen = False
    for part in parts:
        code = call((*part, *arguments))
        if code not in (0, NOTHING_CHOSEN):
            return code
        chosen = chosen or code == 0
    return 0 if chosen else NOTHING_CHOSEN


def pytest(arguments: Sequence[str]) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", *arguments])


def coverage(*arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", "coverage", *arguments])


def main(arguments: list[str]) -> int:
    quick, traced = "--quick" in arguments, "--coverage" in arguments
    rest = [one for one in arguments if one not in ("--quick", "--coverage")]
    if traced:
        coverage("erase")
        rest = ["--cov", "--cov-append", "--cov-report=", *rest]
    code = run_parts(QUICK if quick else ALL, rest, pytest)
    if code == NOTHING_CHOSEN:
        print(f"No test was chosen by: {' '.join(rest) or 'these parts'}", file=sys.stderr)
    if traced and code == 0:
        return coverage("report")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

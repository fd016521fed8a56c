"""Runs the tests in parts, one pytest call each, with the arguments that pytest is given.

A part in which no test was chosen is passed over. Where that holds of all parts there is a typo in
what chooses, and that fails. Tests of a Storm or of a Kafka broker mostly wait, so they run beside
those that compute; what they printed comes at their end. ``--quick`` runs one part: no Java, and
nothing that takes long. ``--coverage`` says which lines ran; without it nothing is traced, and
nothing is slower.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Protocol

NOTHING_CHOSEN = 5  # as pytest.ExitCode says it

Part = tuple[str, ...]

# The long ones need not wait for the short ones of a process, so processes share what is left.
_SHARED = ("-n", "auto", "--maxprocesses", "8", "--dist", "worksteal")
QUICK: tuple[Part, ...] = (
    (*_SHARED, "--hypothesis-profile=quick", "-m", "not spark and not storm and not slow"),
)
#: One at a time, beside those that follow.
BESIDE: Part = ("-p", "no:xdist", "-m", "(storm or kafka) and not alone")
IN_TURN: tuple[Part, ...] = (
    (*_SHARED, "-m", "not spark and not storm and not kafka and not alone"),
    # A file runs in one process, whose Spark session it shares with all others there.
    ("-n", "2", "--dist", "loadfile", "-m", "spark and not storm and not kafka and not alone"),
)
#: What measures, when nothing else runs.
AT_LAST: tuple[Part, ...] = (("-p", "no:xdist", "-m", "alone"),)

#: How long clusters may take to go down.
_DOWN_WITHIN_S = 60


class Running(Protocol):
    """A call of pytest that goes on beside others."""

    def result(self) -> int:
        """Its exit code, once it has ended and what it printed is shown."""
        ...

    def stop(self) -> None:
        """End it if it has not ended, and whatever it started."""
        ...


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """For the tests, and for the hundreds of short-lived programs that they start."""
    environ = dict(given)
    # Each program would compile the whole package anew.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Processes share the cores already; threads within a matrix product would only get in the way.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        environ.setdefault(name, "1")
    return environ


def run_parts(parts: Sequence[Part], arguments: Sequence[str], call: Callable[[Part], int]) -> int:
    """The first exit code that is an error; 5 if not one part had a test."""
    return _together(call((*part, *arguments)) for part in parts)


def run_all(
    arguments: Sequence[str], call: Callable[[Part], int], begin: Callable[[Part], Running]
) -> int:
    """The same of all tests, with those of clusters beside the others."""

    def codes() -> Generator[int, None, None]:
        beside = begin((*BESIDE, *arguments))
        try:
            yield from (call((*part, *arguments)) for part in IN_TURN)
            yield beside.result()
        finally:
            beside.stop()
        yield from (call((*part, *arguments)) for part in AT_LAST)

    with closing(codes()) as each:
        return _together(each)


def _together(codes: Iterable[int]) -> int:
    """Exit codes as one; a part whose code is not asked for does not run."""
    chosen = False
    for code in codes:
        if code not in (0, NOTHING_CHOSEN):
            return code
        chosen = chosen or code == 0
    return 0 if chosen else NOTHING_CHOSEN


class Pytest:
    """A call of pytest beside others: in a process group of its own, its output in a file."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._process = subprocess.Popen(
            _command(arguments),
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=environment(os.environ),
            process_group=0,
        )

    def result(self) -> int:
        code = self._process.wait()
        self._output.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(self._output.read())
        sys.stdout.flush()
        return code

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # to pytest alone, which ends its clusters
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_DOWN_WITHIN_S)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._output.close()


class InTurn:
    """A call of pytest that is over before it can be waited for."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._code = pytest(arguments)

    def result(self) -> int:
        return self._code

    def stop(self) -> None:
        """There is nothing left to stop."""


def pytest(arguments: Sequence[str]) -> int:
    return subprocess.call(_command(arguments), env=environment(os.environ))


def coverage(*arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", "coverage", *arguments])


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments]


def main(arguments: list[str]) -> int:
    quick, traced = "--quick" in arguments, "--coverage" in arguments
    rest = [one for one in arguments if one not in ("--quick", "--coverage")]
    if traced:
        coverage("erase")
        rest = ["--cov", "--cov-append", "--cov-report=", *rest]
    if quick:
        code = run_parts(QUICK, rest, pytest)
    else:
        # What is traced is written to one file, by one at a time.
        code = run_all(rest, pytest, InTurn if traced else Pytest)
    if code == NOTHING_CHOSEN:
        print(f"No test was chosen by: {' '.join(rest) or 'these parts'}", file=sys.stderr)
    if traced and code == 0:
        return coverage("report")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

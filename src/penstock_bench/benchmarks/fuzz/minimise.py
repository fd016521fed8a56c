"""A failure with less around it: fewer damaged files, fewer arguments, fewer bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from penstock_bench.benchmarks.fuzz.drawing import FuzzCase, written

#: Says whether a case still fails in the same way.
StillFails = Callable[[FuzzCase], bool]
_MOST_RUNS = 60
#: Of CPU, as the failing command took it: what is slow is made less small.
_MOST_S = 60.0


def minimise(case: FuzzCase, still_fails: StillFails, seconds: float = 0.0) -> FuzzCase:
    """The smallest case found in a few dozen runs of so many seconds."""
    runs, most = 0, min(_MOST_RUNS, int(_MOST_S / max(seconds, 1e-3)))

    def fails(smaller: FuzzCase) -> bool:
        nonlocal runs
        runs += 1
        return runs <= most and still_fails(smaller)

    for step in (_fewer_damaged, _fewer_arguments, _fewer_files):
        case = _smallest(case, step, fails)
    return _fewer_bytes(case, fails)


def _smallest(
    case: FuzzCase, smaller: Callable[[FuzzCase], Iterator[FuzzCase]], fails: StillFails
) -> FuzzCase:
    """Take whatever is smaller and still fails, until nothing is."""
    while True:
        found = next((other for other in smaller(case) if fails(other)), None)
        if found is None:
            return case
        case = found


def _fewer_damaged(case: FuzzCase) -> Iterator[FuzzCase]:
    for name in case.damaged:
        files = case.files | {name: written(case.originals[name], name)}
        yield replace(case, files=files, damaged=tuple(n for n in case.damaged if n != name))


def _fewer_arguments(case: FuzzCase) -> Iterator[FuzzCase]:
    words = len(case.verb.words)
    for size in (2, 1):
        for at in range(words, len(case.arguments) - size + 1):
            yield replace(case, arguments=case.arguments[:at] + case.arguments[at + size :])


def _fewer_files(case: FuzzCase) -> Iterator[FuzzCase]:
    """Without all the files that no argument names; they may name each other, so try."""
    named = {n for n in case.files if any(n in a or a in n for a in case.arguments[1:])}
    if len(named) < len(case.files):
        yield replace(case, files={n: d for n, d in case.files.items() if n in named})


def _fewer_bytes(case: FuzzCase, fails: StillFails) -> FuzzCase:
    """Without a half, a quarter and so on of the lines of a damaged file."""
    for name in case.damaged:
        size = len(case.files.get(name, b"").splitlines()) // 2
        while size >= 1:
            lines = case.files[name].splitlines(keepends=True)
            for at in range(0, len(lines), size):
                data = b"".join(lines[:at] + lines[at + size :])
                smaller = replace(case, files=case.files | {name: data})
                if fails(smaller):
                    case = smaller
                    break
            else:
                size //= 2
    return case

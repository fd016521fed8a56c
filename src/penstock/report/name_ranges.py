"""Many equal things in few words: machines as ranges of names, instances as counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from penstock.change.diff import ComponentChange
from penstock.planning.numbers import counted

_NUMBERED = re.compile(r"(.*?)(\d+)")
#: Two neighbours are listed; a range begins with three.
_SHORTEST_RANGE = 3


def natural_key(name: str) -> tuple[tuple[tuple[str, int], ...], str]:
    """Sorts ``arm-2`` before ``arm-10``."""
    parts = re.split(r"(\d+)", name)
    numbers = [int(part) for part in parts[1::2]] + [-1]
    return tuple(zip(parts[::2], numbers, strict=True)), name


def name_ranges(names: Iterable[str], most: int | None = None) -> str:
    """``arm-1 to arm-4, old-2``; with ``most``, so many ranges and how many machines are more."""
    runs = _runs(sorted(set(names), key=natural_key))
    shown = runs if most is None else runs[:most]
    hidden = sum(len(run) for run in runs[len(shown) :])
    words = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in shown]
    return ", ".join([*words, f"{hidden:,} more"] if hidden else words)


def _runs(names: Sequence[str]) -> list[list[str]]:
    """Neighbours that differ by one in their last number, in runs of at least three."""
    runs: list[list[str]] = [[name] for name in names[:1]]
    for before, name in pairwise(names):
        if _follows(before, name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return [
        part
        for run in runs
        for part in ([run] if len(run) >= _SHORTEST_RANGE else [[name] for name in run])
    ]


def _follows(before: str, name: str) -> bool:
    first, second = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if first is None or second is None or first[1] != second[1]:
        return False
    if int(second[2]) != int(first[2]) + 1:
        return False
    return len(first[2]) == len(second[2]) or not second[2].startswith("0")


def idle_machines(names: Sequence[str], most: int | None = None) -> str:
    """``9 machines idle: arm-1 to arm-9``."""
    return f"{counted(len(names), 'machine')} idle: {name_ranges(names, most)}"


def change_words(change: ComponentChange) -> list[str]:
    """Each different move, addition and drop once, with how many instances it is about."""
    words = [f"{a} → {b}{_times(n)}" for (a, b), n in Counter(change.moves).items()]
    words += [f"+ {machines}" for machines in _by_count(change.added)]
    words += [f"- {machines}" for machines in _by_count(change.dropped)]
    if change.shares_changed:
        words.append("other shares")
    return words


def _by_count(machines: Sequence[str]) -> list[str]:
    """``arm-1 to arm-4 ×9 each``: machines with the same number of instances together."""
    with_count: dict[int, list[str]] = {}
    for name, count in Counter(machines).items():
        with_count.setdefault(count, []).append(name)
    return [
        name_ranges(names) + _times(count) + (" each" if count > 1 and len(names) > 1 else "")
        for count, names in sorted(with_count.items())
    ]


def _times(count: int) -> str:
    return f" ×{count:,}" if count > 1 else ""

"""Spoils an exact share of good JSON lines in many ways, and knows what each must be refused for.

Used to show that the pipeline keeps every good record and sets every bad one aside for the right
reason. The ways are in :mod:`penstock_bench.synthetic.breakage_ways`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path

import numpy as np

from penstock.telemetry.reasons import Reason
from penstock_bench.synthetic.breakage_ways import WAYS, Good, Kind, Way

#: Lines of a way that is marked rare, in each call.
_FEW = 2


@dataclass(frozen=True)
class Breakage:
    """Lines, some of them broken."""

    lines: tuple[bytes, ...]
    #: What is wrong with the broken ones, by their position.
    broken: dict[int, Way]

    @property
    def expected(self) -> Counter[tuple[Reason, str]]:
        """How many lines must be set aside, by reason and field."""
        return Counter((way.reason, way.field) for way in self.broken.values())

    @property
    def good(self) -> int:
        return len(self.lines) - len(self.broken)


def break_lines(
    lines: Sequence[bytes], share: float, rng: np.random.Generator, ways: Sequence[Way] = WAYS
) -> Breakage:
    """Replace ``round(share * lines)`` of the lines by broken ones, all ways about equally often.

    Lines are good records without line ends, all different. A duplicate takes the place of a
    line and repeats one that stays good. A contradiction spoils two: nothing says which is true.
    """
    count = round(share * len(lines))
    shuffled = rng.permutation(len(lines)).tolist()
    places, untouched = deque(shuffled[:count]), deque(shuffled[count:])
    written = list(lines)
    broken: dict[int, Way] = {}
    dealt = _dealt(ways)
    while places:
        way = next(dealt)
        if way.kind is Kind.CONTRADICTS and len(places) < 2:
            continue
        place = places.popleft()
        source = place
        if way.kind is Kind.CONTRADICTS:
            source = places.popleft()
            broken[source] = way
        elif way.kind is Kind.REPEATS:
            if not untouched:
                raise ValueError(f"no good line left to repeat: {len(lines)} at share {share}")
            source = untouched.popleft()
        written[place] = way.spoil(Good(lines[source], rng))
        broken[place] = way
    return Breakage(tuple(written), broken)


def _dealt(ways: Sequence[Way]) -> Iterator[Way]:
    """The ways in turn without end, the rare ones only in the first rounds."""
    common = [way for way in ways if not way.rare]
    if all(way.kind is Kind.CONTRADICTS for way in common):
        raise ValueError("there must be a way to break a single line")
    yield from chain([*ways] * _FEW, cycle(common))


def break_file(source: Path, target: Path, share: float, rng: np.random.Generator) -> Breakage:
    """The same for a file of JSON lines; ``target`` appears whole or not at all."""
    breakage = break_lines(source.read_bytes().splitlines(), share, rng)
    hidden = target.with_name(f".{target.name}.tmp")
    hidden.write_bytes(b"".join(line + b"\n" for line in breakage.lines))
    hidden.rename(target)
    return breakage

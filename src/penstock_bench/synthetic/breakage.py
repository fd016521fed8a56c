"""Gives an exact share of good JSON lines a defect, and knows what each must be refused for.

Used to show that the pipeline keeps every good record and sets every bad one aside for the right
reason. They are listed in :mod:`penstock_bench.synthetic.defects`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path

import numpy as np

from penstock.telemetry.reasons import Reason
from penstock_bench.synthetic.defects import DEFECTS, Defect, DefectKind, Good

#: Lines of a defect that is marked rare, in each call.
_FEW = 2


@dataclass(frozen=True)
class Breakage:
    """Lines, some of them broken."""

    lines: tuple[bytes, ...]
    #: What is wrong with the broken ones, by their position.
    broken: dict[int, Defect]

    @property
    def expected(self) -> Counter[tuple[Reason, str]]:
        """How many lines must be set aside, by reason and field."""
        return Counter((defect.reason, defect.field) for defect in self.broken.values())

    @property
    def good(self) -> int:
        return len(self.lines) - len(self.broken)


def break_lines(
    lines: Sequence[bytes],
    share: float,
    rng: np.random.Generator,
    defects: Sequence[Defect] = DEFECTS,
) -> Breakage:
    """Replace ``round(share * lines)`` of the lines by broken ones, all defects about as often.

    Lines are good records without line ends, all different. A duplicate takes the place of a
    line and repeats one that stays good. A contradiction spoils two: nothing says which is true.
    """
    count = round(share * len(lines))
    shuffled = rng.permutation(len(lines)).tolist()
    places, untouched = deque(shuffled[:count]), deque(shuffled[count:])
    written = list(lines)
    broken: dict[int, Defect] = {}
    dealt = _dealt(defects)
    while places:
        defect = next(dealt)
        if defect.kind is DefectKind.CONTRADICTS and len(places) < 2:
            continue
        place = places.popleft()
        source = place
        if defect.kind is DefectKind.CONTRADICTS:
            source = places.popleft()
            broken[source] = defect
        elif defect.kind is DefectKind.REPEATS:
            if not untouched:
                raise ValueError(f"no good line left to repeat: {len(lines)} at share {share}")
            source = untouched.popleft()
        written[place] = defect.spoil(Good(lines[source], rng))
        broken[place] = defect
    return Breakage(tuple(written), broken)


def _dealt(defects: Sequence[Defect]) -> Iterator[Defect]:
    """The defects in turn without end, the rare ones only in the first rounds."""
    common = [defect for defect in defects if not defect.rare]
    if all(defect.kind is DefectKind.CONTRADICTS for defect in common):
        raise ValueError("no defect given breaks a single line")
    yield from chain([*defects] * _FEW, cycle(common))


def break_file(source: Path, target: Path, share: float, rng: np.random.Generator) -> Breakage:
    """The same for a file of JSON lines; ``target`` appears whole or not at all."""
    breakage = break_lines(source.read_bytes().splitlines(), share, rng)
    hidden = target.with_name(f".{target.name}.tmp")
    hidden.write_bytes(b"".join(line + b"\n" for line in breakage.lines))
    hidden.rename(target)
    return breakage

"""Whether every tuple that was acked arrived: what the lab's spouts and sinks wrote down.

Spouts write the ids that were acked, sinks the ids that arrived before they acked them, one per
line and straight to the operating system, so that a killed process loses none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: The setting of a lab topology that names the folder.
PROOF_FOLDER = "penstock.lab.proof.dir"


@dataclass(frozen=True)
class Proof:
    """What was acked and what of it is missing at which sink (by the component it came from)."""

    acked: int
    arrived: int
    missing: tuple[tuple[str, str, str], ...]

    @property
    def holds(self) -> bool:
        return self.acked > 0 and not self.missing


def prove(folder: Path, paths: Iterable[tuple[str, str]]) -> Proof:
    """Every acked id must have arrived over every (source, sink) in ``paths``."""
    acked = {line for file in sorted(folder.glob("acked-*.txt")) for line in _whole_lines(file)}
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    arrived = 0
    for file in sorted(folder.glob("seen-*.txt")):
        # seen-<component>-<task>-<process>.txt; a component's name may hold dashes itself.
        sink = file.stem.removeprefix("seen-").rsplit("-", 2)[0]
        for line in _whole_lines(file):
            number, _, source = line.partition(" ")
            seen[source, sink].add(number)
            arrived += 1
    missing = tuple(
        (number, source, sink)
        for source, sink in paths
        for number in sorted(acked - seen[source, sink])
    )
    return Proof(len(acked), arrived, missing)


def _whole_lines(file: Path) -> list[str]:
    """A line without its end was being written when the process was killed."""
    text = file.read_text(encoding="ascii", errors="replace")
    return text[: text.rfind("\n") + 1].splitlines()

"""What the journal has of each turn, and how calm ones are folded. Pure: files are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from penstock.control.decision import Decision, DecisionKind
from penstock.control.detectors.detector import Detection
from penstock.control.observation import Observation
from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.placement import Placement

#: Calm turns are folded into stretches of at most so long: a week is some two thousand of them.
FOLD_S = 300.0


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One turn in which something happened, or a stretch of calm ones. Rates are means."""

    begin_s: float
    end_s: float
    turns: int
    placement: Placement
    alive: BoolVector
    offered_per_s: float
    processed_per_s: float
    backlog: float
    #: The longest 95th percentile.
    latency_s: float
    paused_s: float
    cpu: FloatVector | None
    stream_per_s: FloatVector | None
    decision: Decision | None = None
    detections: tuple[Detection, ...] = ()

    @property
    def is_calm(self) -> bool:
        return self.decision is None and not self.detections


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """What came of a change until the next one."""

    entry: JournalEntry
    #: How long it stopped the topology; NaN where nobody knows.
    paused_s: float
    #: The highest mean rate processed under it, and the longest latency once it ran.
    processed_per_s: float
    latency_s: float
    until_s: float


def entry_of(
    seen: Observation, decision: Decision, detections: tuple[Detection, ...]
) -> JournalEntry:
    """A turn as the journal has it."""
    happened = decision.acts or bool(decision.refused) or bool(decision.calls_for_help)
    return JournalEntry(
        seen.time_s, seen.time_s, 1, seen.placement, seen.alive, seen.offered, seen.processed,
        seen.waiting, max(seen.latency_s), seen.paused_s, seen.cpu, seen.stream_per_s,
        decision if happened else None, detections,
    )  # fmt: skip


def folded(stretch: JournalEntry, turn: JournalEntry) -> JournalEntry | None:
    """A calm stretch with one more calm turn; ``None``: the turn begins another."""
    if not (stretch.is_calm and turn.is_calm):
        return None
    if not stretch.begin_s <= turn.begin_s < stretch.begin_s + FOLD_S:
        return None
    same = stretch.placement is turn.placement or stretch.placement == turn.placement
    there = stretch.alive is turn.alive or np.array_equal(stretch.alive, turn.alive)
    known = np.isnan(stretch.offered_per_s) == np.isnan(turn.offered_per_s)
    if not (same and there and known):
        return None
    n = stretch.turns

    def mean(before: float, now: float) -> float:
        return (before * n + now) / (n + 1)

    def means(before: FloatVector | None, now: FloatVector | None) -> FloatVector | None:
        return None if before is None or now is None else (before * n + now) / (n + 1)

    return JournalEntry(
        stretch.begin_s,
        turn.end_s,
        n + 1,
        stretch.placement,
        stretch.alive,
        mean(stretch.offered_per_s, turn.offered_per_s),
        mean(stretch.processed_per_s, turn.processed_per_s),
        turn.backlog,
        float(np.fmax(stretch.latency_s, turn.latency_s)),
        turn.paused_s,
        means(stretch.cpu, turn.cpu),
        means(stretch.stream_per_s, turn.stream_per_s),
    )


def outcomes(entries: Sequence[JournalEntry]) -> list[ChangeOutcome]:
    """Each change that restarted something, and what it carried until the next one."""
    made = [i for i, e in enumerate(entries) if e.decision is not None and e.decision.restarts]
    found = []
    for i, end in zip(made, [*made[1:], len(entries)], strict=True):
        after = [e for e in entries[i + 1 : end] if e.placement == _placed(entries[i])]
        paused = [e.paused_s for e in after if np.isfinite(e.paused_s)]
        rates = [e.processed_per_s for e in after if np.isfinite(e.processed_per_s)]
        # What waited for the pause is late whatever the plan: the last stretch says what it became.
        late = [e.latency_s for e in after[-1:] if np.isfinite(e.latency_s)]
        found.append(
            ChangeOutcome(
                entries[i],
                paused[0] if paused else nan,
                max(rates, default=nan),
                max(late, default=nan),
                entries[end].begin_s if end < len(entries) else inf,
            )
        )
    return found


def _placed(entry: JournalEntry) -> Placement | None:
    return None if entry.decision is None else entry.decision.placement


def is_change(entry: JournalEntry) -> bool:
    """Whether something was done in it."""
    return entry.decision is not None and entry.decision.kind is not DecisionKind.NOTHING

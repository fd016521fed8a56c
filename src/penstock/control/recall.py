"""The state of the loop as it was, worked out again from a journal.

Calm turns are in the journal as stretches of five minutes: their means stand for the turns in them.
So what a policy remembers is what it would remember of a load without the ripples within a stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from penstock.control.guards import ChangeRecord
from penstock.control.journal import JournalEntry
from penstock.control.loop import LoopState, with_pause
from penstock.control.observation import Observation
from penstock.control.policy import Policy, RecallingPolicy

#: Turns of a stretch that are told again; blocks of detectors are as long.
_STEP_S = 30.0
#: Policies look back a week at most.
RECALLED_S = 8 * 86_400.0
#: Detectors compare with two hours, and say anew what goes on.
_DETECTED_S = 3 * 3600.0


def recalled(
    state: LoopState,
    entries: Sequence[JournalEntry],
    changes: Sequence[ChangeRecord],
    policy: Policy,
) -> LoopState:
    """A fresh state with the memories that these entries leave, and the changes that were made."""
    if not entries:
        return replace(state, changes=tuple(changes))
    now_s = entries[-1].end_s
    state = _with_pauses(state, entries)
    memory, detected, setting = state.memory, state.detected, state.setting
    healthy = state.healthy or setting.planner
    replays = not isinstance(policy, RecallingPolicy)  # those have begun with what they need
    for entry in entries:
        if entry.end_s < now_s - RECALLED_S:
            continue
        for seen in _observations(entry):
            if replays:
                _, memory = policy.propose(seen, memory, setting)
            if entry.end_s >= now_s - _DETECTED_S:
                _, detected = state.bank.seen(seen, detected, healthy)
    return replace(state, memory=memory, detected=detected, changes=tuple(changes))


def _with_pauses(state: LoopState, entries: Sequence[JournalEntry]) -> LoopState:
    """What changes taught about how long the next one stops the topology."""
    for entry in entries:
        state = with_pause(state, entry.paused_s)
    return state


def _observations(entry: JournalEntry) -> Iterator[Observation]:
    """The turns of an entry, as far as they can be told apart."""
    seconds = entry.end_s - entry.begin_s
    number = min(entry.turns, max(1, round(seconds / _STEP_S) + 1))
    for time_s in np.linspace(entry.begin_s, entry.end_s, number).tolist():
        yield Observation(
            time_s, (entry.offered_per_s,), (entry.processed_per_s,), (entry.backlog,),
            (entry.latency_s,), entry.placement, entry.alive, entry.cpu,
            paused_s=entry.paused_s, stream_per_s=entry.stream_per_s,
        )  # fmt: skip

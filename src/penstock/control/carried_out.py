"""What became of a decision after it was made, as the loop's state remembers it.

:func:`penstock.control.loop.turn` counts what it returns as made. Whoever advises only, or waits
for a person, says so here; whoever carried a decision out later, or failed, too.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.control.guards import ChangeRecord
from penstock.control.loop import LoopState, OpenChange
from penstock.control.observation import Observation
from penstock.model.placement import Placement


def not_made(before: LoopState, after: LoopState) -> LoopState:
    """The state after a decision that was not carried out: it learned, and changed nothing."""
    return replace(
        after,
        changes=tuple(c for c in after.changes if c in before.changes),
        open_change=before.open_change,
        shrinking_since_s=before.shrinking_since_s,
        useless_per_s=before.useless_per_s,
        machines_then=before.machines_then,
    )


def made(state: LoopState, record: ChangeRecord, before: Placement) -> LoopState:
    """A change that was decided in an earlier turn is carried out now."""
    return replace(
        state,
        changes=(*state.changes, record),
        open_change=OpenChange(record, before),
        shrinking_since_s=float("inf"),
    )


def failed(state: LoopState, carries_per_s: float, seen: Observation) -> LoopState:
    """The engine did not follow: such a change is not tried again until something differs.

    It counts as a change in what must pass before the next one.
    """
    return replace(
        state,
        open_change=None,
        useless_per_s=(*state.useless_per_s, carries_per_s),
        machines_then=int(seen.alive.sum()),
    )

"""What earlier turns teach policies: the thesis' *Provenance Data* (Muhammad 2023, section 3.1).

Node power, the traffic log, and placements with what they carried. Whoever has a journal reads it
from there; policies see only this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.control.journal import JournalEntry
from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.placement import Placement


@dataclass(frozen=True, slots=True)
class SeenState:
    """A placement that ran, on which machines, and the highest rate it kept up with."""

    placement: Placement
    alive: BoolVector
    carried_per_s: float
    latency_s: float
    seconds: float


@dataclass(frozen=True)
class ProvenanceData:
    """All of it, states in the order in which they were first seen."""

    #: By machine, as the thesis ranks them; NaN where the cluster does not say.
    node_power: FloatVector
    #: Mean tuples/s on each stream, (streams,); ``None``: never measured.
    stream_per_s: FloatVector | None
    states: tuple[SeenState, ...]


def provenance(entries: Sequence[JournalEntry], node_power: FloatVector) -> ProvenanceData:
    """What a journal's entries teach."""
    found: dict[tuple[Placement, bytes], SeenState] = {}
    traffic = [e.stream_per_s for e in entries if e.stream_per_s is not None]
    for entry in entries:
        # Where tuples wait, it did not keep up.
        keeps_up = entry.is_calm and entry.backlog <= entry.offered_per_s
        if not keeps_up or not np.isfinite(entry.processed_per_s):
            continue
        key = (entry.placement, entry.alive.tobytes())
        seconds = entry.end_s - entry.begin_s
        before = found.get(key)
        found[key] = SeenState(
            entry.placement,
            entry.alive,
            max(entry.processed_per_s, before.carried_per_s if before else 0.0),
            float(np.fmax(entry.latency_s, before.latency_s if before else np.nan)),
            seconds + (before.seconds if before else 0.0),
        )
    mean = np.mean(traffic, axis=0) if traffic else None
    return ProvenanceData(node_power, mean, tuple(found.values()))

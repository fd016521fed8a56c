"""The journal: SQLite, one transaction a turn, so that a kill loses that turn at most.

It stands here because ``control`` is pure and ``files`` knows nothing of decisions.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from penstock.app.journal_file import open_journal, transaction
from penstock.app.proposals import ChangeProposal, ProposalBook
from penstock.control.decision import Decision
from penstock.control.detectors.detector import Detection
from penstock.control.journal import JournalEntry, entry_of, folded
from penstock.control.observation import Observation
from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.executor_groups import node_power

_COLUMNS = (
    "begin_s", "end_s", "turns", "placement", "away", "offered_per_s", "processed_per_s",
    "backlog", "latency_s", "paused_s", "cpu", "stream_per_s", "decision", "detections",
)  # fmt: skip
_INSERT = f"INSERT INTO turn ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_UPDATE = f"UPDATE turn SET {', '.join(f'{c} = ?' for c in _COLUMNS)} WHERE id = ?"
#: What is too old goes once an hour.
_TIDY_S = 3600.0


class Journal:
    """Writes turns. One writer at a time; readers may look on."""

    def __init__(
        self, problem: Problem, path: Path | None = None, keep_s: float | None = None
    ) -> None:
        """In a file that goes on, or in memory; what is older than ``keep_s`` is forgotten."""
        self.problem, self.keep_s = problem, keep_s
        self._connection = open_journal(path)
        self._in_memory = path is None
        self._open: JournalEntry | None = None
        self._row: int | None = None
        self._tidied_s = -np.inf
        self._placements: dict[Placement, str] = {}
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def proposals(self) -> ProposalBook:
        """What became of decisions, in the same file."""
        return ProposalBook(self._connection)

    def turn(
        self,
        seen: Observation,
        decision: Decision,
        detections: tuple[Detection, ...],
        proposal: ChangeProposal | None = None,
    ) -> None:
        """One turn, with the proposal that it led to; in a file it is there when this returns."""
        entry = entry_of(seen, decision, detections)
        longer = None if self._open is None else folded(self._open, entry)
        if self._in_memory:
            if longer is None and self._open is not None:
                self._write(self._open, None)
            self._open = longer or entry
            return
        with transaction(self._connection):
            self._row = self._write(longer or entry, None if longer is None else self._row)
            if proposal is not None:
                self.proposals.add(proposal)
        self._open = longer or entry
        if self.keep_s is not None and not 0 <= seen.time_s - self._tidied_s < _TIDY_S:
            self._tidied_s = seen.time_s
            self.forget(seen.time_s - self.keep_s)

    def forget(self, before_s: float) -> None:
        """Turns that ended before, and placements that no turn has any more."""
        with transaction(self._connection):
            self._connection.execute("DELETE FROM turn WHERE end_s < ?", (before_s,))
            self._connection.execute("DELETE FROM proposal WHERE status_s < ?", (before_s,))
            self._connection.execute(
                "DELETE FROM placement WHERE id NOT IN (SELECT placement FROM turn)"
                " AND id NOT IN (SELECT json_extract(decision, '$.placement') FROM turn"
                " WHERE json_extract(decision, '$.placement') IS NOT NULL)"
            )
        self._placements.clear()
        self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def content(self) -> bytes:
        """Of one in memory: the file it would be."""
        if self._open is not None:
            self._write(self._open, None)
            self._open = None
        self._connection.commit()
        return self._connection.serialize()

    def close(self) -> None:
        self._connection.close()

    # -- writing ------------------------------------------------------------------------------

    def _begin(self) -> None:
        names = [machine.name for machine in self.problem.cluster.machines]
        kinds = [machine.type for machine in self.problem.cluster.machines]
        power = power_of(self.problem)
        with transaction(self._connection):
            self._connection.executemany(
                "INSERT OR REPLACE INTO machine VALUES (?, ?, ?)",
                zip(names, kinds, map(_plain, power.tolist()), strict=True),
            )

    def _write(self, entry: JournalEntry, row: int | None) -> int:
        values = self._values(entry)
        if row is not None:
            self._connection.execute(_UPDATE, (*values, row))
            return row
        return int(self._connection.execute(_INSERT, values).lastrowid or 0)

    def _values(self, entry: JournalEntry) -> tuple[Any, ...]:
        machines = self.problem.cluster.machines
        away = [machines[m].name for m in np.flatnonzero(~entry.alive).tolist()]
        decision = None if entry.decision is None else self._decision(entry.decision)
        detections = [{**asdict(d), "value": _plain(d.value)} for d in entry.detections] or None
        return (
            entry.begin_s, entry.end_s, entry.turns, self._placement(entry.placement), _json(away),
            _plain(entry.offered_per_s), _plain(entry.processed_per_s), _plain(entry.backlog),
            _plain(entry.latency_s), _plain(entry.paused_s), _numbers(entry.cpu, 3),
            _numbers(entry.stream_per_s, 6), None if decision is None else _json(decision),
            None if detections is None else _json(detections),
        )  # fmt: skip

    def _decision(self, decision: Decision) -> dict[str, Any]:
        told = {name: getattr(decision, name) for name in Decision.__dataclass_fields__}
        told["kind"] = decision.kind.value
        placement = decision.placement
        told["placement"] = None if placement is None else self._placement(placement)
        told["evidence"] = [[name, _plain(value)] for name, value in decision.evidence]
        told["refused"] = [[r.what, r.rule, r.why] for r in decision.refused]
        return {
            name: _plain(value) if isinstance(value, float) else value
            for name, value in told.items()
        }

    def _placement(self, placement: Placement) -> str:
        if placement not in self._placements:
            labels, machines = self.problem.labels, self.problem.cluster.machines
            rows = zip(
                placement.component.tolist(), placement.machine.tolist(),
                placement.slot.tolist(), placement.share.tolist(), strict=True,
            )  # fmt: skip
            text = _json([[labels[c], machines[m].name, s, _plain(w)] for c, m, s, w in rows])
            name = hashlib.sha256(text.encode()).hexdigest()[:16]
            self._connection.execute("INSERT OR IGNORE INTO placement VALUES (?, ?)", (name, text))
            self._placements[placement] = name
        return self._placements[placement]


def power_of(problem: Problem) -> FloatVector:
    """Node power as the thesis ranks machines, eq. (3.2), (machines,)."""
    return node_power(problem.cluster, cpu=0.8, memory=0.2).power


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(value: float) -> float | None:
    return float(f"{value:.9g}") if np.isfinite(value) else None


def _numbers(values: FloatVector | None, digits: int) -> str | None:
    if values is None:
        return None
    return _json([float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values.tolist()])

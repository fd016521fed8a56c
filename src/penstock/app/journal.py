"""The journal's file: SQLite, one transaction a turn, so that a kill loses that turn at most.

It stands here because ``control`` is pure and ``files`` knows nothing of decisions.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from penstock.control.decision import Decision
from penstock.control.detectors.detector import Detection
from penstock.control.journal import JournalEntry, entry_of, folded
from penstock.control.observation import Observation
from penstock.errors import Finding, InputError
from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.executor_groups import node_power

JOURNAL = "journal.sqlite"
#: "Pstk", so that no other SQLite file is taken for one.
APPLICATION = 0x5073746B
VERSION = 1
_SCHEMA = """\
CREATE TABLE machine (name TEXT PRIMARY KEY, type TEXT NOT NULL, power REAL) WITHOUT ROWID;
CREATE TABLE placement (id TEXT PRIMARY KEY, instances TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE turn (
  id INTEGER PRIMARY KEY, begin_s REAL NOT NULL, end_s REAL NOT NULL, turns INTEGER NOT NULL,
  placement TEXT NOT NULL REFERENCES placement, away TEXT NOT NULL,
  offered_per_s REAL, processed_per_s REAL, backlog REAL, latency_s REAL, paused_s REAL,
  cpu TEXT, stream_per_s TEXT, decision TEXT, detections TEXT
);
CREATE INDEX turn_end ON turn (end_s);
"""
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

    def turn(
        self, seen: Observation, decision: Decision, detections: tuple[Detection, ...]
    ) -> None:
        """One turn; in a file it is there when this returns."""
        entry = entry_of(seen, decision, detections)
        longer = None if self._open is None else folded(self._open, entry)
        if self._in_memory:
            if longer is None and self._open is not None:
                self._write(self._open, None)
            self._open = longer or entry
            return
        with self._transaction():
            self._row = self._write(longer or entry, None if longer is None else self._row)
        self._open = longer or entry
        if self.keep_s is not None and not 0 <= seen.time_s - self._tidied_s < _TIDY_S:
            self._tidied_s = seen.time_s
            self.forget(seen.time_s - self.keep_s)

    def forget(self, before_s: float) -> None:
        """Turns that ended before, and placements that no turn has any more."""
        with self._transaction():
            self._connection.execute("DELETE FROM turn WHERE end_s < ?", (before_s,))
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
        with self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO machine VALUES (?, ?, ?)",
                zip(names, kinds, map(_plain, power.tolist()), strict=True),
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()

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


def open_journal(path: Path | None, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection to what is a journal of a version that is known, or an error."""
    where = ":memory:" if path is None else str(path)
    try:
        if read_only and path is not None:
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
            )
        else:
            connection = sqlite3.connect(where, isolation_level=None)
        _check(connection, where, read_only=read_only)
    except sqlite3.Error as error:
        message = f"cannot be opened as a journal: {error}"
        raise InputError(Finding(message, where)) from None
    return connection


def _check(connection: sqlite3.Connection, where: str, *, read_only: bool) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if empty and not read_only and application == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        if where != ":memory:":
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {APPLICATION};"
            f" PRAGMA user_version = {VERSION}; COMMIT;"
        )
        return
    problem = None
    if application != APPLICATION:
        problem = "is no journal of Penstock"
    elif version > VERSION:
        problem = (
            f"is a journal of version {version}, from a newer Penstock; this one knows up to "
            f"{VERSION}: update Penstock, or begin another journal"
        )
    if problem is not None:
        connection.close()
        raise InputError(Finding(problem, where))
    # SQLite runs what a file's schema says: a view in place of a table can go on for ever.
    if not _is_our_schema(connection):
        connection.close()
        raise damaged(where, "its tables are not those of a journal")


def _is_our_schema(connection: sqlite3.Connection) -> bool:
    """Tables and indices of a journal to the letter, and nothing beside them."""
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(_SCHEMA)
        return _objects(connection) == _objects(ours)


def _objects(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return sorted(connection.execute("SELECT type, name, sql FROM sqlite_master"), key=repr)


def damaged(where: str, what: str) -> InputError:
    """Of a journal that something else has written to."""
    message = f"is damaged ({what}); take a copy of it, or begin another journal"
    return InputError(Finding(message, where))


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

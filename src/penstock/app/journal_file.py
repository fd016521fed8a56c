"""The journal's file: what is in it, which version it is, and opening it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError

JOURNAL = "journal.sqlite"
#: "Pstk", so that no other SQLite file is taken for one.
APPLICATION = 0x5073746B
VERSION = 2
#: The first version with proposals.
PROPOSALS_SINCE = 2
_TURNS = """\
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
#: Since version 2: what became of decisions on a running cluster, and whether the loop is paused.
_PROPOSALS = """\
CREATE TABLE proposal (
  id TEXT PRIMARY KEY, time_s REAL NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL,
  moves INTEGER NOT NULL, machines INTEGER NOT NULL, offered_per_s REAL, carries_per_s REAL,
  carried_before_per_s REAL, status TEXT NOT NULL, status_s REAL NOT NULL, who TEXT NOT NULL,
  why TEXT NOT NULL, receipt TEXT NOT NULL, plan TEXT
);
CREATE INDEX proposal_time ON proposal (time_s);
CREATE TABLE pause (since_s REAL NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL);
"""


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


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, also of a process that is killed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _check(connection: sqlite3.Connection, where: str, *, read_only: bool) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if empty and not read_only and application == 0:
        _begin(connection, where)
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
    if not _is_our_schema(connection, version):
        connection.close()
        raise damaged(where, "its tables are not those of a journal")
    if version < VERSION and not read_only:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_PROPOSALS} PRAGMA user_version = {VERSION}; COMMIT;"
        )


def _is_our_schema(connection: sqlite3.Connection, version: int) -> bool:
    """Tables and indices of a journal to the letter, and nothing beside them."""
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(_TURNS + (_PROPOSALS if version >= PROPOSALS_SINCE else ""))
        return _objects(connection) == _objects(ours)


def _objects(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return sorted(connection.execute("SELECT type, name, sql FROM sqlite_master"), key=repr)


def damaged(where: str, what: str) -> InputError:
    """Of a journal that something else has written to."""
    message = f"is damaged ({what}); take a copy of it, or begin another journal"
    return InputError(Finding(message, where))


def _begin(connection: sqlite3.Connection, where: str) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    if where != ":memory:":
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TURNS} {_PROPOSALS} PRAGMA application_id = {APPLICATION};"
        f" PRAGMA user_version = {VERSION}; COMMIT;"
    )

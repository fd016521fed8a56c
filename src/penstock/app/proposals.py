"""What became of the loop's decisions on a running cluster, in the journal's file.

A decision to change something is a proposal. It is written down before anything is touched, in one
transaction with its turn, and again when its status changes, so that whoever comes after a kill
finds what was meant. Persons answer here, too: a proposal that waits is approved or rejected once.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from math import nan
from pathlib import Path

from penstock.app.journal_file import damaged, open_journal, transaction
from penstock.errors import Finding, InputError, PenstockError, UnknownNameError

_COLUMNS = (
    "id", "time_s", "kind", "reason", "moves", "machines", "offered_per_s", "carries_per_s",
    "carried_before_per_s", "status", "status_s", "who", "why", "receipt", "plan",
)  # fmt: skip
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM proposal"
_INSERT = f"INSERT INTO proposal VALUES ({', '.join('?' * len(_COLUMNS))})"
_ID_DIGITS = 8


class Status(StrEnum):
    """How far a proposal is."""

    #: Told only: nobody asked for more.
    ADVISED = "advised"
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    #: The engine is being told; one that stays so was interrupted.
    BEGUN = "begun"
    APPLIED = "applied"
    #: Interrupted or refused before the engine took it up: what ran before runs.
    NOT_APPLIED = "not applied"
    ROLLED_BACK = "rolled back"
    NOT_ROLLED_BACK = "not rolled back"


#: Those that something can still become of.
OPEN = (Status.WAITING, Status.APPROVED, Status.BEGUN)


@dataclass(frozen=True, slots=True)
class ChangeProposal:
    """A change that the loop decided on."""

    id: str
    time_s: float
    #: Which kind of decision.
    kind: str
    reason: str
    moves: int
    machines: int
    offered_per_s: float
    carries_per_s: float
    carried_before_per_s: float
    status: Status
    status_s: float
    #: Who gave it its status, and why; empty: the loop did.
    who: str = ""
    why: str = ""
    #: Id of the receipt in the history.
    receipt: str = ""
    #: The plan file, as long as something can still become of it.
    plan: str | None = None

    def with_status(
        self, status: Status, time_s: float, why: str = "", who: str = ""
    ) -> ChangeProposal:
        return replace(self, status=status, status_s=time_s, why=why, who=who)


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when the loop only looks on, who said so, and why."""

    since_s: float
    who: str
    why: str


class NotWaitingError(PenstockError):
    """A proposal that nobody can answer any more."""


def proposal_id(plan: str, time_s: float) -> str:
    """Short enough to be typed."""
    return hashlib.sha256(f"{time_s!r} {plan}".encode()).hexdigest()[:_ID_DIGITS]


class ProposalBook:
    """Proposals in an open journal; every change is one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, proposal: ChangeProposal) -> None:
        """Within a transaction of the caller's."""
        values = [getattr(proposal, name) for name in _COLUMNS]
        self._connection.execute(_INSERT, [_plain(v) for v in values])

    def update(self, proposal: ChangeProposal, *, among: tuple[Status, ...] = OPEN) -> bool:
        """Its new status, unless somebody else changed it meanwhile; whether it was taken."""
        plan = proposal.plan if proposal.status in OPEN else None
        marks = ", ".join("?" * len(among))
        with transaction(self._connection):
            done = self._connection.execute(
                f"UPDATE proposal SET status = ?, status_s = ?, who = ?, why = ?, receipt = ?,"
                f" plan = ? WHERE id = ? AND status IN ({marks})",
                (
                    proposal.status, proposal.status_s, proposal.who, proposal.why,
                    proposal.receipt, plan, proposal.id, *among,
                ),
            )  # fmt: skip
        return done.rowcount == 1

    def open(self) -> list[ChangeProposal]:
        """Those that something can still become of, the oldest first."""
        marks = ", ".join("?" * len(OPEN))
        return self._read(f"{_SELECT} WHERE status IN ({marks}) ORDER BY time_s, id", OPEN)

    def since(self, time_s: float) -> list[ChangeProposal]:
        """All that were made since, the oldest first."""
        return self._read(f"{_SELECT} WHERE time_s >= ? ORDER BY time_s, id", (time_s,))

    def find(self, key: str) -> ChangeProposal:
        """The one whose id begins so."""
        every = self._read(f"{_SELECT} ORDER BY time_s DESC, id", ())
        matching = [p for p in every if p.id.startswith(key)] if key else []
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise InputError(f'"{key}" matches several: {", ".join(p.id for p in matching)}')
        waiting = [p.id for p in every if p.status is Status.WAITING]
        raise UnknownNameError("proposal", key, waiting)

    def pause(self) -> Pause | None:
        row = self._connection.execute("SELECT since_s, who, why FROM pause").fetchone()
        return None if row is None else Pause(*row)

    def set_pause(self, pause: Pause | None) -> None:
        """The first pause stands until it is taken back."""
        with transaction(self._connection):
            if pause is None:
                self._connection.execute("DELETE FROM pause")
            elif self.pause() is None:
                values = (pause.since_s, pause.who, pause.why)
                self._connection.execute("INSERT INTO pause VALUES (?, ?, ?)", values)

    def _read(self, query: str, values: tuple[object, ...]) -> list[ChangeProposal]:
        try:
            return [_proposal(row) for row in self._connection.execute(query, values).fetchall()]
        except (TypeError, ValueError) as error:
            raise damaged("journal", f"a proposal: {error}") from None


@contextmanager
def proposal_book(journal: Path) -> Iterator[ProposalBook]:
    """The proposals in a journal's file, to answer them while the loop writes there, too."""
    if not journal.is_file():
        raise InputError(Finding("no such journal; penstock watch begins one", str(journal)))
    with closing(open_journal(journal)) as connection:
        yield ProposalBook(connection)


def answer(
    journal: Path, key: str, *, approve: bool, now_s: float, why: str = ""
) -> ChangeProposal:
    """Approve or reject a proposal that waits."""
    with proposal_book(journal) as book:
        proposal = book.find(key)
        status = Status.APPROVED if approve else Status.REJECTED
        answered = proposal.with_status(status, now_s, why, user_name())
        if not book.update(answered, among=(Status.WAITING,)):
            found = book.find(proposal.id)
            raise NotWaitingError(f"proposal {found.id} is {found.status}, and waits for nobody")
        return answered


def user_name() -> str:
    """Who runs this, as the system knows them and not as the environment says."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _plain(value: object) -> object:
    return None if isinstance(value, float) and value != value else value


def _proposal(row: tuple[object, ...]) -> ChangeProposal:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in ("offered_per_s", "carries_per_s", "carried_before_per_s"):
        values[name] = nan if values[name] is None else values[name]
    values["status"] = Status(str(values["status"]))
    return ChangeProposal(**values)  # type: ignore[arg-type]

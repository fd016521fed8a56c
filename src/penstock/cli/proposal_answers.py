"""What ``approve``, ``reject``, ``pause`` and ``resume`` share: a person answers the loop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.app.history_folder import history_folder
from penstock.app.journal_file import JOURNAL
from penstock.app.proposals import (
    ChangeProposal,
    Pause,
    Status,
    answer,
    proposal_book,
    user_name,
)
from penstock.cli.output import say, show
from penstock.errors import EXIT_DONE
from penstock.report.pages.proposals import proposals_page

Key = Annotated[
    str | None,
    typer.Argument(metavar="ID", help="Its id, or the first characters of it. Without: a list."),
]
Why = Annotated[str, typer.Option("--why", help="A word for the journal.")]


def answered(
    key: str | None, journal: Path | None, history: Path | None, why: str, *, approve: bool
) -> int:
    """Answer a proposal, or list those that wait."""
    path = journal_path(journal, history)
    if key is None:
        show(proposals_page(_waiting(path)))
        return EXIT_DONE
    proposal = answer(path, key, approve=approve, now_s=time.time(), why=why)
    more = "; the watcher does it in its next turn" if approve else ""
    say(f"{proposal.id} is {proposal.status}{more}")
    return EXIT_DONE


def set_pause(journal: Path | None, history: Path | None, why: str | None) -> int:
    """Pause the loop, or with ``None`` let it go on."""
    with proposal_book(journal_path(journal, history)) as book:
        before = book.pause()
        book.set_pause(None if why is None else Pause(time.time(), user_name(), why))
    if why is None:
        say("the loop goes on" if before else "the loop was not paused")
    else:
        say(
            "the loop was paused already"
            if before
            else "the loop looks on; penstock resume ends it"
        )
    return EXIT_DONE


def journal_path(journal: Path | None, history: Path | None) -> Path:
    return journal or history_folder(history) / JOURNAL


def _waiting(path: Path) -> list[ChangeProposal]:
    with proposal_book(path) as book:
        return [p for p in book.open() if p.status is Status.WAITING]

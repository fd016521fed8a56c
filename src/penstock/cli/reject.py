"""``penstock reject``: an answer to what the loop proposes."""

from __future__ import annotations

from penstock.cli import history_options
from penstock.cli.proposal_answers import Key, Why, answered


def command(
    key: Key = None,
    why: Why = "",
    history: history_options.History = None,
    journal: history_options.Journal = None,
) -> int:
    """Reject a change that the loop proposes.

    penstock reject

    penstock reject 3f9a --why "not on a Friday"
    """
    return answered(key, journal, history, why, approve=False)

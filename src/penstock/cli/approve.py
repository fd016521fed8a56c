"""``penstock approve``: an answer to what the loop proposes."""

from __future__ import annotations

from penstock.cli import history_options
from penstock.cli.proposal_answers import Key, Why, answered


def command(
    key: Key = None,
    why: Why = "",
    history: history_options.History = None,
    journal: history_options.Journal = None,
) -> int:
    """Approve a change that the loop proposes; it is done in the next turn if it still holds.

    penstock approve

    penstock approve 3f9a --why "agreed with ops"
    """
    return answered(key, journal, history, why, approve=True)

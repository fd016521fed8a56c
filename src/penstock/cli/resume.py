"""``penstock resume``: the loop may act again."""

from __future__ import annotations

from penstock.cli import history_options
from penstock.cli.proposal_answers import set_pause


def command(
    history: history_options.History = None,
    journal: history_options.Journal = None,
) -> int:
    """Let the loop act again after penstock pause.

    penstock resume

    penstock resume --journal journal.sqlite
    """
    return set_pause(journal, history, None)

"""``penstock pause``: the loop looks on, and changes nothing."""

from __future__ import annotations

from penstock.cli import history_options
from penstock.cli.proposal_answers import Why, set_pause


def command(
    why: Why = "",
    history: history_options.History = None,
    journal: history_options.Journal = None,
) -> int:
    """Let the loop look on and change nothing, from its next turn until penstock resume.

    penstock pause

    penstock pause --why "release tonight"
    """
    return set_pause(journal, history, why)

"""kill -9 at every point of deciding, publishing and verifying; then somebody starts it again."""

from __future__ import annotations

import os
import signal

import pytest
from tests.app.watching.toy_watch import ToyWatch
from tests.engines.toy_engine import ToySession

from penstock.app.applying import HistoryRecord
from penstock.app.journal import Journal
from penstock.app.journal_reader import journal_rows
from penstock.app.proposals import ProposalBook, Status, proposal_book

#: In the order in which they are passed.
POINTS = [
    (Journal, "turn", "before"),
    (Journal, "turn", "after"),
    (ToySession, "use", "before"),
    (ToySession, "use", "after"),
    (ToySession, "begin", "before"),
    (ToySession, "begin", "after"),
    (HistoryRecord, "keep", "before"),
    (HistoryRecord, "keep", "after"),
    (ToySession, "write", "after"),
    (ToySession, "move", "before"),
    (ToySession, "move", "after"),
    (ToySession, "publish", "after"),
    (ProposalBook, "update", "before"),
    (ProposalBook, "update", "after"),
]


def killed_at(toy, place, name, when):
    """A watcher that ends by -9 at the point; it must be passed."""
    child = os.fork()
    if child == 0:
        own = getattr(place, name)

        def deadly(self, *arguments, **options):
            if when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            own(self, *arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(place, name, deadly)
        toy.watch(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"{name} was not passed"


@pytest.mark.parametrize(("place", "name", "when"), POINTS)
def test_afterwards_the_old_plan_or_the_new_one_runs_and_the_journal_says_which(
    tmp_path, place, name, when
):
    toy = ToyWatch(tmp_path)
    killed_at(toy, place, name, when)
    toy.watch(3)  # the lock is free, and it goes on
    with proposal_book(toy.journal) as book:
        (proposal,) = book.since(0.0)
        assert book.open() == []
    expected = {Status.APPLIED: ({"a", "b"}, 1), Status.NOT_APPLIED: ({"a"}, 0)}
    assert (toy.machines, toy.cluster.get("moved", 0)) == expected[proposal.status]
    assert journal_rows(toy.journal)


def test_an_order_that_was_followed_while_nobody_looked_is_found(tmp_path):
    """Killed after the order, and the cluster took it up while nobody looked."""
    toy = ToyWatch(tmp_path)
    killed_at(toy, ToySession, "move", "before")
    with proposal_book(toy.journal) as book:
        (begun,) = book.open()
    toy.change(places={"src": [["a", 0], ["b", 0]], "work": [["a", 0], ["b", 0]]})
    toy.watch()
    with proposal_book(toy.journal) as book:
        assert book.find(begun.id).status is Status.APPLIED
    assert "moved" not in toy.cluster  # it was in force: nothing is ordered again

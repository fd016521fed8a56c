"""A plan put in force: what it would do, doing it, and the receipt of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from penstock.app.clusters import look, session, silent
from penstock.app.history_folder import history_folder
from penstock.change.guard import stale
from penstock.change.history import Receipt
from penstock.engines.base import Ability, Engine, PublishOrder, Say, Session
from penstock.engines.publication import Publication
from penstock.errors import Finding, InputError, StaleError
from penstock.files.receipt_file import keep_receipt
from penstock.model.plan import Plan


@dataclass(frozen=True)
class PreparedPlan:
    """A plan that can be put in force: what that would do. Nothing is touched yet."""

    publication: Publication
    _session: Session = field(repr=False)
    _say: Say = field(default=silent, repr=False)

    def publish(
        self,
        *,
        wait_s: int = 2,
        within_s: float = 120.0,
        history: Path | None = None,
        keep: Callable[[Receipt], None] = lambda _receipt: None,
    ) -> Receipt:
        """Put it in force, or raise an error that says what is in force instead.

        The receipt goes into the history, and to ``keep`` whenever it says something new: before
        anything is touched, and at the end.
        """
        record = HistoryRecord(history_folder(history), self._say)

        def keep_both(receipt: Receipt) -> None:
            record.keep(receipt)
            keep(receipt)

        order = PublishOrder(self._say, keep_both, wait_s, within_s)
        return self._session.publish(self.publication, order)


@contextmanager
def prepared(
    plan: Plan, target: Engine, *, name: str = "", say: Say = silent
) -> Iterator[PreparedPlan]:
    """What putting a plan in force would do, while the conversation with the cluster is open.

    A plan that was made from another state of the cluster is refused; ``name`` is what the error
    calls it.
    """
    with session(target, Ability.PUBLISH, say) as opened:
        snapshot = look(opened, say)
        if reasons := stale(plan, snapshot):
            raise StaleError(*(Finding(reason, name) for reason in reasons), "plan again")
        yield PreparedPlan(opened.prepare(plan, snapshot), opened, say)


def apply(
    plan: Plan,
    target: Engine,
    *,
    wait_s: int = 2,
    within_s: float = 120.0,
    history: Path | None = None,
    say: Say = silent,
) -> Receipt:
    """Put a plan in force on a running cluster, wait until it is, or go back.

    >>> penstock.apply(plan, penstock.engine("storm", nimbus="storm-master"))
    """
    with prepared(plan, target, say=say) as ready:
        return ready.publish(wait_s=wait_s, within_s=within_s, history=history)


@dataclass
class HistoryRecord:
    """The receipt of one plan in the history, written again as things go on."""

    history: Path
    say: Say
    path: Path | None = None

    def keep(self, receipt: Receipt) -> None:
        """Before anything is touched a failure stops it; afterwards it is only told."""
        try:
            self.path = keep_receipt(self.history, receipt)
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}; name another with --history"
            finding = Finding(message, str(self.history))
            if self.path is None:
                raise InputError(finding) from None
            self.say(f"not recorded in the history: {finding}")

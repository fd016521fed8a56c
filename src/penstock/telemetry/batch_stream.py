"""A stream that ends between two batches and never within one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.telemetry.spark_errors import SparkFailed, reason_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

_LOOKS_EVERY_S = 0.05
_ENDED = "@@ended between two batches@@"


class BatchStream:
    """A streaming query whose batches are handled by a function.

    Spark cuts off whatever is under way when a query is stopped. Here a query that is told to stop
    first comes to the end of the current batch; one that was just started has its first look at
    the input in hand.
    """

    def __init__(self, handle: Callable[[DataFrame, int], None]) -> None:
        self._handle = handle
        self._stop: Callable[[], bool] = lambda: False
        self._batches = 0
        self._is_closed = False
        #: Held while a batch is under way, in a thread of Spark's.
        self._at_work = threading.Lock()
        self._own_error: PenstockError | None = None

    def run(self, writer: Any, stop: Callable[[], bool]) -> None:
        """Run the query of a ``DataStreamWriter`` until it ends or is told to stop."""
        self._stop = stop
        query: StreamingQuery = writer.foreachBatch(self._batch).start()
        while query.isActive and not stop():
            time.sleep(_LOOKS_EVERY_S)
        self._end(query)
        self._raise_failure(query)

    def _batch(self, rows: DataFrame, number: int) -> None:
        with self._at_work:
            if self._is_closed:
                # Coming back as if all were well, Spark would take the batch for done.
                raise RuntimeError(_ENDED)
            try:
                self._handle(rows, number)
            except PenstockError as error:
                self._own_error = error
                raise
            self._batches += 1
            # Asked here, too: the next batch may begin before anybody else looks.
            if self._stop():
                self._is_closed = True

    def _end(self, query: StreamingQuery) -> None:
        """Stop the query when its batch is done; with more input, the next ends the query."""
        before = self._batches
        while self._batches == before and _is_busy(query):
            time.sleep(_LOOKS_EVERY_S)
        self._is_closed = True
        with self._at_work:
            pass
        # Spark notes that the batch is done; stopped before that, it would bring it again.
        while _is_busy(query):
            time.sleep(_LOOKS_EVERY_S)
        query.stop()

    def _raise_failure(self, query: StreamingQuery) -> None:
        error = query.exception()
        if error is None or _ENDED in str(error):
            return
        if self._own_error is not None:
            raise self._own_error
        raise SparkFailed(f"Spark ended the run: {reason_of(error)}") from error


def _is_busy(query: StreamingQuery) -> bool:
    if not query.isActive:
        return False
    status = query.status
    return bool(status["isTriggerActive"]) or status["message"].startswith("Initializing")

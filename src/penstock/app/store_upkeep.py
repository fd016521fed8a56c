"""A store kept small by the run that writes to it, since nobody else may write meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engines.base import Say
from penstock.errors import UsageError
from penstock.planning.numbers import counted
from penstock.telemetry import compaction, retention
from penstock.telemetry.local_store import LocalStore, local_folder

_EVERY_S = 3600.0


@dataclass
class StoreUpkeep:
    """Retention and compaction, when asked and at most once an hour."""

    root: Path
    keep_s: float
    keep_raw_s: float
    say: Say
    clock: Callable[[], float] = time.time
    _next_s: float = field(default=0.0, init=False)

    def __call__(self) -> None:
        """Between two batches; the caller holds the writer's lock."""
        now_s = self.clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _EVERY_S
        store = LocalStore(self.root)
        times_ms = (int(1000 * s) for s in (now_s, self.keep_s, self.keep_raw_s))
        expired = retention.expire(store, *times_ms)
        merged = compaction.compact(store, _unheard)
        if expired.tables:
            parts = sum(table.parts for table in expired.tables)
            self.say(f"the store: {counted(parts, 'part')} expired")
        if merged.tables:
            self.say(f"the store: {merged.files_before:,} files became {merged.files_after:,}")


def _unheard(_done: int, _total: int) -> None:
    pass


def upkeep_of(
    store: str | None, keep_s: float | None, keep_raw_s: float | None, say: Say
) -> Callable[[], None]:
    """What to call after a batch; it does nothing where nothing is to be removed."""
    if keep_s is None:
        if keep_raw_s is not None:
            raise UsageError("--keep-raw goes with --keep, which says how long tables stay")
        return lambda: None
    root = None if store is None else local_folder(store)
    if root is None:
        raise UsageError("--keep goes with --store, in a folder of this machine")
    raw_s = keep_s if keep_raw_s is None else keep_raw_s
    if raw_s > keep_s:
        raise UsageError("raw records cannot stay longer than the tables that are made of them")
    return StoreUpkeep(root, keep_s, raw_s, say)

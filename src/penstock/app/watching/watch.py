"""A watcher opened as the only one of its cluster, and run until told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from penstock.app.clusters import silent
from penstock.app.watching.cost_follower import CostFollower, FollowOrder
from penstock.app.watching.events import WatchEvent
from penstock.app.watching.options import WatchOptions
from penstock.app.watching.system import MakePlanner
from penstock.app.watching.watcher import Watcher
from penstock.engines import registry as engines
from penstock.engines.base import Ability, Engine, Say, WatchOrder
from penstock.planning.stage_plans import planner_for
from penstock.system.file_lock import locked

#: A watcher that is told to stop does so within this.
_LOOKS_EVERY_S = 0.5


@contextmanager
def watching(
    engine: Engine,
    options: WatchOptions,
    *,
    say: Say = silent,
    tell: Callable[[WatchEvent], None] = lambda _event: None,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    planner: MakePlanner | None = None,
) -> Iterator[Watcher]:
    """A watcher, the only one of its cluster for as long as the block lasts."""
    engines.require(engine, Ability.WATCH)
    options.journal_path.parent.mkdir(parents=True, exist_ok=True)
    order = WatchOrder(say, options.telemetry, options.window_s, clock)
    with ExitStack() as stack:
        own = options.journal_path.with_name(f"{options.journal_path.name}.lock")
        stack.enter_context(locked(own, "another watcher"))
        with engines.naming_its_package(engine.name):
            session = stack.enter_context(engine.watch(order))
        if session.lock is not None:
            stack.enter_context(locked(session.lock, "another watcher of this cluster"))
        make = planner or partial(planner_for, scheduler=engine.capabilities.scheduler)
        watcher = Watcher(engine, session, options, say, tell, clock, sleep, make)
        if options.measure is not None:
            watcher.follower = _follower(options, options.measure, say, clock)
            stack.callback(watcher.follower.close)
        stack.callback(watcher.close)
        yield watcher


def _follower(
    options: WatchOptions, source: str, say: Say, clock: Callable[[], float]
) -> CostFollower:
    folder = options.journal_path.parent.absolute()
    location = source if "://" in source else str(Path(source).absolute())
    order = FollowOrder(location, str(folder / "telemetry"), str(options.profile.absolute()))
    return CostFollower(order, folder / "pipeline.log", say, clock)


def watch(
    engine: Engine,
    options: WatchOptions,
    *,
    stop: Callable[[], bool],
    once: bool = False,
    say: Say = silent,
    tell: Callable[[WatchEvent], None] = lambda _event: None,
) -> None:
    """Watch a cluster until told to stop: a turn now, and one every few seconds."""
    with watching(engine, options, say=say, tell=tell) as watcher:
        next_s = time.monotonic()
        while not stop():
            watcher.turn()
            if once:
                return
            next_s = max(next_s + options.every_s, time.monotonic())
            while not stop() and (left_s := next_s - time.monotonic()) > 0:
                time.sleep(min(left_s, _LOOKS_EVERY_S))

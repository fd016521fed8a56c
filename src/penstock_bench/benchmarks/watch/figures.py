"""What ``penstock bench watch`` measures: figures of live runs, each of which is made once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import inf

from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock.errors import PenstockError
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.storm_runs import trial_of
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.benchmarks.watch.live_log import logged
from penstock_bench.benchmarks.watch.loop_run import OURS, LoopComparison, changes_of
from penstock_bench.benchmarks.watch.slow_machine import SlowMachineRun, slowed
from penstock_bench.benchmarks.watch.spark_loop import spark_compared
from penstock_bench.benchmarks.watch.stepped_load import jittered
from penstock_bench.benchmarks.watch.storm_loop import TOPOLOGY, WARM_S, storm_compared, storm_loop
from penstock_bench.benchmarks.watch.watcher_kills import PHASES, killed
from penstock_bench.benchmarks.watch.watcher_process import watching

_JITTER_EVERY_S = 10.0


def _compared(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str,
) -> LoopComparison:  # fmt: skip
    if engine == "spark":
        return spark_compared(machines, factors, highest, step_s, first_s, policies)
    return storm_compared(machines, factors, highest, step_s, first_s, policies, costs)


# -- a load that steps, and a machine lost ---------------------------------------------------------


def side_by_side(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured",
) -> FigureTable:  # fmt: skip
    return _compared(engine, machines, factors, highest, step_s, first_s, policies, costs).table()


def least_carried(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """Of all stretches, the least part of what was offered that was done, in %."""
    for _ in range(repeats):
        comparison = _compared(engine, machines, factors, highest, step_s, first_s, policies, costs)
        yield 100 * comparison.ours.log.least_carried


def longest_wait(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """Seconds of what is offered that wait or are under way at the end of a stretch, at most."""
    for _ in range(repeats):
        comparison = _compared(engine, machines, factors, highest, step_s, first_s, policies, costs)
        yield comparison.ours.log.longest_wait_s


def wrong_results(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """Acked tuples that are missing at the sink (Storm), words counted wrongly (Spark)."""
    for _ in range(repeats):
        comparison = _compared(engine, machines, factors, highest, step_s, first_s, policies, costs)
        yield float(comparison.ours.wrong)


def restarts_per_step(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    for _ in range(repeats):
        comparison = _compared(engine, machines, factors, highest, step_s, first_s, policies, costs)
        yield float(comparison.ours.most_restarts_per_step)


def hours_off_rehearsed(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """Machine-hours beside those that a rehearsal of the same load has, in %."""
    for _ in range(repeats):
        comparison = _compared(engine, machines, factors, highest, step_s, first_s, policies, costs)
        yield 100 * comparison.hours_off(OURS)


def regret_off_rehearsed(
    engine: str, machines: str, factors: str, highest: float, step_s: float, first_s: float,
    policies: str,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """Regret beside that of a rehearsal of the same load, in points of the least."""
    for _ in range(repeats):
        comparison = _compared(engine, machines, factors, highest, step_s, first_s, policies, costs)
        yield 100 * comparison.regret_off(OURS)


# -- a machine that is slow ------------------------------------------------------------------------


def _slowed(
    machines: str, speed: float, load: float, past_s: float, after_s: float, costs: str
) -> SlowMachineRun:
    return slowed(machines, speed, load, past_s, after_s, costs)


def slow_machine_found(
    machines: str, speed: float, load: float, past_s: float, after_s: float,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """Seconds until the watcher named it."""
    for _ in range(repeats):
        run = _slowed(machines, speed, load, past_s, after_s, costs)
        if run.found_after_s == inf:
            raise PenstockError(f"{run.machine} was not found within {after_s:.0f} s")
        yield run.found_after_s


def carried_around_slow_machine(
    machines: str, speed: float, load: float, past_s: float, after_s: float,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    """What is carried in the end, of what any plan could with that machine as slow, in %."""
    for _ in range(repeats):
        yield 100 * _slowed(machines, speed, load, past_s, after_s, costs).of_bound


# -- a watcher that is killed ----------------------------------------------------------------------


def not_whole_after_kills(
    machines: str, kills: int, seed: int, costs: str = "lab", repeats: int = 1
) -> Iterator[float]:
    """Kills after which something was neither the old plan nor the new one, or done twice."""
    for _ in range(repeats):
        yield float(sum(bool(k.wrong) for k in killed(machines, kills, seed, costs)))


def kills_by_phase(machines: str, kills: int, seed: int, costs: str = "lab") -> FigureTable:
    outcomes = killed(machines, kills, seed, costs)
    rows = []
    for phase in PHASES:
        mine = [k for k in outcomes if k.phase == phase]
        wrong = "; ".join(text for k in mine for text in k.wrong)
        rows.append([phase, f"{len(mine)}", f"{sum(not k.wrong for k in mine)}", wrong])
    return FigureTable(
        "penstock watch, killed with -9", ["in", "kills", "whole afterwards", "what was not"], rows
    )


# -- a load that is steady -------------------------------------------------------------------------


@made_once
def _steady(
    machines: str, load: float, jitter: float, seconds: float, seed: int, costs: str
) -> int:
    with trial_of(TOPOLOGY, machines) as trial, cpu_keepalive():
        loop = storm_loop(trial, costs)
        rate = load * loop.system.planner.bound_per_s
        steady = jittered(rate, jitter, seconds, _JITTER_EVERY_S, seed)
        loop.submit(OURS, steady)
        setup = loop.setup(OURS)
        began_s = time.time() + WARM_S
        steps = [(began_s - WARM_S, rate), *steady.from_time(began_s)]
        offered = trial.topology.offer(steps)
        with logged(steady, began_s, loop.look(offered)), watching(setup) as watcher:
            while time.time() < began_s + seconds and watcher.poll() is None:
                time.sleep(1.0)
        changes = changes_of(setup.proposals(), began_s)
        loop.end("")
        say(f"{len(changes)} changes in {seconds / 60:.0f} minutes")
        return len(changes)


def changes_while_steady(
    machines: str, load: float, jitter: float, seconds: float, seed: int,
    costs: str = "measured", repeats: int = 1,
) -> Iterator[float]:  # fmt: skip
    for _ in range(repeats):
        yield float(_steady(machines, load, jitter, seconds, seed, costs))

"""A machine of the lab that becomes slow: is it found, and how much is carried around it?"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.storm_runs import trial_of
from penstock_bench.benchmarks.watch.live_log import logged
from penstock_bench.benchmarks.watch.loop_run import OURS
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad, Stretch
from penstock_bench.benchmarks.watch.storm_loop import TOPOLOGY, WARM_S, StormLoop, storm_loop
from penstock_bench.benchmarks.watch.watcher_process import watching

#: What is carried afterwards is looked at over the last so many seconds.
_LAST_S = 120.0
_SICK = "sick machine"


@dataclass(frozen=True)
class SlowMachineRun:
    """What became of it."""

    machine: str
    #: Seconds from the slowing until the watcher named the machine; infinity: never.
    found_after_s: float
    #: Tuples/s at the end, and the most that any plan could have carried then.
    rate_per_s: float
    bound_per_s: float

    @property
    def of_bound(self) -> float:
        return self.rate_per_s / self.bound_per_s


@made_once
def slowed(
    machines: str, speed: float, load: float, past_s: float, after_s: float, costs: str
) -> SlowMachineRun:
    """The strongest machine slowed to a part of its speed, under a part of what all carry."""
    with trial_of(TOPOLOGY, machines) as trial, cpu_keepalive():
        loop = storm_loop(trial, costs)
        strongest = max(trial.lab.machines, key=lambda m: m.points)
        parts = np.ones(len(loop.problem.cluster.machines))
        parts[loop.problem.cluster.machine_index[strongest.name]] = speed
        bound = loop.system.planner.at_speeds(parts).bound_per_s
        rate = load * loop.system.planner.bound_per_s
        say(f"{rate:.0f} tuples/s; no plan carries more than {bound:.0f} once it is slow")
        return _watched(loop, strongest.name, speed, rate, bound, past_s, after_s)


def _watched(
    loop: StormLoop, machine: str, speed: float, rate: float, bound: float, past_s: float,
    after_s: float,
) -> SlowMachineRun:  # fmt: skip
    trial = loop.trial
    load = SteppedLoad((rate,), (past_s + after_s,))
    loop.submit(OURS, load)
    setup = loop.setup(OURS)
    began_s = time.time() + WARM_S
    offered = trial.topology.offer([(began_s - WARM_S, rate), *load.from_time(began_s)])
    held = trial.lab.held[machine]
    points = held.points
    with logged(load, began_s, loop.look(offered)) as log, watching(setup):
        time.sleep(max(0.0, began_s + past_s - time.time()))
        say(f"{machine} goes on with {100 * speed:.0f} % of its speed")
        # The lab's own watch over limits keeps to what is written here.
        held.points = speed * points
        held.group.limit(held.points if held.is_limited else None)
        slowed_s = time.time()
        time.sleep(max(0.0, began_s + load.seconds - time.time()))
        named = [
            float(str(event.get("time_s", 0.0)))
            for event in setup.events()
            if _SICK in str(event.get("text", "")) and machine in str(event.get("text", ""))
        ]
    held.points = points
    held.group.limit(points if held.is_limited else None)
    loop.end("")
    after = [at - slowed_s for at in named if at >= slowed_s]
    last = Stretch("the end", load.seconds - _LAST_S, load.seconds)
    done = log.carried(last) * rate
    run = SlowMachineRun(machine, min(after, default=float("inf")), done, bound)
    say(f"found after {run.found_after_s:.0f} s, carries {100 * run.of_bound:.0f} % of the bound")
    return run

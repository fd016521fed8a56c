"""The fluid model: tuples as a liquid, rates and queues as ordinary differences.

For big clusters and long scenarios: a step costs a few operations on arrays, whatever the rates.
In each step every machine divides its CPU among its instances by need (nobody gets more than it can
use, the rest is split evenly), components pass on what they processed, sources before targets, and
a queue that would overflow holds up its senders. What the engine has and a liquid has not: chance.
So there are no percentiles, and a queue below saturation is empty; its throughput is what the plan
carries at most. A mean latency comes from Little's law. Network cards are no limit in it.

The mass of an offered tuple is 1. What comes of it shares its mass; mass that nothing comes of is
completed. So what is in flight can be counted, and a window kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from penstock.errors import InputError
from penstock.evaluate.capacity import capacity
from penstock.evaluate.division import divide_evenly
from penstock.evaluate.network import traffic
from penstock.evaluate.rates import Flow, propagate, serve_locally
from penstock.model.arrays import FloatVector, IntVector, sum_by
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.offered import offered_rates
from penstock.simulate.samples import CounterSample, Samples
from penstock.simulate.scenario import Down, Scenario, Slow, WhenFull
from penstock.simulate.sharing_fluid import share_by_need
from penstock.simulate.work import (
    MOST_TUPLES,
    require_few_steps,
    require_room_for_samples,
    require_short_fluid,
)

#: Steps between two looks, and the longest a step may be.
_STEPS_PER_LOOK = 20
_LONGEST_STEP_S = 0.05
_NO_COUNTS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class _Pipe:
    """A stream between the instances of two components."""

    flow: Flow
    sources: slice
    targets: slice
    local: bool
    weights: FloatVector


class Fluid:
    """Queues of all instances and the step that changes them."""

    def __init__(self, problem: Problem, placement: Placement, scenario: Scenario) -> None:
        unknown = [c for c in scenario.changes if not isinstance(c, Slow | Down)]
        if unknown:
            raise InputError(
                "the fluid model knows machines that slow down or die, not "
                f"{type(unknown[0]).__name__}; use the engine"
            )
        self.problem, self.placement, self.scenario = problem, placement, scenario
        planned = capacity(problem, placement)
        self.times_s, self.rates = offered_rates(problem, planned.scale, scenario)
        unit = planned.rates.per_instance
        self.share = np.where(problem.spout_rate[placement.component] > 0, unit, 0.0)
        # Points per tuple/s as the cost model has them, crossing costs included.
        self.cost = np.divide(planned.instance_slope, unit, out=np.zeros_like(unit), where=unit > 0)
        kind = problem.cluster.type_of[placement.machine]
        thread = problem.thread_points[placement.component, kind] - planned.instance_fixed
        self.thread = np.maximum(thread, 0.0)
        self.room = np.maximum(problem.cluster.usable_cpu - planned.machine_fixed, 0.0)
        self.fixed = planned.machine_fixed
        self.hops = traffic(problem, placement, planned.rates)
        self.pipes = _pipes(problem, placement)
        size = len(placement)
        self.queue, self.mass = np.zeros(size), np.zeros(size)
        self.inflow = np.zeros(size)
        self.speed = np.ones(len(problem.cluster.machines))
        self.came, self.done, self.lost = np.zeros(size), np.zeros(size), np.zeros(size)
        self.present_s = np.zeros(size)
        topologies = len(problem.topologies)
        self.offered, self.completed = np.zeros(topologies), np.zeros(topologies)
        self.lost_mass, self.in_flight_s = np.zeros(topologies), np.zeros(topologies)
        self.cpu_points_s = np.zeros(len(problem.cluster.machines))
        self.topology = problem.topology_of[placement.component]
        limit = scenario.queue_limit
        spout = problem.spout_rate[placement.component] > 0
        self.limit = np.where(spout, np.inf, np.inf if limit is None else limit)

        # A window is filled once in a step, so that a step must not be long enough to empty it.
        most_per_s = float(self.share.sum()) * planned.scale
        window = scenario.offered.in_flight
        passes_s = window / most_per_s if window is not None and most_per_s > 0 else np.inf
        self.longest_step_s = min(_LONGEST_STEP_S, passes_s / 10)

    def step(self, now_s: float, step_s: float) -> None:
        """Let so much time pass."""
        arriving = self._arriving(now_s, step_s)
        topologies = len(self.offered)
        self.offered += sum_by(self.topology, arriving, topologies)
        self.queue += arriving
        self.mass += arriving
        speed = self.speed[self.placement.machine]
        able = self._able(step_s, speed)
        before = self.queue.copy()
        inflow, processed = np.zeros_like(self.queue), np.zeros_like(self.queue)
        for component in self.problem.order:
            self._pass_on(component, able, inflow, processed)
        self.inflow = inflow
        self.came += inflow + arriving
        self.done += processed
        self.present_s += (before + self.queue) / 2 * step_s
        self.in_flight_s += sum_by(self.topology, self.mass, topologies) * step_s
        used = sum_by(self.placement.machine, processed * self.cost, len(self.speed))
        self.cpu_points_s += used + self.fixed * (self.speed > 0) * step_s

    def _arriving(self, now_s: float, step_s: float) -> FloatVector:
        """Tuples due at the sources in this step."""
        window = self.scenario.offered.in_flight
        if window is not None:
            free = max(0.0, window - float(self.mass.sum()))
            return free * self.share / self.share.sum()
        at = int(np.searchsorted(self.times_s[0], now_s + step_s / 2, side="right")) - 1
        rate = self.rates[:, at] / self.problem.demand
        return self.share * rate[self.topology] * step_s

    def _able(self, step_s: float, speed: FloatVector) -> FloatVector:
        """Tuples that each instance can process in this step, given what the others need."""
        need = (self.queue + self.inflow) * self.cost / step_s
        demand = np.minimum(need, self.thread * speed)
        granted = share_by_need(demand, self.placement.machine, self.room * self.speed)
        able = np.full(len(need), np.inf)
        np.divide(granted * step_s, self.cost, out=able, where=self.cost > 0)
        return np.where(speed > 0, able, 0.0)

    def _pass_on(
        self, component: int, able: FloatVector, inflow: FloatVector, processed: FloatVector
    ) -> None:
        """A component takes what came, processes what it can and sends on what it may."""
        pipes = [p for p in self.pipes if p.flow.stream.source == component]
        start, stop = self._span(component)
        here = slice(start, stop)
        self.queue[here] += inflow[here]
        done = np.minimum(self.queue[here], able[here])
        sent = [_received(p, done * p.flow.stream.selectivity, self.placement) for p in pipes]
        if self.scenario.when_full is WhenFull.WAIT:
            room = [self._room(p, able) for p in pipes]
            held = [_part_that_fits(s, r) for s, r in zip(sent, room, strict=True)]
            part = min([1.0, *held])
            done, sent = done * part, [s * part for s in sent]
        mass = np.divide(
            self.mass[here] * done, self.queue[here], out=np.zeros(stop - start),
            where=self.queue[here] > 0,
        )  # fmt: skip
        self.queue[here] = np.maximum(self.queue[here] - done, 0.0)
        self.mass[here] = np.maximum(self.mass[here] - mass, 0.0)
        processed[here] = done
        total = sum(float(s.sum()) for s in sent)
        if total <= 0:
            self.completed[self.problem.topology_of[component]] += float(mass.sum())
            return
        for pipe, tuples in zip(pipes, sent, strict=True):
            accepted = np.minimum(tuples, self._room(pipe, able))
            inflow[pipe.targets] += accepted
            self.mass[pipe.targets] += accepted / total * float(mass.sum())
            if self.scenario.when_full is WhenFull.DROP:
                gone = float((tuples - accepted).sum())
                self.lost[pipe.targets] += tuples - accepted
                self.lost_mass[self.problem.topology_of[component]] += (
                    gone / total * float(mass.sum())
                )

    def _room(self, pipe: _Pipe, able: FloatVector) -> FloatVector:
        """What still fits into the targets' queues, with what they process meanwhile."""
        free = self.limit[pipe.targets] - self.queue[pipe.targets]
        return np.maximum(free + np.minimum(able[pipe.targets], self.queue[pipe.targets]), 0.0)

    def _span(self, component: int) -> tuple[int, int]:
        a, b = np.searchsorted(self.placement.component, [component, component + 1])
        return int(a), int(b)

    def take_down(self, machine: int) -> None:
        """What is at a machine's instances is lost, but for what waits at the sources."""
        here = (self.placement.machine == machine) & ~(self.share > 0)
        self.lost[here] += self.queue[here]
        gone = sum_by(self.topology[here], self.mass[here], len(self.lost_mass))
        self.lost_mass += gone
        self.queue[here] = self.mass[here] = 0.0
        self.speed[machine] = 0.0

    def look(self, now_s: float, steps: int) -> CounterSample:
        size = len(self.problem.components)
        component: IntVector = self.placement.component

        def by(values: FloatVector) -> FloatVector:
            return sum_by(component, values, size)

        spout = self.share > 0
        topologies = len(self.offered)
        at_source = sum_by(self.topology[spout], self.queue[spout], topologies)
        live = sum_by(self.topology, self.mass, topologies) - at_source
        none = np.zeros(topologies)
        unit = float(sum_by(self.topology, self.share, topologies).sum())
        part = float(self.done[spout].sum()) / unit if unit else 0.0
        return CounterSample(
            time_s=now_s,
            events=steps,
            components={
                "came": by(self.came),
                "done": by(self.done),
                "lost": by(self.lost),
                "started": by(self.done),
                "waited_s": by(self.present_s),
                "stayed_s": by(self.present_s),
                "present_s": by(self.present_s),
            },
            present=by(self.queue),
            topologies={
                "offered": self.offered.copy(),
                "completed": self.completed.copy(),
                "lost": self.lost_mass.copy(),
                "timed_out": none,
                "replayed": none,
                "late": none,
                "live": live,
                "awaiting_timeout": none,
            },
            latency_s=self.in_flight_s.copy(),
            at_source=at_source,
            cpu_points_s=self.cpu_points_s.copy(),
            hop_tuples=self.hops.tuples * part,
            hop_bytes=self.hops.bytes * part,
            grown_at=_NO_COUNTS,
            grown_by=_NO_COUNTS,
            aged_at=_NO_COUNTS,
            aged_by=_NO_COUNTS,
        )


def run_fluid(
    problem: Problem,
    placement: Placement,
    scenario: Scenario,
    *,
    most_tuples: float = MOST_TUPLES,
    progress: Callable[[float], None] = lambda _seconds: None,
    stop: Callable[[], bool] = lambda: False,
) -> Samples:
    """What happens in a scenario; there is no chance in it, so no seed."""
    scenario = replace(scenario, tuples_per_batch=1)  # a liquid has no tuples to take together
    require_few_steps(scenario)
    require_room_for_samples(problem, scenario, most_tuples=most_tuples)
    fluid = Fluid(problem, placement, scenario)
    longest_s = min(fluid.longest_step_s, scenario.sample_s / _STEPS_PER_LOOK)
    require_short_fluid(scenario, len(placement), longest_s, most_tuples)
    looks_wanted = max(1, round(scenario.duration_s / scenario.sample_s))
    ends = np.linspace(0.0, scenario.duration_s, looks_wanted + 1)
    changes = _changes(fluid)
    looks, steps = [fluid.look(0.0, 0)], 0
    for a, b in pairwise(ends):
        count = max(_STEPS_PER_LOOK, int(np.ceil((b - a) / fluid.longest_step_s)))
        times = np.linspace(a, b, count + 1)
        for now_s, next_s in pairwise(times):
            while changes and changes[0][0] <= now_s:
                changes.pop(0)[1]()
            fluid.step(float(now_s), float(next_s - now_s))
        steps += count
        looks.append(fluid.look(float(b), steps))
        progress(float(b))
        if stop():
            return Samples(problem, scenario, tuple(looks), b < scenario.duration_s)
    return Samples(problem, scenario, tuple(looks), stopped=False)


def _changes(fluid: Fluid) -> list[tuple[float, Callable[[], None]]]:
    actions: list[tuple[float, Callable[[], None]]] = []
    index = fluid.problem.cluster.machine_index

    def set_speed(machine: int, speed: float) -> Callable[[], None]:
        return lambda: fluid.speed.__setitem__(machine, speed)

    for change in fluid.scenario.changes:
        assert isinstance(change, Slow | Down)  # looked at when the model was made
        machine = index[change.machine]
        if isinstance(change, Slow):
            actions.append((change.at_s, set_speed(machine, change.speed)))
        else:
            actions.append((change.at_s, partial(fluid.take_down, machine)))
        if change.until_s is not None:
            actions.append((change.until_s, set_speed(machine, 1.0)))
    return sorted(actions, key=lambda one: one[0])


def _pipes(problem: Problem, placement: Placement) -> list[_Pipe]:
    """Every stream between placed components, in the order of their sources."""
    return [
        _Pipe(
            flow,
            flow.sources,
            flow.targets,
            flow.stream.grouping.is_local,
            divide_evenly(
                problem.components[flow.stream.target], flow.targets.stop - flow.targets.start
            ),
        )
        for flow in propagate(problem, placement).flows
    ]


def _received(pipe: _Pipe, sent: FloatVector, placement: Placement) -> FloatVector:
    """What each target instance gets of what each source instance sends."""
    if not pipe.local:
        return np.asarray(sent.sum() * pipe.flow.division)
    got = np.zeros(len(placement))
    left, _ = serve_locally(placement, pipe.sources, pipe.targets, pipe.weights, sent, got)
    return np.asarray(got[pipe.targets] + left.sum() * pipe.flow.division)


def _part_that_fits(tuples: FloatVector, room: FloatVector) -> float:
    over = tuples > room
    return float((room[over] / tuples[over]).min()) if over.any() else 1.0

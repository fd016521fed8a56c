"""Run the compiled loop over a scenario, with looks at it in between.

Between two looks the loop runs alone; every million events it comes back, so that progress can be
told and Ctrl-C heard. Changes of the scenario happen between two runs of the loop.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.errors import InputError
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.calendar import set_clock
from penstock.simulate.changes import check_changes, moments
from penstock.simulate.generator import exponential, uniform
from penstock.simulate.kernel import NO_ROOM, REACHED, due_after, run_until
from penstock.simulate.network import build_network
from penstock.simulate.offered import offered_rates
from penstock.simulate.samples import CounterSample, Samples
from penstock.simulate.sampling import Carried, look
from penstock.simulate.scenario import Arrivals, Scenario
from penstock.simulate.work import MOST_TUPLES
from penstock.simulate.world import build_world, make_room

_EVENTS_AT_ONCE = 1_000_000
#: Saturated sources: tuples that wait at the slowest spout before the others wait for it.
_AT_SOURCE = 20


def run(
    problem: Problem,
    placement: Placement,
    scenario: Scenario,
    seed: int | np.random.SeedSequence = 0,
    *,
    most_tuples: float = MOST_TUPLES,
    progress: Callable[[float], None] = lambda _seconds: None,
    stop: Callable[[], bool] = lambda: False,
) -> Samples:
    """What happened, at every look; ends early, with what there is, when asked to stop."""
    engine = SimulationEngine(problem, placement, scenario, seed, most_tuples)
    looks: list[CounterSample] = [look(engine.world, engine.carried)]
    stopped = False
    for moment in moments(problem, scenario):
        while not stopped and not engine.advance(moment.at_s):
            progress(engine.now_s)
            stopped = stop()
        if stopped:
            break
        if moment.act is None:
            looks.append(look(engine.world, engine.carried))
            progress(engine.now_s)
            stopped = stop()
        else:
            engine.carried.pay_fixed(engine.now_s, engine.world.machines["up"])
            moment.act(engine)
    ended = len(looks) - 1 < round(scenario.duration_s / scenario.sample_s)
    return Samples(problem, scenario, tuple(looks), stopped and ended)


class SimulationEngine:
    """The world of one run and what is needed to change it."""

    def __init__(
        self,
        problem: Problem,
        placement: Placement,
        scenario: Scenario,
        seed: int | np.random.SeedSequence,
        most_tuples: float = MOST_TUPLES,
    ) -> None:
        if not len(placement):
            raise InputError("the plan places nothing, so there is nothing to simulate")
        check_changes(problem, scenario)
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        states, structure, self._later = root.spawn(3)
        self.problem, self.placement, self.scenario = problem, placement, scenario
        self.most_tuples = most_tuples
        self.rng = np.random.default_rng(structure)
        network = build_network(problem, placement, scenario, self.rng)
        if scenario.offered.in_flight is not None and not np.isfinite(network.capacity.scale):
            raise InputError("nothing limits this plan, so that more and more goes through")
        rates = offered_rates(problem, network.capacity.scale, scenario)
        self.world = build_world(problem, network, scenario, rates, states)
        self.carried = Carried.nothing(len(problem.components), network.capacity.machine_fixed)
        self.start_sources()

    @property
    def now_s(self) -> float:
        return float(self.world.record["now_s"])

    def advance(self, until_s: float, most_events: int = _EVENTS_AT_ONCE) -> bool:
        """Go on until that time; False if there is more to do than fits into one go."""
        while (why := run_until(self.world.record, until_s, most_events)) == NO_ROOM:
            make_room(self.world, self.most_tuples)
        return bool(why == REACHED)

    def next_seed(self) -> np.random.SeedSequence:
        """For whatever starts anew in the middle."""
        return self._later.spawn(1)[0]

    def start_sources(self, *, refill: bool = True) -> None:
        """Set the clocks of the sources, or fill the window of saturated ones."""
        world, window = self.world, self.scenario.offered.in_flight
        record = world.record
        if window is not None and not refill:
            return
        if window is not None:
            record["window"] = record["owed"] = max(1, window // self.scenario.tuples_per_batch)
            record["most_at_source"] = _AT_SOURCE
            record["may_deal"] = 1
            return
        even = self.scenario.offered.arrivals is Arrivals.EVEN
        for k, row in enumerate(world.sources["generator"].tolist()):
            first = uniform(record, row) if even else exponential(record, row)
            set_clock(record, len(world.machines) + k, due_after(record, k, self.now_s, first))

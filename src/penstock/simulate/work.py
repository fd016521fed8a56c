"""How much a simulation has to do, before it starts: tuples handled, tuples there at one time.

An upper estimate: what is offered, at most what each machine's CPU can handle of it. Without it a
rate that was mistyped fills the memory or runs for days.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import TooMuchWorkError
from penstock.evaluate.capacity import Capacity, capacity
from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.offered import offered_rates
from penstock.simulate.patterns import most_steps
from penstock.simulate.scenario import Scenario

#: Tuples that all components together handle in all runs: some twenty minutes of work.
MOST_TUPLES = 1e9
#: Of those, at most one in so many may be there at one time: half a gigabyte of them.
_AT_ONE_TIME = 250
#: Bytes of memory: of a tuple that is there, and of a sample with what it says of each machine and
#: component.
_PER_TUPLE = 125
_PER_SAMPLE, _PER_MACHINE, _PER_COMPONENT = 4500, 8, 90
#: Steps of a pattern of arrivals, for each topology.
_MOST_STEPS = 1_000_000
#: The fluid model: what a step costs, in tuples of the engine, whatever its size, and per instance.
_PER_STEP, _PER_FLUID_INSTANCE = 400.0, 0.5


@dataclass(frozen=True, slots=True)
class SimulationWork:
    """What simulating a placement once takes."""

    tuples: float
    #: Tuples in queues, on their way, or put out by one thread at one time.
    at_one_time: float

    @classmethod
    def of(cls, problem: Problem, placement: Placement, scenario: Scenario) -> SimulationWork:
        """Of the engine."""
        judged = capacity(problem, placement)
        batch = scenario.tuples_per_batch
        arriving, seconds = _arriving(problem, placement, scenario, judged), scenario.duration_s
        handled = np.minimum(arriving, _most_handled(problem, placement))
        spout = problem.spout_rate[placement.component] > 0
        # A source makes what is offered, whether or not anyone takes it.
        offered, processed = float(arriving[spout].sum()), float(handled[spout].sum())
        waiting = (offered - processed) * seconds
        window = scenario.offered.in_flight or 0
        return cls(
            tuples=(float(handled.sum()) + offered - processed) * seconds / batch,
            at_one_time=max(waiting, window) / batch + _most_put_out(problem, placement),
        )


def require_affordable(
    problem: Problem,
    placement: Placement,
    scenario: Scenario,
    *,
    runs: int = 1,
    most_tuples: float = MOST_TUPLES,
) -> None:
    """Refuse a simulation that would take too long or too much memory, with what would help."""
    require_few_steps(scenario)
    require_room_for_samples(problem, scenario, runs=runs, most_tuples=most_tuples)
    work = SimulationWork.of(problem, placement, scenario)
    if work.tuples * runs > most_tuples:
        raise TooMuchWorkError(
            f"about {work.tuples * runs:.2g} tuples to handle, at most {most_tuples:.2g} are "
            "simulated: offer less or for less long (--offered, --load, --duration), let several "
            "travel as one (tuples_per_batch in the scenario), take the fluid model (--fluid), or "
            f"allow so many (--max-tuples {_rounded_up(work.tuples * runs)})"
        )
    require_room(work.at_one_time, most_tuples)


def require_room(tuples: float, most_tuples: float) -> None:
    """Refuse queues, or what comes of one tuple, that would fill the memory."""
    if tuples > most_tuples / _AT_ONE_TIME:
        raise _too_many_at_one_time(tuples, most_tuples)


def require_room_for_samples(
    problem: Problem, scenario: Scenario, *, runs: int = 1, most_tuples: float = MOST_TUPLES
) -> None:
    """Refuse more results over time, of all runs together, than the memory is meant for."""
    samples = runs * max(1.0, scenario.duration_s / scenario.sample_s)
    each = _PER_SAMPLE + _PER_MACHINE * len(problem.cluster.machines)
    taken = samples * (each + _PER_COMPONENT * len(problem.components))
    # Who allows few tuples has said nothing of samples.
    if taken > max(most_tuples, MOST_TUPLES) / _AT_ONE_TIME * _PER_TUPLE:
        raise TooMuchWorkError(
            f"{samples:.2g} samples over time, of all runs together, would take some "
            f"{taken / 1e6:,.0f} MB of memory: choose fewer --runs, a longer sample_s in the "
            "scenario, a shorter --duration, or allow so much (--max-tuples "
            f"{_rounded_up(taken / _PER_TUPLE * _AT_ONE_TIME)})"
        )


def _too_many_at_one_time(tuples: float, most_tuples: float) -> TooMuchWorkError:
    return TooMuchWorkError(
        f"about {tuples:.2g} tuples would be in the simulator at once, at most "
        f"{most_tuples / _AT_ONE_TIME:.2g} are simulated: offer less, keep fewer in queues "
        "(queue_limit, max_spout_pending in the scenario), check the selectivities, let several "
        "travel as one (tuples_per_batch), take the fluid model (--fluid), or allow so many "
        f"(--max-tuples {_rounded_up(tuples * _AT_ONE_TIME)})"
    )


def require_short_fluid(
    scenario: Scenario, instances: int, step_s: float, most_tuples: float = MOST_TUPLES
) -> None:
    """The same for the fluid model, whose work is its steps."""
    steps = scenario.duration_s / step_s
    cost = steps * (_PER_STEP + _PER_FLUID_INSTANCE * instances)
    if cost > most_tuples:
        raise TooMuchWorkError(
            f"the fluid model would make {steps:.2g} steps, as much work as {cost:.2g} tuples; at "
            f"most {most_tuples:.2g} are simulated: for less long (--duration), or allow so many "
            f"(--max-tuples {_rounded_up(cost)})"
        )


def require_few_steps(scenario: Scenario) -> None:
    """Refuse a pattern in so many pieces that they alone fill the memory."""
    steps = most_steps(scenario.offered.pattern, scenario.duration_s)
    if steps > _MOST_STEPS:
        raise TooMuchWorkError(
            f"the offered rate would change {steps:.2g} times, more than the {_MOST_STEPS:,} that "
            "are simulated: choose a longer period, or a shorter --duration"
        )


def _arriving(
    problem: Problem, placement: Placement, scenario: Scenario, judged: Capacity
) -> FloatVector:
    """Tuples/s on average at each instance, if all that is offered got through, (instances,)."""
    if scenario.offered.in_flight is not None:
        # As much as goes through.
        return np.asarray(judged.rates.per_instance * (judged.scale or 0.0))
    times, rates = offered_rates(problem, judged.scale, scenario)
    ends = np.minimum(np.append(times[0, 1:-1], scenario.duration_s), scenario.duration_s)
    lasts = np.maximum(ends - np.minimum(times[0, :-1], scenario.duration_s), 0.0)
    offered = rates @ lasts * scenario.tuples_per_batch / scenario.duration_s
    scale = offered / problem.demand
    return np.asarray(judged.rates.per_instance * scale[problem.topology_of[placement.component]])


def _most_handled(problem: Problem, placement: Placement) -> FloatVector:
    """Tuples/s that each instance can handle if it has the machine's CPU alone, (instances,)."""
    kind = problem.cluster.type_of[placement.machine]
    e = problem.e[placement.component, kind]
    points = problem.thread_points[placement.component, kind]
    return np.divide(points, e, out=np.full(len(placement), np.inf), where=e > 0)


def _most_put_out(problem: Problem, placement: Placement) -> float:
    """Tuples that come of one at once, at the component where that is most."""
    counts = placement.counts(len(problem.components)).tolist()
    out = [0.0] * len(counts)
    for stream in problem.streams:
        copies = problem.copies(stream, counts[stream.target])
        out[stream.source] += float(np.ceil(stream.selectivity)) * copies
    return 2.0 * max(out)


def _rounded_up(number: float) -> str:
    """The number with one digit, as it is typed."""
    digits = int(np.floor(np.log10(number)))
    first = int(np.ceil(number / 10.0**digits))
    return f"{first}e{digits}" if first < 10 else f"1e{digits + 1}"

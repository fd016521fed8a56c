"""What the last instances of a component with a hot key bring: ever less, at the full overhead.

Where the instance with the hottest key limits a plan, more instances take only other keys off it.
Its part of the input falls towards that of the hottest key alone, so half of the instances may
carry nearly as much. The highest rate is what was asked for; the note says what it costs.
"""

from __future__ import annotations

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.capacity import Resource
from penstock.evaluate.division import divide_stream
from penstock.evaluate.hot_keys import HottestKey
from penstock.model.problem import Problem
from penstock.planning.numbers import percent

#: The instances that carry these parts of the rate are named.
_PARTS_OF_RATE = (0.95, 0.9)
#: Not worth a note where more than this part of the instances is needed for the first.
_WORTH_SAYING = 0.5


def note_on_hot_key_counts(judged: Assessment, key: HottestKey) -> tuple[str, ...]:
    """How many instances would do for nearly the same rate, where that is far fewer."""
    problem, c, limit = judged.problem, key.component, judged.capacity.limit
    if limit.resource is not Resource.THREAD_CPU or judged.placement.component[limit.index] != c:
        return ()
    if problem.components[c].tasks is not None:
        return ()  # keys are dealt to tasks, whose number stays
    instances = int(judged.placement.counts(len(problem.components))[c])
    part = _largest_part(problem, c, instances)
    fewer = [_least_instances(problem, c, instances, part / rate) for rate in _PARTS_OF_RATE]
    if fewer[0] > _WORTH_SAYING * instances:
        return ()
    would = " and ".join(
        f"about {count:,} would carry {percent(rate, 0)}"
        for count, rate in zip(fewer, _PARTS_OF_RATE, strict=True)
    )
    label = problem.labels[c]
    note = f"{label} has {instances:,} instances for its hottest key: {would} of this rate"
    return (f"{note} (max_instances in the topology)",)


def _largest_part(problem: Problem, c: int, instances: int) -> float:
    """The largest part of a component's input that goes to one of so many instances."""
    even = np.full(instances, np.nan)  # no shares
    component = problem.components[c]
    flows = np.zeros(instances)
    for stream in problem.streams:
        if stream.target == c:
            flow = problem.visits[stream.source] * stream.selectivity
            flows += flow * divide_stream(stream, component, even)
    return float(flows.max())


def _least_instances(problem: Problem, c: int, most: int, part: float) -> int:
    """By bisection: the part falls with the number of instances, but for the luck of the hash."""
    few = 0
    while most - few > max(1, most // 50):
        middle = (few + most) // 2
        if _largest_part(problem, c, middle) > part:
            few = middle
        else:
            most = middle
    return most

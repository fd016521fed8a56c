"""Who gets how much when not all demands can be met: topologies of higher priority first.

A plan scales all demands alike. Where the machines do not carry them all, the demands of the least
important topologies are cut until the others are carried in full: a weight for each topology, found
by bisection on the upper bound's linear programme, and then tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.evaluate.bound import upper_bound
from penstock.model.problem import Problem

#: What remains of a demand that gets nothing: its topology runs, and tuples trickle.
_TRICKLE = 1e-3
_HALVINGS = 12
#: Plans tried, each for a little less than the one before.
_TRIES = 5
_STEP = 0.98
#: A plan that carries this many times the demands leaves too much to those that come first.
_MUCH_MORE = 1.05


def has_priorities(problem: Problem) -> bool:
    """Whether some topologies' demands come before others'."""
    declared = all(t.demand_per_s is not None for t in problem.topologies)
    # A rate that was asked for takes the place of the demands.
    return (
        declared
        and problem.scale_asked is None
        and len({t.priority for t in problem.topologies}) > 1
    )


def by_priority(
    problem: Problem, reached: float, scale_of: Callable[[Problem], float]
) -> Problem | None:
    """The problem with the weights that priorities give, if less than all demands is carried.

    ``reached`` is the scale of its plan without weights, ``scale_of`` plans a problem.
    """
    if not has_priorities(problem) or reached >= 1.0:
        return None
    bound = upper_bound(problem).scale
    if not 0 < bound < float("inf"):
        return None
    likely = reached / bound
    classes = sorted({t.priority for t in problem.topologies})
    # The first class from which on demands must be cut, and by how much.
    cut = len(classes) - 1
    while cut and upper_bound(_weighed(problem, classes, cut, _TRICKLE)).scale * likely < 1.0:
        cut -= 1
    part = _largest_part(problem, classes, cut, likely)
    weighed = _weighed(problem, classes, cut, part)
    best: Problem | None = None
    for _ in range(_TRIES):
        scale = scale_of(weighed)
        if scale >= 1.0:
            best = weighed
            if scale < _MUCH_MORE or part >= 1.0:
                break
            # More was possible than was likely: the class that is cut gets it.
            part = min(1.0, part * scale**2)
        elif best is not None:
            break
        else:
            part *= min(_STEP, scale)
        weighed = _weighed(problem, classes, cut, part)
    return best or weighed


def _largest_part(problem: Problem, classes: list[int], cut: int, likely: float) -> float:
    low, high = _TRICKLE, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        carried = upper_bound(_weighed(problem, classes, cut, middle)).scale * likely >= 1.0
        low, high = (middle, high) if carried else (low, middle)
    return low


def _weighed(problem: Problem, classes: list[int], cut: int, part: float) -> Problem:
    """Full demands before class ``cut``, ``part`` of them there, a trickle after it."""
    asked = dict(problem.terms.weights)
    weights = []
    for topology in problem.topologies:
        place = classes.index(topology.priority)
        given = 1.0 if place < cut else part if place == cut else _TRICKLE
        weights.append((topology.name, asked.get(topology.name, 1.0) * given))
    return replace(problem, terms=replace(problem.terms, weights=tuple(weights)))

"""Random plans of random problems, and what their contingencies promise wrongly.

All groupings, several topologies, workers shared and not, memory, heaps, shares, terms and keyed
streams; plans of schedulers and plans made by chance, with and without rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from penstock import app
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock.model.terms import Held, Least, Terms
from penstock.model.topology import Topology
from penstock.planning.contingencies.by_requests import contingencies_by_requests
from penstock.planning.contingencies.same_counts import contingencies_same_counts
from penstock.planning.contingencies.with_rates import contingencies
from penstock.schedulers import Budget
from penstock_bench.contract.contingencies import faults_of
from penstock_bench.contract.random_problems import FEATURES, Dice, random_placement, random_problem

_SCHEDULERS = ("penstock", "penstock", "hetero", "default", "rstorm")
_ITERATIONS = 3
#: More kinds of lost machines than a random problem has machines.
_ALL_KINDS = 100


@dataclass(frozen=True)
class RandomPlan:
    """A plan, and the contingencies of one kind that were worked out for it."""

    problem: Problem
    placement: Placement
    losses: tuple[Contingency, ...]
    same_counts: bool

    @property
    def faults(self) -> list[str]:
        return [
            fault
            for loss in self.losses
            for fault in faults_of(self.problem, self.placement, loss, same_counts=self.same_counts)
        ]


def contingency_faults(problems: int, seed: int) -> list[str]:
    """What is wrong with the contingencies of so many random problems; each names its problem.

    ``random_plans(number)`` makes the plans of the problem with that number again.
    """
    return [
        f"problem {number}: {fault}"
        for number in range(seed, seed + problems)
        for fault in _faults_of_problem(number)
    ]


def _faults_of_problem(number: int) -> list[str]:
    try:
        return [fault for plan in random_plans(number) for fault in plan.faults]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def random_plans(number: int) -> Iterator[RandomPlan]:
    """A random problem's plan with its contingencies of every kind; the same for one number."""
    random = Random(number)
    dice = Dice(
        random.randrange(2**32),
        frozenset(name for name in FEATURES if random.random() < 0.5),
        most_topologies=random.randint(1, 3),
        most_components=random.randint(1, 5),
        most_types=random.randint(1, 3),
        most_machines=random.randint(2, 7),
    )
    problem = _with_heaps(dice, random_problem(dice))
    if random.random() < 0.1:
        yield from _by_requests(dice, problem)
        return
    problem, placement = _plan(dice, replace(problem, weighted=random.random() < 0.4), number)
    if placement is None:
        return
    lost = contingencies(problem, placement, Budget(), _ALL_KINDS)
    yield RandomPlan(problem, placement, lost, same_counts=False)
    same = contingencies_same_counts(problem, placement, Budget())
    yield RandomPlan(problem, placement, same, same_counts=True)


def _plan(dice: Dice, problem: Problem, seed: int) -> tuple[Problem, Placement | None]:
    """A plan by chance, or a scheduler's, under terms that it mostly keeps."""
    if dice.random.random() < 0.5:
        placement = random_placement(dice, problem)
        problem = replace(problem, weighted=problem.weighted or placement.has_shares)
        return _with_terms(dice, problem, placement), placement
    if dice.random.random() < 0.5:
        problem = _with_terms(dice, problem, random_placement(dice, problem))
    planned = app.plan(
        problem,
        dice.random.choice(_SCHEDULERS),
        seed=seed,
        counts_from="hetero",
        budget=lambda: Budget(iterations=_ITERATIONS),
    )
    if planned.plan is None:
        return problem, None
    return planned.plan.problem, planned.plan.placement


def _with_terms(dice: Dice, problem: Problem, placement: Placement) -> Problem:
    """Terms that the placement keeps: machines it does not use, pairs it holds apart."""
    random, names = dice.random, [machine.name for machine in problem.cluster.machines]
    used = {names[m] for m in placement.machine.tolist()}
    pairs = zip(placement.component.tolist(), placement.machine.tolist(), strict=True)
    held = sorted({(problem.labels[c], names[m]) for c, m in pairs})
    apart = [
        (a, b)
        for a in problem.labels
        for b in problem.labels
        if a < b and not {m for c, m in held if c == a} & {m for c, m in held if c == b}
    ]
    idle = [name for name in names if name not in used]
    terms = Terms(
        least=(random.choice(list(Least)),) if random.random() < 0.2 else (),
        avoid=tuple(name for name in idle if random.random() < 0.3),
        apart=tuple(pair for pair in apart if random.random() < 0.3)[:2],
        fixed=tuple(Held(*one) for one in held if random.random() < 0.1),
        weights=tuple((t.name, 0.5) for t in problem.topologies if random.random() < 0.2),
    )
    return problem.with_terms(terms)


def _by_requests(dice: Dice, problem: Problem) -> Iterator[RandomPlan]:
    asked = tuple(
        replace(
            topology,
            components=tuple(
                replace(c, cpu_points=dice.number(0, 50)) for c in topology.components
            ),
        )
        for topology in problem.topologies
    )
    problem = replace(problem, topologies=asked, profile=None)
    placement = random_placement(dice, problem)
    used = {problem.cluster.machines[m].name for m in placement.machine.tolist()}
    idle = [m.name for m in problem.cluster.machines if m.name not in used]
    problem = problem.with_terms(Terms(avoid=tuple(idle[:1])))
    lost = contingencies_by_requests(problem, placement)
    yield RandomPlan(problem, placement, lost, same_counts=True)


def _with_heaps(dice: Dice, problem: Problem) -> Problem:
    topologies = tuple(_with_heap(dice, topology) for topology in problem.topologies)
    return replace(problem, topologies=topologies)


def _with_heap(dice: Dice, topology: Topology) -> Topology:
    return replace(topology, worker_max_heap_mb=dice.maybe("memory", 400.0, None))

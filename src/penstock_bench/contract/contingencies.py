"""What a contingency promises, held against what its moves do.

The moves are carried out one by one, by instance number, as an engine does. What comes out is
judged by :mod:`.reference` and by plain loops over instances: nothing here is code that schedulers
or ``penstock.evaluate`` use themselves.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock_bench.contract.checks import slot_errors
from penstock_bench.contract.pairs import memory_mb
from penstock_bench.contract.reference import Reference

#: A promise may differ from the truth by this part: sums in another order.
_ROUNDING = 1e-7
_DUST = 1e-6


@dataclass
class _Place:
    """Where one instance runs; ``number`` is its number in the plan, -1 for one that starts."""

    component: str
    number: int
    machine: str
    slot: int
    share: float


def faults_of(
    problem: Problem, placement: Placement, loss: Contingency, *, same_counts: bool = False
) -> list[str]:
    """What is wrong with a contingency of a plan, empty where nothing is.

    A limit that the plan itself breaks may stay broken, as long as no rate is promised. With
    ``same_counts`` no instance may start or end.
    """
    faults = list(_word_faults(problem, placement, loss))
    if same_counts and (loss.added or loss.dropped):
        faults.append("instances start or end")
    if faults or _gives_up(problem, loss):
        return _told(loss, faults)
    after = carried_out(problem, placement, loss)
    if len(after) == 0:
        return _told(loss, ["no instance is left, and a rate is promised"])
    faults += _illegal(problem, placement, after, loss)
    if problem.has_rates:
        faults += _rate_faults(problem, after, loss)
    return _told(loss, faults)


def carried_out(problem: Problem, placement: Placement, loss: Contingency) -> Placement:
    """The plan after the moves, instance by instance; those that start come last."""
    places = _places(problem, placement)
    by_number = {(p.component, p.number): p for p in places}
    for component, number, machine, slot in loss.moves:
        by_number[component, number].machine = machine
        by_number[component, number].slot = slot
    ended = set(loss.dropped)
    left = [p for p in places if (p.component, p.number) not in ended]
    left += [_Place(c, -1, machine, slot, math.nan) for c, machine, slot in loss.added]
    for component, shares in loss.shares:
        own = [p for p in left if p.component == component]
        for place, share in zip(own, shares, strict=True):
            place.share = share
    index = {label: c for c, label in enumerate(problem.labels)}
    machines = {machine.name: m for m, machine in enumerate(problem.cluster.machines)}
    return Placement.of(
        [index[p.component] for p in left],
        [machines[p.machine] for p in left],
        [p.slot for p in left],
        [p.share for p in left],
    )


def _told(loss: Contingency, faults: list[str]) -> list[str]:
    return [f"without {loss.machine}: {fault}" for fault in faults]


def _gives_up(problem: Problem, loss: Contingency) -> bool:
    """Whether it says that no plan was found, which promises nothing."""
    return problem.has_rates and loss.rate_left_per_s == 0.0 and not _changes(loss)


def _changes(loss: Contingency) -> bool:
    return bool(loss.moves or loss.added or loss.dropped)


def _places(problem: Problem, placement: Placement) -> list[_Place]:
    """Every instance of the plan by name, numbered within its component."""
    number: Counter[str] = Counter()
    places = []
    for c, m, slot, share in zip(
        placement.component.tolist(),
        placement.machine.tolist(),
        placement.slot.tolist(),
        placement.share.tolist(),
        strict=True,
    ):
        label = problem.labels[c]
        machine = problem.cluster.machines[m].name
        places.append(_Place(label, number[label], machine, slot, share))
        number[label] += 1
    return places


# -- words: names, numbers, each instance once ----------------------------------------------------


def _word_faults(problem: Problem, placement: Placement, loss: Contingency) -> Iterator[str]:
    places = _places(problem, placement)
    known = {(p.component, p.number) for p in places}
    machines = {machine.name for machine in problem.cluster.machines}
    named = [(component, number) for component, number, _, _ in loss.moves] + list(loss.dropped)
    yield from (f"there is no {c}[{n}]" for c, n in named if (c, n) not in known)
    repeated = [one for one, times in Counter(named).items() if times > 1]
    yield from (f"{c}[{n}] is moved or ends twice" for c, n in repeated)
    targets = [machine for _, _, machine, _ in loss.moves] + [m for _, m, _ in loss.added]
    yield from (f"there is no machine {name}" for name in targets if name not in machines)
    yield from (
        f"an instance of {c} starts, and there is no {c}"
        for c, _, _ in loss.added
        if c not in problem.labels
    )
    yield from _share_word_faults(problem, places, loss)
    if problem.has_rates and not _gives_up(problem, loss):
        gone = {(p.component, p.number) for p in places if p.machine == loss.machine}
        yield from (f"{c}[{n}] stays on it" for c, n in sorted(gone - set(named)))


def _share_word_faults(problem: Problem, places: list[_Place], loss: Contingency) -> Iterator[str]:
    shares = dict(loss.shares)
    if len(shares) < len(loss.shares):
        yield "a component's shares are given twice"
    if shares and not problem.weighted:
        yield "shares are given, and the problem allows none"
    changed = Counter(c for c, _, _ in loss.added) - Counter()
    left = Counter(p.component for p in places) + changed - Counter(c for c, _ in loss.dropped)
    for component, values in shares.items():
        if len(values) != left[component]:
            yield f"{len(values)} shares for {left[component]} instances of {component}"
        elif not math.isclose(sum(values), 1.0, rel_tol=_ROUNDING) or min(values) < 0:
            yield f"shares of {component} are not parts of a whole"
    weighed = {p.component for p in places if not math.isnan(p.share)}
    touched = {*changed, *(c for c, _ in loss.dropped)}
    yield from (
        f"instances of {c} start or end, and its shares are not said"
        for c in sorted(weighed & touched - set(shares))
    )


# -- limits ---------------------------------------------------------------------------------------


def _illegal(problem: Problem, before: Placement, after: Placement, loss: Contingency) -> list[str]:
    """Limits that are broken afterwards; where no rate is promised, those that were not before."""
    broken = set(_broken(problem, after, loss.machine))
    if problem.has_rates and not broken and loss.rate_left_per_s == 0.0:
        return [*_closed(problem, before, after, loss), *_too_little(problem, after)]
    if not loss.rate_left_per_s:
        broken -= set(_broken(problem, before, loss.machine))
    return sorted(broken) + _closed(problem, before, after, loss)


def _too_little(problem: Problem, after: Placement) -> list[str]:
    """No rate is promised though no limit is broken and something is carried."""
    true = Reference(problem, after).scale
    return [f"0/s promised, scale {true:.6g} carried"] if true > 0 else []


def _broken(problem: Problem, placement: Placement, lost: str) -> Iterator[str]:
    reference = Reference(problem, placement)
    yield from slot_errors(problem, placement)
    yield from (f"{name} has too little memory" for name in reference.machines_over_memory())
    yield from (f"{name} lacks a resource" for name in reference.machines_over_resources())
    yield from _heap_faults(problem, reference)
    yield from _count_faults(problem, placement)
    yield from _term_faults(problem, placement, lost)


def _heap_faults(problem: Problem, reference: Reference) -> Iterator[str]:
    heap: dict[tuple[str, int], float] = defaultdict(float)
    most: dict[tuple[str, int], float] = {}
    for i in reference.instances:
        heap[i.worker] += max(0.0, memory_mb(problem, i) - i.component.offheap_mb)
        if i.topology.worker_max_heap_mb is not None:
            most[i.worker] = min(most.get(i.worker, math.inf), i.topology.worker_max_heap_mb)
    for worker, mb in most.items():
        if heap[worker] > mb + _DUST:
            yield f"{worker[0]} slot {worker[1]} has too little heap"


def _count_faults(problem: Problem, placement: Placement) -> Iterator[str]:
    counts = Counter(placement.component.tolist())
    first = 0
    for topology in problem.topologies:
        own = range(first, first + len(topology.components))
        first += len(topology.components)
        placed = any(counts[c] for c in own)
        for c, component in zip(own, topology.components, strict=True):
            if placed and not counts[c]:
                yield f"no instance of {problem.labels[c]} is left"
            for most in (component.max_instances, component.tasks):
                if most is not None and counts[c] > most:
                    yield f"{counts[c]} instances of {problem.labels[c]}, at most {most}"


def _term_faults(problem: Problem, placement: Placement, lost: str) -> Iterator[str]:
    held = Counter((p.component, p.machine) for p in _places(problem, placement))
    used = {machine for _, machine in held}
    yield from (f"{name} is to be avoided" for name in problem.terms.avoid if name in used)
    for a, b in problem.terms.apart:
        for name in used:
            of_a, of_b = held[a, name], held[b, name]
            if of_a > 1 if a == b else of_a and of_b:
                yield f"{a} and {b} are together on {name}"
    needed: Counter[tuple[str, str]] = Counter()
    for fixed in problem.terms.fixed:
        needed[fixed.component, fixed.machine] = max(
            needed[fixed.component, fixed.machine], fixed.instances
        )
    for (component, machine), instances in needed.items():
        if machine != lost and held[component, machine] < instances:
            yield f"{held[component, machine]} of {instances} {component} fixed on {machine}"


def _closed(problem: Problem, before: Placement, after: Placement, loss: Contingency) -> list[str]:
    """Machines that must not be used: the lost one, those to avoid, those that are off."""
    names = [machine.name for machine in problem.cluster.machines]
    used_before = {names[m] for m in before.machine.tolist()}
    used = {names[m] for m in after.machine.tolist()}
    faults = []
    if problem.has_rates and loss.machine in used:
        faults.append("the lost machine is used")
    if problem.terms.leaves_idle_off:
        faults += [f"{name} is off" for name in sorted(used - used_before)]
    targets = {m for _, _, m, _ in loss.moves} | {m for _, m, _ in loss.added}
    if loss.machine in targets:
        faults.append("something goes to the lost machine")
    return faults


# -- the rate -------------------------------------------------------------------------------------


def _rate_faults(problem: Problem, after: Placement, loss: Contingency) -> list[str]:
    """A promise that is not what the machines then carry."""
    reference = Reference(problem, after)
    placed = {instance.topology.name for instance in reference.instances}
    demand = sum(reference.demand(t) for t in problem.topologies if t.name in placed)
    true, promised = reference.scale * demand, loss.rate_left_per_s
    if promised is None:
        return [] if math.isinf(true) else [f"no rate is promised, {true:,.6g}/s is carried"]
    # Where nothing is promised, :func:`_illegal` asks why.
    if promised == 0.0 or math.isclose(promised, true, rel_tol=_ROUNDING):
        return []
    return [f"{promised:,.6g}/s promised, {true:,.6g}/s carried"]

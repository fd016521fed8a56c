"""A certificate for a plan: the search for its proof, written down step by step."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InputError
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.pattern_bound.box_proof import REFUTED
from penstock.evaluate.pattern_bound.boxes import BoxNode
from penstock.evaluate.pattern_bound.fluid import FluidBox
from penstock.evaluate.pattern_bound.relaxed import RelaxedProblem
from penstock.model.arrays import FloatVector
from penstock.model.certificate import Certificate, ProofStep, Refutation
from penstock.model.plan import Plan
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import (
    AggregateProblem,
    MachineGroups,
    placement_of_groups,
)
from penstock.schedulers.penstock.proof import ProofSearch

#: Halvings that find what points of CPU alone prove.
_HALVINGS = 60


@dataclass(frozen=True)
class Certification:
    """A certificate, and what came to light on the way to it."""

    certificate: Certificate
    #: What the plan carries, and the best plan that the proof came across.
    scale: float
    best_scale: float
    #: Boxes looked at.
    rounds: int


def certify(plan: Plan, effort: float, budget: Budget) -> Certification:
    """Prove what no plan for this plan's problem can exceed."""
    problem = plan.problem
    if not problem.has_rates:
        raise InputError("a certificate is about rates, and this plan has none: plan with costs")
    if plan.not_placed:
        left_out = ", ".join(plan.not_placed)
        raise InputError(f"a certificate is for plans of all topologies; not placed: {left_out}")
    scale = capacity(problem, plan.placement).scale
    bound = upper_bound(problem).scale
    if not 0 < scale <= bound < float("inf"):
        raise InputError(f"nothing can be proven of a plan that carries {scale:g} of {bound:g}")
    relaxed = RelaxedProblem.of(problem)
    start, prices = _by_points(relaxed, scale, 4.0 * bound)
    best = scale
    aggregate = AggregateProblem.of(problem, start)

    def offer(groups: MachineGroups) -> float:
        nonlocal best
        best = max(best, capacity(problem, placement_of_groups(aggregate, groups)).scale)
        return best

    search = ProofSearch(aggregate, start, scale, None, offer)
    root = search.boxes.root
    root.refutation, root.refuted_at, root.proof = Refutation.POINTS, start, prices
    search.run(effort, budget)
    proven = search.bound
    certificate = Certificate(plan, proven, tuple(_steps(root, proven)))
    return Certification(certificate, scale, best, int(search.boxes.rounds))


def _by_points(
    relaxed: RelaxedProblem, below: float, above: float
) -> tuple[float, FloatVector | None]:
    """The least scale that points of CPU refute for all counts, and the prices that do."""
    box = relaxed.whole_box()
    proof: FloatVector | None = None
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        fluid = FluidBox(relaxed, box, middle)
        prices = fluid.prices()
        if fluid.value(prices) < REFUTED:
            above, proof = middle, prices
        else:
            below = middle
    return above, proof


def _steps(root: BoxNode, proven: float) -> list[ProofStep]:
    """The boxes as a list, each split one before its parts; iteratively, for trees are deep."""
    steps: list[ProofStep] = []
    #: Boxes still to be written, with the split that they are the upper part of.
    waiting: list[tuple[BoxNode, int | None]] = [(root, None)]
    while waiting:
        node, split = waiting.pop()
        if split is not None:
            component, at = steps[split].component, steps[split].at
            steps[split] = ProofStep(component, at, above=len(steps))
        if node.refuted_at <= proven:
            prices = () if node.proof is None else tuple(float(p) for p in node.proof)
            steps.append(ProofStep(by=node.refutation, prices=prices))
            continue
        assert node.split is not None
        below, above = node.parts
        waiting.append((above, len(steps)))
        waiting.append((below, None))
        steps.append(ProofStep(node.split[0], int(node.split[1])))
    return steps

"""The search for a proof: boxes of instance counts, refuted or split, the loosest first."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.evaluate.pattern_bound.box_proof import REFUTED, prove, where_to_split
from penstock.evaluate.pattern_bound.fillings import Fillings, list_fillings
from penstock.evaluate.pattern_bound.fluid import FluidBox
from penstock.evaluate.pattern_bound.packing import pack_counts, packing_effort
from penstock.evaluate.pattern_bound.relaxed import CountBox, RelaxedProblem
from penstock.model.arrays import FloatVector, IntMatrix
from penstock.model.certificate import Refutation

#: More fillings than this are not listed; a box with more of them is split.
_MOST_FILLINGS = 3000
#: Fillings that take about as long to price as all else that is done with a box.
_FILLINGS_PER_ROUND = 500
#: Cells of a programme by points of CPU that make a round.
_CELLS_PER_ROUND = 1e3
#: Halvings of the range of scales that counts may still carry.
_HALVINGS = 25
#: Packings that take more work than this are not tried, and how much makes a round.
_MOST_PACKING, _PACKING_PER_ROUND = 1e6, 2e3
#: Counts above this are not told apart.
_MOST_COUNT = 2.0**24


@dataclass(eq=False)
class BoxNode:
    """A box, the scale that no plan in it exceeds, and how that is known."""

    box: CountBox
    scale: float
    refutation: Refutation | None = None
    #: The least scale that was refuted for it, if any was, and the prices that do it: of input,
    #: shape (C,), or of input and instances, (2 C,), where machines are points of CPU.
    refuted_at: float = np.inf
    proof: FloatVector | None = None
    #: Prices to begin with.
    prices: FloatVector | None = None
    fillings: Fillings | None = None
    #: What its machines are worth at the target, over all input.
    value: float = 0.0
    #: Component and count at which it was split, with the parts.
    split: tuple[int, float] | None = None
    parts: tuple[BoxNode, ...] = ()
    #: Counts that its best fillings have on average.
    counts: FloatVector | None = None
    #: The target at which a way to pack its only counts was filled.
    packed_at: float = 0.0


class BoxSearch:
    """A bound on the scale of every plan, lowered box by box to a target.

    The target may be lowered when no box is above it: those refuted there are looked at again.
    """

    def __init__(self, relaxed: RelaxedProblem, bound: float, target: float) -> None:
        self.relaxed = relaxed
        #: No box is looked at further once nothing in it can carry more than this.
        self.target = target
        #: Work done so far, in boxes with a few hundred fillings.
        self.rounds = 0.0
        self.root = BoxNode(relaxed.whole_box(), bound)
        #: Boxes looked at last whose fillings together may carry more than the target.
        self.promising: list[BoxNode] = []
        #: Instances for the machines of every kind, one after the other, that carry the target.
        self.packings: list[IntMatrix] = []
        #: Whether the fillings of some box were few enough to be listed.
        self.lists_fillings = False
        self._settled = 0.0
        self._open: list[tuple[float, float, int, BoxNode]] = []
        self._pushed = 0
        self._push(self.root)

    @property
    def bound(self) -> float:
        """No plan carries more."""
        return max(-self._open[0][0] if self._open else 0.0, self._settled)

    @property
    def done(self) -> bool:
        """Whether no box is left that is above the target and can be made smaller."""
        return not self._open or -self._open[0][0] <= self.target

    def run(self, rounds: float) -> None:
        """Look at boxes until so much more work is done or nothing is open above the target.

        It also ends where counts could be packed: the target is to be raised to what they carry.
        """
        end = self.rounds + rounds
        self.promising, self.packings = [], []
        while not self.done and self.rounds < end and not self.packings:
            node = heapq.heappop(self._open)[3]
            self._look(node)
            self._push_parts(node)

    def dive(self) -> None:
        """From the loosest box down, always into the part whose machines are worth more.

        Where it ends, the counts are near those of a plan, if there is a better one.
        """
        self.promising, self.packings = [], []
        if self.done:
            return
        node = heapq.heappop(self._open)[3]
        self._look(node)
        while node.parts:
            for part in node.parts:
                self._look(part)
            worse, node = sorted(node.parts, key=lambda part: part.value)
            self._push_parts(worse)

    def _push_parts(self, node: BoxNode) -> None:
        for part in node.parts:
            self._push(part)

    def _push(self, node: BoxNode) -> None:
        self._pushed += 1
        heapq.heappush(self._open, (-node.scale, -node.value, self._pushed, node))

    def _refute(
        self, node: BoxNode, refutation: Refutation, proof: FloatVector | None = None
    ) -> None:
        """Nothing in the box carries the target; below it, it may be looked at again."""
        node.refutation, node.proof = refutation, proof
        node.scale = node.refuted_at = self.target
        self._push(node)

    def _give_up(self, node: BoxNode) -> None:
        """The box can neither be refuted nor split."""
        self._settled = max(self._settled, node.scale)

    def _split(self, node: BoxNode, component: int, at: float) -> None:
        node.split = component, at
        node.parts = tuple(
            BoxNode(part, node.scale, prices=node.prices, fillings=node.fillings)
            for part in node.box.split(component, at)
        )

    # -- one box ------------------------------------------------------------------------------

    def _look(self, node: BoxNode) -> None:
        box, relaxed = node.box, self.relaxed
        self.rounds += 1.0
        if any(box.least[a] > box.most[b] for a, b in relaxed.alike):
            node.refutation, node.scale, node.refuted_at = Refutation.ALIKE, 0.0, 0.0
            return
        if node.fillings is not None and node.fillings.scale <= self.target:
            node.fillings = node.fillings.within(relaxed, box, self.target)
        elif np.isfinite(box.most[relaxed.fed]).all():
            node.fillings = list_fillings(relaxed, box, self.target, _MOST_FILLINGS)
        if node.fillings is None:
            self._look_as_fluid(node)
        else:
            self._look_at_fillings(node, node.fillings)
        node.fillings = None

    def _look_as_fluid(self, node: BoxNode) -> None:
        """A box with too many fillings: by CPU alone."""
        fluid = self._fluid(node.box)
        prices = fluid.prices()
        node.value = fluid.value(prices)
        if node.value < REFUTED:
            self._refute(node, Refutation.POINTS, prices)
            return
        endless = [c for c in self.relaxed.fed.tolist() if np.isinf(node.box.most[c])]
        if endless:
            self._cut_off(node, endless[0])
            return
        ratio = np.where(self.relaxed.visits > 0, node.box.most / node.box.least, 0.0)
        component = int(ratio.argmax())
        if ratio[component] <= 1.0:
            self._give_up(node)
            return
        middle = np.floor(np.sqrt(node.box.least[component] * node.box.most[component]))
        self._split(node, component, float(middle))

    def _fluid(self, box: CountBox) -> FluidBox:
        kinds, components = self.relaxed.e.shape
        self.rounds += 1.0 + kinds * components * (kinds + 2 * components) / _CELLS_PER_ROUND
        return FluidBox(self.relaxed, box, self.target)

    def _cut_off(self, node: BoxNode, component: int) -> None:
        """Split where all larger counts of a component are refuted by their overheads."""
        count = 2.0 * float(node.box.least[component])
        while count <= _MOST_COUNT:
            above = node.box.split(component, count)[1]
            fluid = self._fluid(above)
            if fluid.value(fluid.prices()) < REFUTED:
                self._split(node, component, count)
                return
            count = np.floor(count * 1.4) + 1.0
        self._give_up(node)

    def _look_at_fillings(self, node: BoxNode, fillings: Fillings) -> None:
        self.lists_fillings = True
        self.rounds += len(fillings) / _FILLINGS_PER_ROUND
        proof = prove(self.relaxed, fillings, node.box, node.prices, self.target)
        node.prices, node.value = proof.prices, proof.value
        if proof.value < REFUTED:
            self._refute(node, Refutation.FILLINGS, proof.prices)
            return
        node.counts = proof.counts
        self.promising.append(node)
        if node.box.is_point:
            self._pack(node, fillings)
            return
        component, at = where_to_split(node.box, proof)
        self._split(node, component, at)

    def _pack(self, node: BoxNode, fillings: Fillings) -> None:
        """One count vector whose fillings, in parts of machines, would do."""
        counts = node.box.least.astype(np.int64)
        machines = self.relaxed.machines.astype(np.int64)
        effort = packing_effort(len(fillings), counts, float(machines.sum()))
        too_much = effort > _MOST_PACKING or bool((self.relaxed.visits == 0).any())
        if too_much or node.packed_at == self.target:
            self._narrow(node, fillings)
            return
        self.rounds += effort / _PACKING_PER_ROUND
        whole = fillings.counts.astype(np.int64)
        by_kind = [whole[a:b] for a, b in pairwise(fillings.starts.tolist())]
        table = pack_counts(by_kind, counts, machines)
        if table is None:
            self._refute(node, Refutation.PACKING)
            return
        # Looked at once more when the target has risen to what this carries.
        self.packings.append(np.stack(table))
        node.packed_at = self.target
        self._push(node)

    def _narrow(self, node: BoxNode, fillings: Fillings) -> None:
        """Counts that are not refuted and not packed: the least scale that prices do refute."""
        below, above = self.target, node.scale
        for _ in range(_HALVINGS):
            middle = 0.5 * (below + above)
            proof = prove(self.relaxed, fillings, node.box, node.prices, middle)
            if proof.value < REFUTED:
                node.refutation, node.proof = Refutation.FILLINGS, proof.prices
                above = node.refuted_at = middle
            else:
                below = middle
        node.scale = above
        self._give_up(node)

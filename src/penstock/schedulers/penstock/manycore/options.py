"""Numbers of instances worth considering for each component at a given scale.

Few instances cost little overhead, but each needs a fast thread; more of them fit slower types and
pack better. Where keys are skewed the largest instance decides: it falls with the number of
instances until the hottest key is left alone, and no number of instances helps further.
"""

from __future__ import annotations

import numpy as np

from penstock.evaluate.division import hottest_buckets, key_weights
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.problem import UNLIMITED
from penstock.schedulers.penstock.aggregate import cannot_divide
from penstock.schedulers.penstock.manycore.costs import Costs
from penstock.schedulers.penstock.manycore.sizes import SizeClasses, size_classes

#: Instances over those that fill a thread.
_FINER = (1.0, 1.25, 1.6, 2.2)
#: Numbers of instances nearer to each other than this are as good as one.
_APART = 1.06
#: Part of a machine's card that one instance may take: more is hard to place beside others.
_CARD_PART = 0.25
#: Keys looked at one by one when the largest instance is estimated; the others are spread evenly.
_HOTTEST = 4096
#: Numbers of instances for which it is estimated, and how many of those are then worked out.
_ESTIMATES, _CHECKED = 400, 4


class Options:
    """The instance counts and sizes of every component, worked out once."""

    def __init__(self, costs: Costs) -> None:
        self.costs, self.problem = costs, costs.problem
        self.most = _most_instances(costs)
        #: The most tuples/s that a thread of each type takes, shape (C, T); 0 where it cannot run.
        self.thread_rate = _thread_rates(costs, costs.e)
        #: The same for an instance larger than all others.
        self.best_rate = _thread_rates(costs, costs.e_least)
        self._classes: dict[tuple[int, int], SizeClasses] = {}
        #: Components whose instances differ by the keys that they get, shape (C,).
        self.keyed = np.zeros(len(self.most), dtype=np.bool_)
        for stream in self.problem.streams:
            self.keyed[stream.target] |= stream.grouping.is_keyed and bool(stream.keys)
        self._estimates = {c: self._estimate(c) for c in np.flatnonzero(self.keyed).tolist()}

    def classes(self, c: int, count: int) -> SizeClasses:
        """The instances of a component when there are so many."""
        if (c, count) not in self._classes:
            self._classes[c, count] = size_classes(self.problem, c, count)
        return self._classes[c, count]

    def highest_scale(self, chosen: list[list[SizeClasses]] | None = None) -> float:
        """The scale at which some instance fills the fastest thread there is for it."""
        limits = [np.inf]
        for c in range(len(self.most)):
            if self.costs.weighs[c]:
                continue
            if chosen is not None:
                limits.append(max((self._full_at(o) for o in chosen[c]), default=np.inf))
                continue
            rate = float(self.thread_rate[c].max())
            largest = float(self.problem.visits[c]) / float(self.most[c])
            if c in self._estimates:
                rate = float(self.best_rate[c].max())
                largest = float(self._estimates[c][1].min())
            limits.append(rate / largest if largest > 0 else np.inf)
        return min(limits)

    def rates_of(self, option: SizeClasses) -> FloatMatrix:
        """The most tuples/s that a thread of each type takes, for each class, shape (K, T)."""
        rates = np.repeat(self.thread_rate[[option.component]], len(option.mean), axis=0)
        if option.counts[0] == 1:
            rates[0] = self.best_rate[option.component]
        return rates

    def _full_at(self, option: SizeClasses) -> float:
        """The scale at which an instance fills the fastest thread there is for it."""
        fastest = self.rates_of(option).max(axis=1)
        full = np.full(len(fastest), np.inf)
        np.divide(fastest, option.largest, out=full, where=option.largest > 0)
        return float(full.min())

    def at(self, c: int, scale: float) -> list[SizeClasses]:
        """Options of a component at a scale, the fewest first; none where it may have shares."""
        problem = self.problem
        if self.costs.weighs[c]:
            return []
        if problem.given_counts is not None:
            return [self.classes(c, problem.given_counts[c])]
        rates = self.thread_rate[c][self.thread_rate[c] > 0]
        if not len(rates) or problem.visits[c] <= 0:
            return [self.classes(c, 1)]
        least, most = self._least_for_cards(c, scale), int(self.most[c])
        # Exactly so many as fit are always tried, others where they are apart from these.
        exact = self._fitting(c, scale) if c in self._estimates else []
        full = problem.visits[c] * scale / rates
        others = [n * finer for n in (*full, *exact[:1]) for finer in _FINER]
        if exact:
            others = [n for n in others if n >= exact[0]]
        if c in self._estimates:
            counts, largest = self._estimates[c]
            others.append(float(counts[largest.argmin()]))
        numbers = [n for n in exact if least <= n <= most]
        for n in sorted(min(max(int(np.ceil(n - 1e-9)), least), most) for n in others):
            if all(abs(n - own) >= (_APART - 1.0) * min(n, own) or n < 20 for own in numbers):
                numbers.append(n)
        return [self.classes(c, n) for n in sorted(set(numbers))]

    def _fitting(self, c: int, scale: float) -> list[int]:
        """For each type the fewest instances of which the largest fits its thread."""
        counts, estimates = self._estimates[c]
        found = []
        rates = self.best_rate[c][self.best_rate[c] > 0]
        for rate in np.unique(rates).tolist():
            about = counts[estimates * scale <= rate * (1.0 - 1e-9)].tolist()
            for n in about[:_CHECKED]:
                option = self.classes(c, n)
                fits = float(option.largest[0]) * scale <= rate * (1.0 - 1e-9)
                if fits and self._full_at(option) >= scale:
                    found.append(int(n))
                    break
        return sorted(set(found))

    def _least_for_cards(self, c: int, scale: float) -> int:
        """So many that each leaves room on its machine's card for others."""
        costs = self.costs
        bytes_per_s = max(costs.bytes_out[c], costs.bytes_in[c]) * self.problem.visits[c] * scale
        card = float(costs.nic[self.thread_rate[c] > 0].max(initial=0.0))
        if bytes_per_s <= 0 or card <= 0:
            return 1
        return max(int(np.ceil(bytes_per_s / (_CARD_PART * card) - 1e-9)), 1)

    def _estimate(self, c: int) -> tuple[IntVector, FloatVector]:
        """Numbers of instances, and the largest instance's tuples/s with each, about."""
        problem = self.problem
        counts = np.unique(np.geomspace(1, self.most[c], _ESTIMATES).astype(np.int64))
        head: list[tuple[np.ndarray, FloatVector]] = []
        even, squares = float(problem.spout_rate[c]), 0.0
        for stream in problem.streams:
            if stream.target != c:
                continue
            flow = problem.visits[stream.source] * stream.selectivity
            if not stream.grouping.is_keyed or not stream.keys:
                even += flow
                continue
            hashes, weights = hottest_buckets(stream.keys, stream.key_skew, _HOTTEST)
            head.append((hashes, flow * weights))
            even += flow * (1.0 - float(weights.sum()))
            squares += flow**2 * float(
                (key_weights(stream.keys, stream.key_skew)[_HOTTEST:] ** 2).sum()
            )
        largest = np.empty(len(counts))
        for i, n in enumerate(counts.tolist()):
            inputs = np.full(n, even / n)
            for hashes, weights in head:
                bucket = (hashes % np.uint64(n)).view(np.int64)
                inputs += np.bincount(bucket, weights, minlength=n)
            # The other keys spread by chance: of k buckets the largest is this far off the mean.
            deviation, most = np.sqrt(squares / n), float(inputs.max())
            near = int((inputs >= most - deviation).sum())
            largest[i] = most + deviation * np.sqrt(2.0 * np.log(near))
        return counts, largest


def _most_instances(costs: Costs) -> FloatVector:
    """More instances of a component than this are of no use or not allowed, shape (C,)."""
    problem = costs.problem
    cluster = problem.cluster
    machines = cluster.machines_per_type
    declared = problem.most_instances.astype(np.float64)
    declared[problem.most_instances == UNLIMITED] = np.inf
    declared[cannot_divide(problem)] = 1.0
    memory = costs.memory_mb
    room = np.maximum(costs.memory - costs.worker_mb, 0.0)
    fits = np.full(len(memory), np.inf)
    for c in np.flatnonzero(memory > 0).tolist():
        per_machine = np.minimum(np.floor(room / memory[c] + 1e-9), 1e6)
        fits[c] = per_machine @ machines
    threads = np.maximum(problem.instance_points, 1e-9)
    cores = (cluster.usable_cpu_per_type / threads) @ machines
    most = np.minimum(np.minimum(declared, fits), 4.0 * cores + 1.0)
    return np.asarray(np.maximum(most, 1.0))


def _thread_rates(costs: Costs, e: FloatMatrix) -> FloatMatrix:
    problem = costs.problem
    room = np.minimum(problem.instance_points, costs.cpu - costs.worker_cpu) - problem.met
    rate = np.full(room.shape, np.inf)
    np.divide(np.maximum(room, 0.0), e, out=rate, where=e > 0)
    there = problem.cluster.machines_per_type > 0
    return np.where(there & np.isfinite(e) & (room >= 0), rate, 0.0)

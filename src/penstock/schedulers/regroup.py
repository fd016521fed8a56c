"""A few changes to a plan that exists, worked out in milliseconds.

For a lost machine, a limit on moves, instances that must be somewhere. All instances of a component
get the same (shuffle grouping), so machines of one class that hold the same instances are one
*group*, however many they are. A *step* gives one machine of a group another pattern: an instance
more or less, one exchanged for another, or the pattern of another group. All steps from a state are
worked out in one matrix product, and a beam of the best states goes on from there: clearing a
machine costs a little before what is put there gains.

The plan that comes out is judged by ``evaluate`` like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.base import Budget
from penstock.schedulers.machine_groups import Allowance, Classes, State

#: States kept after each step, and steps without a better plan before it ends.
BEAM = 8
PATIENCE = 4
#: Groups from which steps are tried: the tightest and those with most room.
_TIGHT, _ROOMY = 12, 12
_EQUAL = 1e-9
#: With more components, one goes and another comes in two steps: pairs of them are too many.
_MOST_EXCHANGED = 100
#: Candidates times components that are worked out together: some 50 MB.
_CELLS_AT_ONCE = 500_000
#: What a state that breaks something is worth: less than any that does not.
_PER_MISSING, _PER_BROKEN = 1e12, 1e9

#: Groups, their new patterns, the room these leave and the scale, a step each.
_Steps = tuple[IntVector, IntMatrix, FloatVector, FloatVector]


class _Step(NamedTuple):
    """One machine of a group gets another pattern, which leaves it so much room."""

    state: State
    group: int
    new: IntVector
    room: float
    #: Of the state after it.
    scale: float

    def taken(self) -> State:
        """The state after the step."""
        state, new, g = self.state, self.new, self.group
        old, kind = state.patterns[g], int(state.kind[g])
        machines = state.machines.copy()
        machines[g] -= 1
        same = np.flatnonzero((state.kind == kind) & (state.patterns == new).all(axis=1))
        kinds, patterns, rooms = state.kind, state.patterns, state.room
        if len(same):
            machines[int(same[0])] += 1
        else:
            kinds = np.append(kinds, kind)
            patterns = np.vstack([patterns, new])
            rooms = np.append(rooms, self.room)
            machines = np.append(machines, 1)
        return State(
            kinds,
            patterns,
            machines,
            rooms,
            state.come + np.maximum(new - old, 0),
            state.gone + np.maximum(old - new, 0),
            self.scale,
            (*state.steps, (kind, old.tobytes(), new.tobytes())),
        )


class Regroup:
    """The search from one plan; ``best`` is the best state found within the allowance."""

    def __init__(
        self,
        classes: Classes,
        table: IntMatrix,
        allowance: Allowance,
        budget: Budget,
        extra_patterns: IntMatrix | None = None,
    ) -> None:
        problem = classes.problem
        self.problem, self.classes, self.allowance = problem, classes, allowance
        self.budget = budget
        #: A scale that is as good as any higher one.
        self.enough = np.inf
        self.rounds = 0
        visits = problem.visits[:, None]
        # No tuples cost nothing, also where no cost is known.
        self._work: FloatMatrix = np.where(visits > 0, problem.e, 0.0) * visits
        thread = problem.instance_points - problem.met
        with np.errstate(divide="ignore", invalid="ignore"):
            #: Scale at which a thread is full, per instance there is, (C, types).
            self._thread = np.where(self._work > 0, thread / self._work, np.inf)
        self.table = table
        components = len(problem.components)
        none = np.zeros((1, components), dtype=np.int64)
        self._extra = none if extra_patterns is None else np.vstack([none, extra_patterns])
        self._changes = _small_changes(components)
        #: Which component each change takes an instance of, -1 for none.
        self._taken = np.where((self._changes < 0).any(axis=1), self._changes.argmin(axis=1), -1)
        self.start = self._first(table)
        self.best = self.start

    # -- states -------------------------------------------------------------------------------

    def _first(self, table: IntMatrix) -> State:
        usable = self.classes.of_machine >= 0
        rows = np.column_stack([self.classes.of_machine, table])[usable]
        distinct, number = np.unique(rows, axis=0, return_counts=True)
        kind, patterns = distinct[:, 0], distinct[:, 1:]
        nothing = np.zeros(table.shape[1], dtype=np.int64)
        state = State(
            kind, patterns, number.astype(np.int64), self.classes.room(patterns, kind),
            nothing, nothing, 0.0,
        )  # fmt: skip
        return replace(state, scale=self._scale_of(state))

    def _scale_of(self, state: State) -> float:
        totals = state.totals
        per_total = 1.0 / np.maximum(totals, 1)[None]
        forbidden = np.isneginf(state.room)
        full = _full_at(np.where(forbidden, 0.0, state.room), self._slopes(state, per_total)[0])
        threads = self._thread_limit(state.patterns, state.kind, totals[None])[0]
        scale = np.minimum(full[~forbidden].min(initial=np.inf), threads.min(initial=np.inf))
        broken = float(state.machines[forbidden].sum())
        return float(_worth(np.array([scale]), (totals == 0).sum(), broken)[0])

    def _slopes(self, state: State, per_total: FloatMatrix) -> FloatMatrix:
        """Points per scale on each group, for totals in rows, shape (rows, G)."""
        weights = state.patterns * self._work.T[self.classes.type[state.kind]]
        return np.asarray(per_total @ weights.T)

    def _thread_limit(self, patterns: IntMatrix, kind: IntVector, totals: IntMatrix) -> FloatMatrix:
        """Scale at which the first thread of each component is full, shape (rows, C)."""
        each = self._thread.T[self.classes.type[kind]]
        tightest = np.where(patterns > 0, each, np.inf).min(axis=0, initial=np.inf)
        # No instance at all: nothing is full.
        held = np.isfinite(tightest)
        return np.where(held, totals * np.where(held, tightest, 0.0), np.inf)

    # -- the search ---------------------------------------------------------------------------

    def run(self) -> State:
        beam, idle = [self.start], 0
        seen = {self._key(self.start)}
        while beam and idle < PATIENCE and self.best.scale < self.enough:
            if self.budget.spent(self.rounds):
                break
            self.rounds += 1
            steps = [step for parent in beam for step in self._steps_from(parent)]
            steps.sort(key=lambda step: -step.scale)
            beam = []
            for step in steps:  # a state is made when its turn comes: most never are
                state = step.taken()
                key = self._key(state)
                if key not in seen:
                    seen.add(key)
                    beam.append(state)
                if len(beam) == BEAM:
                    break
            if beam and _is_more(beam[0].scale, self.best.scale):
                self.best, idle = beam[0], 0
            else:
                idle += 1
        return self.best

    def _key(self, state: State) -> bytes:
        used = state.machines > 0
        rows = np.column_stack([state.kind, state.patterns, state.machines])[used]
        return bytes(rows[np.lexsort(rows.T)].tobytes())

    def _steps_from(self, state: State) -> list[_Step]:
        """The best few steps from a state."""
        batches = (self._best(state, *batch) for batch in self._candidates(state))
        found = [batch for batch in batches if batch is not None]
        if not found:
            return []
        group, new, room, scale = (np.concatenate(parts) for parts in zip(*found, strict=True))
        # One step may be listed twice, as a change and as another group's pattern.
        best = np.argsort(-scale, kind="stable")[: 2 * BEAM].tolist()
        steps = {(int(group[i]), new[i].tobytes()): i for i in reversed(best)}
        return [
            _Step(state, int(group[i]), new[i], float(room[i]), float(scale[i]))
            for i in list(steps.values())[-BEAM:]
        ]

    def _best(self, state: State, group: IntVector, new: IntMatrix) -> _Steps | None:
        """The best few of some candidates, in their order where they are as good."""
        old = state.patterns[group]
        come = state.come + np.maximum(new - old, 0)
        gone = state.gone + np.maximum(old - new, 0)
        room = self.classes.room(new, state.kind[group])
        keep = (self.allowance.cost(come, gone) <= self.allowance.changes) & (room > -np.inf)
        totals = state.totals - old + new
        keep &= (totals <= self.problem.most_instances).all(axis=1)
        group, new, room, totals = group[keep], new[keep], room[keep], totals[keep]
        if not len(group):
            return None
        scale = self._scales_after(state, group, new, room, totals)
        best = np.argsort(-scale, kind="stable")[: 2 * BEAM]
        return group[best], new[best], room[best], scale[best]

    def _scales_after(
        self,
        state: State,
        group: IntVector,
        new: IntMatrix,
        room: FloatVector,
        totals: IntMatrix,
    ) -> FloatVector:
        """The scale of each candidate, shape (candidates,)."""
        per_total = 1.0 / np.maximum(totals, 1)
        forbidden = np.isneginf(state.room)
        known = np.where(forbidden, 0.0, state.room)
        full = _full_at(known[None, :], self._slopes(state, per_total))
        full[:, (state.machines == 0) | forbidden] = np.inf
        # The machine that changes was the last of its group: the group is no more.
        last = state.machines[group] == 1
        full[np.flatnonzero(last), group[last]] = np.inf
        weights = new * self._work.T[self.classes.type[state.kind[group]]]
        own = _full_at(room, (weights * per_total).sum(axis=1))
        used = state.machines > 0
        threads = self._thread_limit(state.patterns[used], state.kind[used], totals)
        each = self._thread.T[self.classes.type[state.kind[group]]]
        with np.errstate(invalid="ignore"):
            mine = np.where(new > 0, each * totals, np.inf)
        limits = [full.min(axis=1), own, threads.min(axis=1), mine.min(axis=1)]
        scale = np.minimum(np.minimum(limits[0], limits[1]), np.minimum(limits[2], limits[3]))
        broken: FloatVector = state.machines[forbidden].sum() - forbidden[group].astype(np.float64)
        return _worth(scale, (totals == 0).sum(axis=1), broken)

    def _candidates(self, state: State) -> Iterator[tuple[IntVector, IntMatrix]]:
        """Groups, and the pattern that one of their machines might get instead, in batches."""
        # What is not placed at all is tried on every group.
        missing = bool((state.totals == 0).any())
        known = np.vstack([state.patterns[state.machines > 0], self._extra])
        origins = self._origins(state, every=missing)
        cells = (len(self._changes) + len(known)) * known.shape[1]
        at_once = max(1, _CELLS_AT_ONCE // max(1, cells))
        for begin in range(0, len(origins), at_once):
            part = origins[begin : begin + at_once]
            old = state.patterns[part]
            near = old[:, None, :] + self._changes
            others = np.broadcast_to(known, (len(part), *known.shape))
            new = np.concatenate([near, others], axis=1)
            is_one = np.concatenate(
                [
                    (self._taken < 0) | (old[:, self._taken] > 0),
                    (others != old[:, None, :]).any(axis=2),
                ],
                axis=1,
            )
            yield np.repeat(part, is_one.sum(axis=1)), new[is_one]

    def _origins(self, state: State, *, every: bool) -> IntVector:
        used = np.flatnonzero(state.machines > 0)
        if every or len(used) <= _TIGHT + _ROOMY:
            return used
        per_total = 1.0 / np.maximum(state.totals, 1)[None]
        full = _full_at(state.room, self._slopes(state, per_total)[0])[used]
        order = used[np.argsort(full, kind="stable")]
        return np.concatenate([order[:_TIGHT], order[-_ROOMY:]])

    def table_of(self, state: State) -> IntMatrix:
        """The state on machines: those that did not have to change hold what they held."""
        table = self.table.copy()
        touched = np.zeros(len(table), dtype=np.bool_)
        for kind, old, new in state.steps:
            before = np.frombuffer(old, dtype=np.int64)
            same = (self.classes.of_machine == kind) & (table == before).all(axis=1)
            # One that changed already is changed again rather than a second one, if it can be.
            twice = np.flatnonzero(same & touched)
            machine = int(twice[0] if len(twice) else np.flatnonzero(same)[0])
            table[machine] = np.frombuffer(new, dtype=np.int64)
            touched[machine] = True
        return table


def _small_changes(components: int) -> IntMatrix:
    """One instance more, one less, one in place of another; rows are what a pattern gains."""
    one = np.eye(components, dtype=np.int64)
    if components > _MOST_EXCHANGED:
        return np.vstack([one, -one])
    swaps = (one[:, None, :] - one[None, :, :]).reshape(-1, components)
    return np.vstack([one, -one, swaps[swaps.any(axis=1)]])


def _worth(
    scale: FloatVector, missing: IntVector | int, broken: FloatVector | float
) -> FloatVector:
    """A scale that says what is wrong first: components missing, then machines against limits."""
    wrong = _PER_MISSING * np.asarray(missing) + _PER_BROKEN * np.asarray(broken)
    finite = np.where((wrong > 0) & (scale > 0), 0.0, np.maximum(scale, -_PER_BROKEN / 2))
    return np.asarray(finite - wrong, dtype=np.float64)


def _is_more(scale: float, than: float) -> bool:
    if not (np.isfinite(scale) and np.isfinite(than)):
        return scale > than
    return scale > than + _EQUAL * abs(than)


def _full_at(room: FloatVector | FloatMatrix, slope: FloatVector | FloatMatrix) -> FloatMatrix:
    """Scale at which each machine is full; negative where overheads alone are too much."""
    safe = np.where(slope > 0, slope, 1.0)
    idle = np.where(room < -ROUNDING_POINTS, room, np.inf)
    return np.where(slope > 0, room / safe, idle)

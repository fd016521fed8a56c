"""Costs fitted on executors: lots of groups to their samples, then one step over all windows.

The robust fit and the choice of form run on a fixed sample of windows, all groups of a lot at once.
From that start one Newton step over *all* windows gives the estimate: from a good start it is as
precise as the full search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.model.cpu_form import FormKind
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.group_fit import fit_groups
from penstock.telemetry.fit.points import Points
from penstock.telemetry.fit.scatter import BISQUARE
from penstock.telemetry.slots.columns import (
    Columns,
    Groups,
    Vocabulary,
    from_arrow,
    joined,
    rows_of,
)
from penstock.telemetry.slots.fit_points import GROUP, chosen, read_points
from penstock.telemetry.slots.keys import SLOT_MS
from penstock.telemetry.slots.rates_task import HourSamples
from penstock.telemetry.slots.sums import SampleSizes, window_hashes
from penstock.telemetry.slots.windows import SlotWindows

_KINDS = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
FIT_SCHEMA = pa.schema(
    [pa.field(n, _KINDS[str(f.type)]) for n, f in CostFit.__dataclass_fields__.items()]
)


def points_of(points: Columns, vocabulary: Vocabulary) -> Points:
    stretch = points["time_ms"] // SLOT_MS
    cluster = window_hashes(vocabulary, points["run"], points["task"], stretch)
    return Points(
        rate=points["rate"],
        cpu=points["cpu_points"],
        rate_variance=points["rate_variance"],
        time_ms=points["time_ms"],
        task=points["task"],
        cluster=cluster.view(np.int64),
        instances=points["instances"],
    )


@dataclass(frozen=True)
class FitTask:
    """Fits lots; each row it is given is the number of one."""

    root: str
    #: Files of points, one an hour.
    paths: Sequence[str]
    sizes: SampleSizes
    #: Groups to fit.
    due: frozenset[tuple[str, str, str]]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for lot in batch.column("id").to_pylist():
                rows = [vars(fit) for fit in self._lot(lot)]
                yield pa.RecordBatch.from_pylist(rows, schema=FIT_SCHEMA)

    def _lot(self, lot: int) -> list[CostFit]:
        vocabulary = Vocabulary()
        table = joined(
            [from_arrow(read_points(self.root, path, lot), vocabulary) for path in self.paths]
        )
        table = rows_of(table, self._is_due(table, vocabulary))
        table = rows_of(table, chosen(table, vocabulary, self.sizes))
        groups = Groups.of(*(table[name] for name in GROUP))
        words = vocabulary.words
        keys = [
            (words[table[GROUP[0]][row]], words[table[GROUP[1]][row]], words[table[GROUP[2]][row]])
            for row in groups.first
        ]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        number = np.argsort(order)[groups.of_row] if keys else groups.of_row
        ordered = [keys[n] for n in order]
        samples = [self.sizes.groups[key] for key in ordered]
        return fit_groups(points_of(table, vocabulary), number, ordered, samples)

    def _is_due(self, table: Columns, vocabulary: Vocabulary) -> BoolVector:
        groups = Groups.of(*(table[name] for name in GROUP))
        words = vocabulary.words
        due = [tuple(words[table[name][row]] for name in GROUP) in self.due for row in groups.first]
        return np.array(due, dtype=bool)[groups.of_row]


# -- the step over all windows -----------------------------------------------------------------

SUMS = ("axx", "bx", "jxx", "jx", "j1", "g1", "g2")
SQUARES = ("g11", "g12", "g22", "clusters")
STEP_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in (*GROUP, "hour")),
        *(pa.field(name, pa.float64()) for name in (*SUMS, *SQUARES)),
    ]
)


@dataclass(frozen=True)
class StepTask:
    """Adds up what Newton's step takes, hour by hour; each row it is given is one hour."""

    samples: HourSamples
    #: Fits to start from.
    fits: Mapping[tuple[str, str, str], CostFit]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                vocabulary = Vocabulary()
                windows = self.samples.windows(number, vocabulary)
                table = step_sums(windows, vocabulary, self.fits, self.samples.hours[number][0])
                yield from table.to_batches()


def step_sums(
    windows: SlotWindows,
    vocabulary: Vocabulary,
    fits: Mapping[tuple[str, str, str], CostFit],
    hour: str,
) -> pa.Table:
    """Weighted sums over the windows of some groups, with squares of those of each stretch."""
    keys = list(fits)
    number = _numbers_of_groups(windows, vocabulary, keys)
    rows = np.flatnonzero(windows.usable & (number >= 0))
    group = number[rows]
    terms = _terms(windows, rows, group, [fits[key] for key in keys])
    task = Groups.of(windows.places["run"], windows.places["task"]).of_row[windows.place[rows]]
    clusters = Groups.of(group, task, windows.time_ms[rows] // SLOT_MS)
    by_cluster = {name: clusters.sums(terms[name]) for name in SUMS}
    owner = group[clusters.first]

    def total(values: FloatVector) -> FloatVector:
        return np.bincount(owner, weights=values, minlength=len(keys)).astype(np.float64)

    g1, g2 = by_cluster["g1"], by_cluster["g2"]
    sums = {name: total(values) for name, values in by_cluster.items()}
    sums |= {"g11": total(g1 * g1), "g12": total(g1 * g2), "g22": total(g2 * g2)}
    sums["clusters"] = np.bincount(owner, minlength=len(keys)).astype(np.float64)
    names = [
        pa.array([(*key, hour)[n] for key in keys], pa.string()) for n in range(len(GROUP) + 1)
    ]
    columns = [*names, *(pa.array(sums[name]) for name in (*SUMS, *SQUARES))]
    return pa.Table.from_arrays(columns, schema=STEP_SCHEMA)


def _numbers_of_groups(
    windows: SlotWindows, vocabulary: Vocabulary, keys: Sequence[tuple[str, str, str]]
) -> IntVector:
    numbers = {key: n for n, key in enumerate(keys)}
    words, places = vocabulary.words, windows.places
    of_place = [
        numbers.get((words[t], words[c], words[m]), -1)
        for t, c, m in zip(*(places[name] for name in GROUP), strict=True)
    ]
    return np.array(of_place, dtype=np.int64)[windows.place]


def _terms(
    windows: SlotWindows, rows: IntVector, group: IntVector, fits: Sequence[CostFit]
) -> dict[str, FloatVector]:
    """What each window adds to the sums, for its weight in a fit with bisquare weights."""

    def of_group(name: str) -> FloatVector:
        return np.array([getattr(fit, name) for fit in fits], dtype=np.float64)[group]

    x, v = windows.rate[rows], windows.rate_variance[rows]
    cpu, e = windows.figures["cpu_points"][rows], of_group("e")
    spins = np.array([fit.form == FormKind.SPINNING.value for fit in fits])[group]
    with np.errstate(divide="ignore", invalid="ignore"):
        spin = of_group("spin") * np.maximum(0.0, 1 - x / of_group("shape"))
    idle = np.where(spins, spin, 0.0)
    level = e * x + of_group("met") + idle
    floor = of_group("scatter_floor") + of_group("scatter_slope") * level
    sigma = np.maximum(floor, 1e-9)
    residual = cpu - level
    t = (residual / sigma / BISQUARE) ** 2
    inside = t < 1
    w = np.where(inside, (1 - t) ** 2, 0.0) / sigma**2
    j = np.where(inside, (1 - t) * (1 - 5 * t), 0.0) / sigma**2
    return {
        "axx": w * x * x - j * v, "bx": w * x * (cpu - idle),
        "jxx": j * (x * x - v), "jx": j * x, "j1": j,
        "g1": w * x * residual + j * e * v, "g2": w * residual,
    }  # fmt: skip

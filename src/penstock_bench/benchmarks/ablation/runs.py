"""What ``penstock bench ablation`` measures: every part without it, every constant changed.

A part is switched off in the problems in which it runs, a constant changed in those in which a
function of its module runs; elsewhere nothing can change. Loss is in percent of the bound (of all
machines, watts, distance where those are to be little).
"""

from __future__ import annotations

import inspect
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import penstock.schedulers.penstock as package
from penstock_bench.benchmarks.ablation.cases import FAMILIES, Case, cases
from penstock_bench.benchmarks.ablation.constants import Constant, tuning_constants
from penstock_bench.benchmarks.ablation.parts import PARTS
from penstock_bench.benchmarks.ablation.switches import (
    Switch,
    constant,
    every_module,
    reached,
    replaced,
    resolved,
)
from penstock_bench.benchmarks.ablation.worth import Run, run
from penstock_bench.benchmarks.suite import FigureTable

#: Losses below this are rounding.
_SAME = 1e-7


@dataclass(frozen=True)
class Loss:
    """One problem planned with everything, and with one thing changed."""

    case: Case
    whole: Run
    without: Run

    @property
    def percent(self) -> float:
        """What the plan loses; below 0 it is better without."""
        return 100.0 * (self.whole.worth - self.without.worth)

    @property
    def of_bound_percent(self) -> float:
        """By how much more the bound is above what it was."""
        return 100.0 * (self.without.bound - self.whole.bound)

    @property
    def changes(self) -> bool:
        return abs(self.percent) > 100 * _SAME


@dataclass(frozen=True)
class Planned:
    """A case planned with everything, and the functions that ran."""

    case: Case
    whole: Run
    ran: frozenset[tuple[str, str]]


@lru_cache(maxsize=4)
def _planned(seed: int, quick: bool, family: str) -> tuple[Planned, ...]:
    planned = []
    for case in cases(seed, quick=quick, family=family):
        with reached() as ran:
            run(case)
        planned.append(Planned(case, run(case), frozenset(ran)))
    return tuple(planned)


@lru_cache(maxsize=4)
def part_losses(seed: int, quick: bool, family: str) -> dict[str, list[Loss]]:
    """By part, the problems in which it runs, with it and without."""
    planned = _planned(seed, quick, family)
    return {
        part.name: [
            Loss(one.case, one.whole, run(one.case, replaced(part.target, part.instead)))
            for one in planned
            if _runs(part, one.ran)
        ]
        for part in PARTS
    }


@lru_cache(maxsize=4)
def constant_losses(seed: int, quick: bool, family: str) -> dict[tuple[Constant, str], list[Loss]]:
    """By constant and other value, the problems in which its module runs."""
    planned = _planned(seed, quick, family)
    return {
        (tuned, title): [
            Loss(one.case, one.whole, run(one.case, constant(tuned.module, tuned.name, other)))
            for one in planned
            if any(module == tuned.module for module, _ in one.ran)
        ]
        for tuned in tuning_constants()
        for title, other in tuned.others()
    }


def _runs(part: Switch, ran: frozenset[tuple[str, str]]) -> bool:
    """Whether the part's function ran; one from elsewhere may have, wherever it is called."""
    owner, name = resolved(part.target)
    called = inspect.unwrap(getattr(owner, name))
    home, _, module = called.__module__.partition(f"{package.__name__}.")
    return bool(home) or (module, called.__qualname__) in ran


# -- tables ----------------------------------------------------------------------------------------


def parts_table(seed: int = 0, quick: bool = False, family: str = "") -> FigureTable:
    """What is lost without each part, and what it costs."""
    rows = [[name, *_cells(losses)] for name, losses in part_losses(seed, quick, family).items()]
    return FigureTable(f"Without each part, seed {seed}", ["part", *_COLUMNS], rows)


def constants_table(seed: int = 0, quick: bool = False, family: str = "") -> FigureTable:
    """What is lost with half and twice of each constant."""
    rows = [
        [f"{one.title} = {one.value}", title, *_cells(losses)]
        for (one, title), losses in constant_losses(seed, quick, family).items()
    ]
    return FigureTable(f"Each constant changed, seed {seed}", ["constant", "to", *_COLUMNS], rows)


_COLUMNS = ["problems", "other plans", "mean loss", "spread", "worst", "where", "bound", "work"]


def _cells(losses: list[Loss]) -> list[str]:
    if not losses:
        return ["0", *[""] * (len(_COLUMNS) - 1)]
    values = [loss.percent for loss in losses]
    worst = max(losses, key=lambda loss: loss.percent)
    work = sum(loss.without.work for loss in losses) / max(
        sum(loss.whole.work for loss in losses), 1e-12
    )
    return [
        str(len(losses)),
        str(sum(loss.changes for loss in losses)),
        f"{statistics.fmean(values):.3f} %",
        f"{statistics.pstdev(values):.3f}",
        f"{worst.percent:.3f} %",
        worst.case.family if worst.changes else "",
        f"{statistics.fmean(loss.of_bound_percent for loss in losses):+.3f} %",
        f"{100 * work:.0f} %",
    ]


def families_table(seed: int = 0, quick: bool = False, family: str = "") -> FigureTable:
    """What the whole scheduler does in each family."""
    by_family: dict[str, list[Run]] = defaultdict(list)
    for planned in _planned(seed, quick, family):
        by_family[planned.case.family].append(planned.whole)
    rows = [
        [
            name,
            str(len(own)),
            f"{statistics.fmean(100 * one.worth for one in own):.2f} %",
            f"{min(100 * one.worth for one in own):.2f} %",
            f"{statistics.fmean(one.work for one in own):.0f}",
            f"{max(one.seconds for one in own):.1f} s",
        ]
        for name, own in by_family.items()
    ]
    columns = ["family", "problems", "mean worth", "least", "mean work", "longest"]
    return FigureTable(f"The problems, seed {seed}", columns, rows)


# -- goals -----------------------------------------------------------------------------------------


def part_pays_percent(
    repeats: int, seed: int = 0, quick: bool = False, family: str = ""
) -> Iterator[float]:
    """What each part that runs is worth where it is worth most, by plan or by bound."""
    del repeats
    for losses in part_losses(seed, quick, family).values():
        if losses:
            yield max(max(loss.percent, loss.of_bound_percent) for loss in losses)


def parts_that_pay_percent(
    repeats: int, seed: int = 0, quick: bool = False, family: str = ""
) -> Iterator[float]:
    """The part of the parts that run which lose something, by plan or by bound, when off."""
    del repeats
    run = [losses for losses in part_losses(seed, quick, family).values() if losses]
    pays = [any(max(x.percent, x.of_bound_percent) > 1e-3 for x in losses) for losses in run]
    yield 100.0 * sum(pays) / max(len(pays), 1)


def other_value_gains_percent(
    repeats: int, seed: int = 0, quick: bool = False, family: str = ""
) -> Iterator[float]:
    """What another value of a constant would gain on average over a family's problems."""
    del repeats
    for losses in constant_losses(seed, quick, family).values():
        for name in FAMILIES:
            own = [loss.percent for loss in losses if loss.case.family == name]
            if own:
                yield -statistics.fmean(own)


def tuning_numbers(repeats: int) -> Iterator[float]:
    """How many numbers tune the scheduler."""
    del repeats
    yield float(sum(one.numbers for one in tuning_constants()))


def source_lines(repeats: int) -> Iterator[float]:
    """Lines of the scheduler's source."""
    del repeats
    yield float(sum(len(inspect.getsource(module).splitlines()) for module in every_module()))

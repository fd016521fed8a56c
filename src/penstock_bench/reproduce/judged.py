"""Rows with our numbers and their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock_bench.reproduce.measures import FigureReading, read
from penstock_bench.reproduce.paper_fields import Experiment, KeptMeasure, Row
from penstock_bench.reproduce.paper_file import Paper
from penstock_bench.reproduce.runner import Results
from penstock_bench.reproduce.verdict import Verdict, judge


@dataclass(frozen=True)
class JudgedRow:
    """A row, what we found in each of its settings, and what that comes to."""

    paper: str
    experiment: Experiment
    row: Row
    #: Our numbers; with ``over``, the one that counts.
    ours: tuple[FigureReading, ...]
    verdict: Verdict
    #: Why there is no number, if there is none.
    missing: str = ""

    @property
    def failed(self) -> bool:
        """Whether an experiment went wrong, rather than not having been run."""
        return bool(self.missing) and self.verdict is Verdict.NOT_JUDGED

    @property
    def best(self) -> str:
        """Which of several schedulers it is."""
        return ", ".join(one.detail for one in self.ours if one.detail and one.values)

    @property
    def remarks(self) -> list[str]:
        """What the reader must know: always, where it comes out otherwise, where there is none."""
        why = self.row.why if self.verdict is not Verdict.REPRODUCED else ""
        none = [one.detail for one in self.ours if one.detail and not one.values]
        return [text for text in (self.row.remark, why, *none, self.missing) if text]


def judge_all(papers: Sequence[Paper], results: Results) -> list[JudgedRow]:
    """Every row of the papers, in order."""
    return [
        judge_row(paper, experiment, row, results)
        for paper in papers
        for experiment in paper.experiments
        for row in experiment.rows
    ]


def judge_row(paper: Paper, experiment: Experiment, row: Row, results: Results) -> JudgedRow:
    try:
        readings = tuple(_readings(paper, experiment, row, results))
    except PenstockError as error:
        return JudgedRow(paper.name, experiment, row, (), Verdict.NOT_JUDGED, str(error))
    if isinstance(row.measure, KeptMeasure) and not readings[0].values:
        return JudgedRow(paper.name, experiment, row, readings, Verdict.NOT_JUDGED)
    if any(reading.no_plan for reading in readings):
        return JudgedRow(paper.name, experiment, row, readings, Verdict.NOT_REPRODUCED)
    counted = _counted(row, readings)
    verdict = judge(row, [reading.values for reading in counted])
    return JudgedRow(paper.name, experiment, row, counted, verdict)


def _readings(
    paper: Paper, experiment: Experiment, row: Row, results: Results
) -> Iterator[FigureReading]:
    if isinstance(row.measure, KeptMeasure):
        yield read(row.measure, {})
        return
    for name in experiment.settings_of(row):
        where = (paper.name, name)
        if where in results.errors:
            raise PenstockError(f"{name} failed: {results.errors[where]}")
        if where not in results.figures:
            raise PenstockError(f"{name} was not run")
        yield read(row.measure, results.figures[where])


def _counted(row: Row, readings: tuple[FigureReading, ...]) -> tuple[FigureReading, ...]:
    """All of them, or the one with the most or least."""
    there = [reading for reading in readings if reading.values]
    if row.over == "each" or not there:
        return readings
    choose = max if row.over == "most" else min
    return (choose(there, key=lambda reading: reading.values[0]),)


def tally(rows: Sequence[JudgedRow]) -> dict[Verdict, int]:
    """How many rows have each verdict."""
    counted = Counter(row.verdict for row in rows)
    return {verdict: counted[verdict] for verdict in Verdict}

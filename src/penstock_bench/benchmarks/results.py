"""Results of suites as JSON files: of each run the figures, the goals and where they come from.

``benchmarks`` in the repository holds one file per suite that takes long; pages with tables are
rendered from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError
from penstock.files.writer import to_json
from penstock.report.page import (
    Cell,
    Column,
    Document,
    Number,
    Section,
    Table,
    Tag,
    Tone,
    paragraph,
)
from penstock.report.page.wording import amount
from penstock.report.provenance import Provenance
from penstock_bench.benchmarks.suite import FigureTable, Report, Result

FORMAT, VERSION = "penstock/bench-results", 1
#: ``benchmarks`` beside ``src``, where the package runs from a checkout.
RESULTS_FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"


@dataclass(frozen=True)
class SuiteRun:
    """What one run of a suite, or of a part of it, came to."""

    suite: str
    provenance: Provenance
    report: Report
    #: Above its goals, where several runs stand in one file.
    title: str = "Goals"
    #: What its readers must know about it.
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "results": [result.to_dict() for result in self.report.results],
            "tables": [table.to_dict() for table in self.report.tables],
            "failures": self.report.failures,
            **({"left_out": self.report.left_out} if self.report.left_out else {}),
            "interrupted": self.report.interrupted,
            "title": self.title,
            "remark": self.remark,
            "run": self.provenance.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> SuiteRun:
        return cls(
            suite=content["suite"],
            provenance=Provenance(**content["run"]),
            report=Report(
                [Result.from_dict(row) for row in content["results"]],
                [FigureTable(**table) for table in content["tables"]],
                content["failures"],
                content.get("left_out", []),
                content["interrupted"],
            ),
            title=content["title"],
            remark=content["remark"],
        )


def read_runs(path: Path) -> list[SuiteRun]:
    """The runs of a file in their order."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ValueError(f"is not {FORMAT}, version {VERSION}")
        return [SuiteRun.from_dict(run) for run in content["runs"]]
    except OSError as error:
        raise InputError(Finding(f"cannot be read: {error.strerror}", str(path))) from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            Finding(f"is not a file of benchmark results: {error}", str(path))
        ) from None


def runs_text(runs: Sequence[SuiteRun]) -> str:
    """The file that :func:`read_runs` reads."""
    return to_json({"format": FORMAT, "version": VERSION, "runs": [run.to_dict() for run in runs]})


def with_run(runs: Sequence[SuiteRun], run: SuiteRun) -> list[SuiteRun]:
    """The runs with a new one; it takes the place of one by the same command."""
    others = [one for one in runs if one.provenance.command != run.provenance.command]
    return [*others, run]


def results_page(runs: Sequence[SuiteRun]) -> Document:
    """Every run: where it comes from, its tables, its goals."""
    return Document("", tuple(section for run in runs for section in _sections(run)))


def figures_page(run: SuiteRun) -> Document:
    """A run as it is printed: its tables and its goals."""
    sections = [_figures(table) for table in run.report.tables]
    return Document("", (*sections, Section("", (_goals(run.report.results),))))


def _sections(run: SuiteRun) -> list[Section]:
    source = "; ".join(f"{name} {value}" for name, value in run.provenance.named.items())
    about = [paragraph(f"{source}.")] + ([paragraph(run.remark)] if run.remark else [])
    sections = [Section("", tuple(about)), *map(_figures, run.report.tables)]
    if run.report.results:
        sections.append(Section(run.title, (_goals(run.report.results),)))
    return sections


def _figures(table: FigureTable) -> Section:
    columns = tuple(Column(name, right=i > 0) for i, name in enumerate(table.columns))
    rows = tuple(tuple(row) for row in table.rows)
    return Section(table.title, (Table("", columns, rows),))


def _goals(results: Sequence[Result]) -> Table:
    columns = (
        Column("benchmark"),
        Column("value"),
        Column("unit"),
        Column("spread"),
        Column("goal"),
        Column("holds"),
    )
    return Table("", columns, tuple(_goal(result) for result in results))


def _goal(result: Result) -> tuple[Cell, ...]:
    verdict: Cell = ""
    if result.holds is not None:
        verdict = Tag("yes", Tone.GOOD) if result.holds else Tag("NO", Tone.BAD)
    elif result.goal is not None:
        verdict = "not judged"
    return (
        result.name,
        Number(result.value),
        result.unit,
        f"{amount(result.least)} … {amount(result.most)}",
        result.goal_text,
        verdict,
    )

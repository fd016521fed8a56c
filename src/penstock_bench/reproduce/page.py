"""The page: what was published, what comes out here, and what Penstock's own scheduler adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.report.charts.bars import Bar, Mark, bars_svg
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Items,
    KeyFigure,
    KeyFigures,
    Note,
    Number,
    Section,
    Source,
    Table,
    Tone,
    paragraph,
)
from penstock.report.page.wording import amount
from penstock_bench.reproduce.figures import FiguresByName
from penstock_bench.reproduce.judged import JudgedRow, tally
from penstock_bench.reproduce.measures import change_percent
from penstock_bench.reproduce.paper_fields import BOUND, PLANS, Experiment
from penstock_bench.reproduce.paper_file import Paper
from penstock_bench.reproduce.runner import Results
from penstock_bench.reproduce.verdict import Verdict
from penstock_bench.reproduce.words import (
    figure_cell,
    heading_of,
    near_enough,
    ours_cell,
    published_cell,
    verdict_tag,
)

_OWN, _DEFAULT, _OPTIMAL = "penstock", "default", "optimal"
_THROUGHPUT = "throughput_per_s"
_VERDICTS = (
    "A row is reproduced if our number is as near as its column says. That was written down before "
    "the first run, by kind of figure: changes in percent within 5 points, rates and ratios within "
    "10 %, counts within 1 or 10 %, machines within 1, limits as they stand. A number on the other "
    "side of no difference is never reproduced. Same direction: further off, but on the same side; "
    "counts in the same order. Not reproduced: neither."
)


def build_page(
    papers: Sequence[Paper], rows: Sequence[JudgedRow], results: Results, provenance: dict[str, str]
) -> Document:
    """Summary, what our scheduler adds, each paper's figures and tables, how it was made."""
    sections = [_summary(papers, rows, results), _what_ours_adds(papers, results)]
    for paper in papers:
        for experiment in paper.experiments:
            own = [r for r in rows if r.paper == paper.name and r.experiment is experiment]
            sections.append(_experiment(paper, experiment, own, results))
    sections.append(_how_made(provenance))
    return Document(
        "The papers' evaluations, side by side with ours",
        tuple(sections),
        subtitle="; ".join(paper.title for paper in papers),
        kind="reproduction",
    )


def _summary(papers: Sequence[Paper], rows: Sequence[JudgedRow], results: Results) -> Section:
    counted = tally(rows)
    tiles = tuple(
        KeyFigure(verdict.value, Number(counted[verdict]), f"of {len(rows)} rows")
        for verdict in Verdict
        if counted[verdict] or verdict is not Verdict.NOT_JUDGED
    )
    columns = (Column("paper"), Column("rows"), *(Column(v.value) for v in Verdict))
    by_paper: list[tuple[Cell, ...]] = []
    for paper in papers:
        own = [row for row in rows if row.paper == paper.name]
        verdicts = tally(own)
        by_paper.append((paper.name, len(own), *(verdicts[verdict] for verdict in Verdict)))
    blocks: list[Block] = [
        KeyFigures(tiles),
        Table("Verdicts by paper", columns, tuple(by_paper)),
        Note(_VERDICTS),
    ]
    if results.stopped:
        blocks.append(Note("Stopped early: rows without a figure were not run.", Tone.BAD))
    for (paper_name, name), error in results.errors.items():
        blocks.append(Note(f"{paper_name}, setting {name} failed: {error}", Tone.BAD))
    return Section("Summary", tuple(blocks))


# -- what our scheduler adds ----------------------------------------------------------------------


def _what_ours_adds(papers: Sequence[Paper], results: Results) -> Section:
    blocks: list[Block] = [
        paragraph(
            "Throughput of the plans, all components added up, by the cost model, in every setting "
            "that was planned. The bound is one that no plan can exceed."
        )
    ]
    for paper in papers:
        figures = results.figures.get((paper.name, paper.headline))
        if figures is not None and _OWN in figures:
            blocks.append(_bars(paper, figures))
    for paper in papers:
        lines = tuple(_added(paper, results))
        if lines:
            blocks.append(Table(f"{paper.name}, every setting", _ADDED, lines, folded=True))
    return Section("What Penstock adds", tuple(blocks))


_ADDED = (
    Column("setting"),
    Column("default", "tuples/s"),
    Column("the paper's", "tuples/s"),
    Column("optimal", "tuples/s"),
    Column("penstock", "tuples/s"),
    Column("bound", "tuples/s"),
    Column("penstock over the paper's", "%"),
)


def _added(paper: Paper, results: Results) -> Iterator[tuple[Cell, ...]]:
    for name, setting in paper.settings.items():
        figures = results.figures.get((paper.name, name))
        if figures is None or setting.kind != PLANS:
            continue
        theirs = max((_throughput(figures, s) or 0.0 for s in paper.proposes), default=0.0) or None
        ours = _throughput(figures, _OWN)
        gain = None if ours is None or theirs is None else change_percent(ours, theirs, "against")
        yield (
            name,
            _throughput(figures, _DEFAULT),
            theirs,
            _throughput(figures, _OPTIMAL),
            ours,
            _throughput(figures, BOUND),
            gain,
        )


def _throughput(figures: FiguresByName, scheduler: str) -> float | None:
    value = figures.get(scheduler, {}).get(_THROUGHPUT)
    return value if isinstance(value, float) else None


def _bars(paper: Paper, figures: FiguresByName) -> Figure:
    setting = paper.settings[paper.headline]
    title = f"{', '.join(setting.topology)} on {setting.cluster} ({paper.name})"
    labels = [use.shown for use in setting.uses]
    values = {label: _throughput(figures, label) for label in labels}
    bars = [
        Bar(label, value, "no plan" if value is None else amount(value), strong=label == _OWN)
        for label, value in values.items()
    ]
    bound = _throughput(figures, BOUND)
    marks = [] if bound is None else [Mark(bound, f"bound {amount(bound)}")]
    words = ", ".join(f"{bar.name} {bar.words}" for bar in bars)
    rows = tuple((label, value) for label, value in {**values, BOUND: bound}.items())
    data = Table(title, (Column("scheduler"), Column("throughput", "tuples/s")), rows, folded=True)
    return Figure(
        f"Throughput of {title}",
        f"Bars of the throughput of {title}: {words}.",
        lambda width: bars_svg(bars, marks, "tuples/s", width),
        data,
    )


# -- one figure or table of a paper ---------------------------------------------------------------

_ROWS = (
    Column("what"),
    Column("verdict"),
    Column("published", source=Source.PUBLISHED),
    Column("ours"),
    Column("unit"),
    Column("near enough"),
)


def _experiment(
    paper: Paper, experiment: Experiment, rows: Sequence[JudgedRow], results: Results
) -> Section:
    blocks: list[Block] = []
    if paper.experiments[0] is experiment and paper.about:
        blocks.append(paragraph(paper.about))
    if experiment.unsaid:
        blocks.append(Note(f"Left open by the paper: {experiment.unsaid}"))
    blocks.append(_rows(experiment, rows))
    remarks = _remarks(rows)
    if remarks:
        blocks.append(Items(tuple(paragraph(text) for text in remarks)))
    blocks += _schedulers(paper, experiment, results)
    return Section(f"{paper.name}, {experiment.source}: {experiment.title}", tuple(blocks))


def _rows(experiment: Experiment, rows: Sequence[JudgedRow]) -> Table:
    lines: list[tuple[Cell, ...]] = [
        (
            f"{number}. {judged.row.what}",
            verdict_tag(judged.verdict),
            published_cell(judged.row),
            ours_cell(judged),
            judged.row.unit,
            near_enough(judged.row),
        )
        for number, judged in enumerate(rows, 1)
    ]
    return Table(f"{experiment.source}, published and ours", _ROWS, tuple(lines))


def _remarks(rows: Sequence[JudgedRow]) -> list[str]:
    """Each remark once, with the numbers of the rows that it is about."""
    about: dict[str, list[int]] = {}
    for number, judged in enumerate(rows, 1):
        for remark in judged.remarks:
            about.setdefault(remark, []).append(number)
    remarks = []
    best = [f"{n} {judged.best}" for n, judged in enumerate(rows, 1) if judged.best]
    if best:
        remarks.append(f"Which it is here, by row: {'; '.join(best)}.")
    for remark, numbers in about.items():
        which = "" if len(numbers) == len(rows) else f"{_row_numbers(numbers)}: "
        remarks.append(which + remark)
    return remarks


def _row_numbers(numbers: Sequence[int]) -> str:
    """``Rows 1 to 3, 7``"""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"Row{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def _schedulers(paper: Paper, experiment: Experiment, results: Results) -> Iterator[Block]:
    """Every scheduler in every setting of the experiment, with the bound."""
    if not experiment.shows:
        return
    headings = [heading_of(figure) for figure in experiment.shows]
    columns = (Column("setting"), Column("scheduler"), *(Column(n, unit) for n, unit in headings))
    lines: list[tuple[Cell, ...]] = []
    for name in experiment.settings:
        for label, figures in results.figures.get((paper.name, name), {}).items():
            cells = [figure_cell(figure, figures.get(figure)) for figure in experiment.shows]
            if any(cell is not None for cell in cells):
                lines.append((name, label, *cells))
    if lines:
        yield Table(f"{experiment.source}, every scheduler", columns, tuple(lines), folded=True)


def _how_made(provenance: dict[str, str]) -> Section:
    table = Table("", (Column("what"), Column("value")), tuple(provenance.items()))
    return Section("How this page was made", (table,))

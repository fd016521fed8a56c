"""A page as plain text for a terminal, a pipe or a file, as wide as there is room.

Tables have no lines: columns stand two blanks apart, numbers to the right. A table that is wider
than the terminal first folds its words and headings; if its numbers still have no room, its columns
are shown in several blocks that each begin with the first column.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as Grid
from rich.text import Text

from penstock.errors import escaped
from penstock.report.page.document import (
    Block,
    Column,
    Document,
    FieldList,
    Figure,
    Items,
    KeyFigures,
    Note,
    Number,
    Paragraph,
    Table,
    Tag,
    Tone,
    TypedCell,
)
from penstock.report.page.wording import cell_text, legend, part_text, shown

_GAP = 2
_BAR = 24
#: Words are folded to no fewer letters than this.
_NARROWEST_WORDS = 16
#: Of a text file, which nobody can make wider or narrower.
_FILE_WIDTH = 120
_STYLES = {Tone.GOOD: "bold green", Tone.FAIR: "yellow", Tone.BAD: "red", Tone.PLAIN: ""}


def to_text(page: Document, width: int = _FILE_WIDTH) -> str:
    """The whole page without colours, no line wider than ``width`` where that can be."""
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, emoji=False, color_system=None)
    console.print(renderable(page), markup=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def renderable(page: Document, *, bars: bool = False) -> RenderableType:
    """What rich prints; with ``bars``, columns that ask for it are drawn as bars, too."""
    parts: list[RenderableType] = [_text(page.title, "bold")] if page.title else []
    if page.subtitle:
        parts.append(_text(page.subtitle, "dim"))
    for number, section in enumerate(page.sections):
        if number > 0 or (section.title and parts):
            parts.append("")
        if section.title:
            parts.append(_text(section.title, "bold"))
        parts += [part for block in section.blocks for part in _block(block, bars=bars)]
    if legend(page):
        parts += ["", _text(legend(page), "dim")]
    return Group(*parts)


def _text(words: str, style: str = "") -> Text:
    return Text(escaped(words), style)


def _block(block: Block, *, bars: bool) -> Iterator[RenderableType]:
    if isinstance(block, Paragraph):
        yield _words(block)
    elif isinstance(block, Items):
        yield from (Text.assemble("- ", _words(item)) for item in block.items)
    elif isinstance(block, FieldList):
        yield _fields(block.fields)
    elif isinstance(block, KeyFigures):
        yield _fields(
            [
                (f.name, Paragraph((f.number, f" {f.about}" if f.about else "")))
                for f in block.figures
            ]
        )
    elif isinstance(block, Note):
        plain = block.tone is Tone.PLAIN
        yield _text(f"note: {block.text}" if plain else block.text, _note_style(block.tone))
    elif isinstance(block, Figure):
        # Its caption is about colours and lines.
        yield _text(block.alt)
        if block.data is not None:
            yield from _table(block.data, bars=bars)
    else:
        yield from _table(block, bars=bars)


def _note_style(tone: Tone) -> str:
    return "dim" if tone is Tone.PLAIN else _STYLES[tone]


def _fields(rows: Sequence[tuple[str, Paragraph]]) -> Grid:
    grid = Grid.grid(padding=(0, _GAP))
    for name, content in rows:
        grid.add_row(_text(name), _words(content))
    return grid


def _words(content: Paragraph) -> Text:
    return Text.assemble(*(_part(part) for part in content.parts))


def _part(part: str | Number | Tag) -> Text:
    return _text(part_text(part), _STYLES[part.tone] if isinstance(part, Tag) else "")


def _table(table: Table, *, bars: bool) -> Iterator[RenderableType]:
    if table.caption:
        yield ""
        yield _text(table.caption, "dim")
    yield _TableText(table, bars)


@dataclass(frozen=True)
class _TextColumn:
    """A column as it is printed."""

    heading: str
    cells: tuple[Text, ...]
    is_numeric: bool

    @property
    def narrowest(self) -> int:
        """Headings break between words, numbers nowhere, words where they must."""
        widest_cell = max((cell.cell_len for cell in self.cells), default=0)
        if not self.is_numeric:
            widest_cell = min(widest_cell, _NARROWEST_WORDS)
        return max([widest_cell, *(cell_len(word) for word in self.heading.split())])

    @property
    def widest(self) -> int:
        return max([cell_len(self.heading), *(cell.cell_len for cell in self.cells)])


@dataclass(frozen=True)
class _TableText:
    """A table that fits itself into the width there is."""

    table: Table
    bars: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        columns = list(_columns(self.table, bars=self.bars))
        for number, block in enumerate(_blocks(columns, options.max_width)):
            if number:
                yield ""
            yield _grid(block, _widths(block, options.max_width))


def _columns(table: Table, *, bars: bool) -> Iterator[_TextColumn]:
    rows = list(table.cells())
    for i, column in enumerate(table.columns):
        cells = [row[i] for row in rows]
        numeric = table.is_numeric(i)
        yield _TextColumn(_heading(column), tuple(_cell(c, column) for c in cells), numeric)
        if column.bar and bars:
            yield _TextColumn("", tuple(_bar(cell) for cell in cells), is_numeric=True)


def _heading(column: Column) -> str:
    """Percent signs stand in the cells, and a rate is ``rate/s``."""
    if column.unit == "tuples/s" and " " not in column.name:
        return f"{column.name}/s"
    return column.name if column.unit == "%" else column.heading


def _cell(cell: TypedCell, column: Column) -> Text:
    if isinstance(cell, Paragraph):
        return _words(cell)
    if isinstance(cell, Number) and column.unit == "%":
        return _text(shown(cell, with_unit=cell.value is not None))
    return _text(cell_text(cell), _STYLES[cell.tone] if isinstance(cell, Tag) else "")


def _bar(cell: TypedCell) -> Text:
    part = (cell.value or 0.0) / 100.0 if isinstance(cell, Number) else 0.0
    filled = min(_BAR, round(part * _BAR))
    style = "red" if part > 1 + 1e-9 else "green" if part > 0.5 else "yellow"
    return _text("█" * filled + "░" * (_BAR - filled), style)


def _blocks(columns: list[_TextColumn], width: int) -> Iterator[list[_TextColumn]]:
    """The columns in as few blocks as fit, each beginning with the first column."""
    first, *others = columns
    block, width_so_far = [first], first.narrowest
    for column in others:
        if len(block) > 1 and width_so_far + _GAP + column.narrowest > width:
            yield block
            block, width_so_far = [first], first.narrowest
        block.append(column)
        width_so_far += _GAP + column.narrowest
    yield block


def _widths(columns: Sequence[_TextColumn], width: int) -> list[int]:
    """What each column would like to have; where that is too much, the widest give way first."""
    widths = [column.widest for column in columns]
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        able = [i for i, column in enumerate(columns) if widths[i] > column.narrowest]
        if not able:
            break
        widths[max(able, key=lambda i: widths[i])] -= 1
    return widths


def _grid(columns: Sequence[_TextColumn], widths: Sequence[int]) -> Grid:
    grid = Grid(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column, wide in zip(columns, widths, strict=True):
        grid.add_column(
            _text(column.heading),
            justify="right" if column.is_numeric else "left",
            width=wide,
            overflow="fold",
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*row)
    return grid

"""What a page is made of; no view is known here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import TypeAlias, TypeVar

Row = TypeVar("Row")


class Source(StrEnum):
    """Where a number comes from."""

    RUN = "run"
    PUBLISHED = "published"
    GIVEN = "given"


#: What the reader sees beside a number that is not from a run on this machine, and what it means.
MARKS = {Source.RUN: "", Source.PUBLISHED: "†", Source.GIVEN: "‡"}
MEANINGS = {
    Source.RUN: "from a run on this machine",
    Source.PUBLISHED: "as published, not run here",
    Source.GIVEN: "from a file that was given, not run here",
}


class Tone(StrEnum):
    """How a word is meant. The word alone says it, too."""

    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Number:
    """A number in its unit, with its source; ``None`` where it is not known.

    Whole numbers are counts. ``low`` and ``high`` are the ends of its spread, ``margin`` half the
    width of its interval, in the same unit. ``digits`` is how many follow the point, where views
    for people should not decide; ``signed`` shows a plus, for changes.
    """

    value: float | int | None
    unit: str = ""
    source: Source = Source.RUN
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    digits: int | None = None
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Tag:
    """A word with a tone, such as a verdict."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words with numbers between them. In a cell of a table it shows the units of its numbers."""

    parts: tuple[str | Number | Tag, ...]


Cell: TypeAlias = str | float | int | Number | Tag | Paragraph | None
#: A cell as the views get it.
TypedCell: TypeAlias = str | Number | Tag | Paragraph


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. A column with neither unit nor numbers is text.

    ``digits`` and ``signed`` hold for its bare numbers, as in :class:`Number`; ``bar``: a terminal
    draws its percentages as bars, too; ``right``: its words are numbers with their units.
    """

    name: str
    unit: str = ""
    source: Source = Source.RUN
    digits: int | None = None
    signed: bool = False
    bar: bool = False
    right: bool = False

    @property
    def heading(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """Rows under typed headings. ``folded``: HTML shows it only when it is opened."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False

    def __post_init__(self) -> None:
        wrong = [i for i, row in enumerate(self.rows) if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"{self.caption}: rows {wrong} have not {len(self.columns)} cells")

    def cells(self) -> Iterator[tuple[TypedCell, ...]]:
        """The rows with every bare number as a :class:`Number` of its column."""
        for row in self.rows:
            yield tuple(_typed(c, column) for c, column in zip(row, self.columns, strict=True))

    def is_numeric(self, index: int) -> bool:
        """Whether a column holds numbers, with or without a word here and there.

        Such columns are set to the right.
        """
        known = [row[index] for row in self.rows if row[index] is not None]
        column = self.columns[index]
        return bool(column.unit or column.right) or (
            bool(known) and 2 * sum(map(_begins_with_number, known)) >= len(known)
        )

    def without_unknown(self) -> Table:
        """The same without columns in which nothing is known."""
        known = [
            i
            for i in range(len(self.columns))
            if any(_is_known(row[i]) for row in self.rows) or not self.rows
        ]
        return replace(
            self,
            columns=tuple(self.columns[i] for i in known),
            rows=tuple(tuple(row[i] for i in known) for row in self.rows),
        )


def _begins_with_number(cell: Cell) -> bool:
    if isinstance(cell, Paragraph):
        return any(isinstance(part, Number) for part in cell.parts[:2])  # as in "≥ 12"
    return isinstance(cell, (float, int, Number))


def _is_known(cell: Cell) -> bool:
    return cell is not None and not (isinstance(cell, Number) and cell.value is None)


def _typed(cell: Cell, column: Column) -> TypedCell:
    if cell is None or isinstance(cell, (float, int)):
        return Number(cell, column.unit, column.source, digits=column.digits, signed=column.signed)
    return cell


@dataclass(frozen=True, slots=True)
class Items:
    """A list of short paragraphs."""

    items: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class FieldList:
    """Names with what is to be said of each."""

    fields: tuple[tuple[str, Paragraph], ...]


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One number that the reader should see first."""

    name: str
    number: Number
    about: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The few numbers that matter most, side by side."""

    figures: tuple[KeyFigure, ...]


@dataclass(frozen=True)
class Figure:
    """A picture. ``draw`` takes a width in pixels and gives an SVG element of that width.

    ``alt`` says in words what is to be seen; ``data`` says it in numbers.
    """

    caption: str
    alt: str
    draw: Callable[[int], str]
    data: Table | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What the reader must know before trusting the numbers above it."""

    text: str
    tone: Tone = Tone.PLAIN


Block: TypeAlias = Paragraph | Items | FieldList | Table | Figure | Note | KeyFigures


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, if it has one, and what stands under it."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def id(self) -> str:
        """Its name in links."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "section"


@dataclass(frozen=True, slots=True)
class Document:
    """A whole page. ``kind`` and ``version`` name its JSON format: ``penstock/report``."""

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    kind: str = "report"
    version: int = 1

    def numbers(self) -> Iterator[Number]:
        """Every number on the page, in the order of reading."""
        for section in self.sections:
            for block in section.blocks:
                yield from _numbers(block)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Which sources its numbers have, for the legend."""
        seen = {number.source for number in self.numbers() if number.value is not None}
        return tuple(source for source in Source if source in seen)


def _numbers(block: Block | TypedCell) -> Iterator[Number]:
    if isinstance(block, Number):
        yield block
    elif isinstance(block, Paragraph):
        yield from (part for part in block.parts if isinstance(part, Number))
    elif isinstance(block, Items):
        yield from chain.from_iterable(map(_numbers, block.items))
    elif isinstance(block, FieldList):
        yield from chain.from_iterable(_numbers(content) for _, content in block.fields)
    elif isinstance(block, KeyFigures):
        yield from (figure.number for figure in block.figures)
    elif isinstance(block, Table):
        yield from chain.from_iterable(_numbers(cell) for row in block.cells() for cell in row)
    elif isinstance(block, Figure) and block.data is not None:
        yield from _numbers(block.data)


def table_of(rows: Iterable[Row], *columns: tuple[Column, Callable[[Row], Cell]]) -> Table:
    """A line for each row, with columns that say how they read it."""
    return Table(
        "",
        tuple(column for column, _ in columns),
        tuple(tuple(read(row) for _, read in columns) for row in rows),
    )


def paragraph(*parts: str | Number | Tag) -> Paragraph:
    return Paragraph(parts)


def field_list(named: Mapping[str, str | Number | Paragraph]) -> FieldList:
    """What is to be said of each name; nothing to say leaves the name out."""
    return FieldList(
        tuple(
            (name, content if isinstance(content, Paragraph) else Paragraph((content,)))
            for name, content in named.items()
            if content
        )
    )


def percent(
    fraction: float | None,
    source: Source = Source.RUN,
    *,
    digits: int | None = None,
    signed: bool = False,
) -> Number:
    """A part of one as a number in percent."""
    value = None if fraction is None else 100.0 * fraction
    return Number(value, "%", source, digits=digits, signed=signed)


def published(value: float | None, unit: str = "") -> Number:
    """A number from a paper."""
    return Number(value, unit, Source.PUBLISHED)

"""A page as one CSV table in long form: a line for every cell, with its unit and its source."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from penstock.report.page.document import (
    Block,
    Document,
    FieldList,
    Figure,
    Items,
    KeyFigures,
    Note,
    Number,
    Paragraph,
    Table,
)
from penstock.report.page.wording import part_text, words

HEADINGS = ("section", "block", "row", "column", "unit", "value", "low", "high", "source")
#: A spreadsheet would take text that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

Line = tuple[str, ...]


def to_csv(page: Document) -> str:
    """Text has the source ``text``; numbers have full precision and a point."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADINGS)
    for section in page.sections:
        for block in section.blocks:
            writer.writerows((section.title, *line) for line in _lines(block))
    return out.getvalue()


def _lines(block: Block) -> Iterator[Line]:
    if isinstance(block, Paragraph):
        yield from _words(block, ("paragraph", "", ""))
    elif isinstance(block, Items):
        for item in block.items:
            yield from _lines(item)
    elif isinstance(block, FieldList):
        for name, content in block.fields:
            yield from _words(content, ("fields", _text(name), ""))
    elif isinstance(block, Note):
        yield ("note", "", "", "", _text(block.text), "", "", "text")
    elif isinstance(block, KeyFigures):
        for one in block.figures:
            yield ("key figures", _text(one.name), "value", *_number(one.number))
            if one.about:
                yield (
                    "key figures",
                    _text(one.name),
                    "about",
                    "",
                    _text(one.about),
                    "",
                    "",
                    "text",
                )
    elif isinstance(block, Figure):
        yield (_text(block.caption), "", "", "", _text(block.alt), "", "", "text")
        if block.data:
            yield from _table(block.data)
    else:
        yield from _table(block)


def _table(table: Table) -> Iterator[Line]:
    caption = _text(table.caption)
    for number, row in enumerate(table.cells(), start=1):
        for column, cell in zip(table.columns, row, strict=True):
            where = (caption, str(number), _text(column.name))
            if isinstance(cell, Number):
                yield (*where, *_number(cell))
            elif isinstance(cell, Paragraph):
                yield from _words(cell, where)
            else:
                yield (*where, "", _text(part_text(cell)), "", "", "text")


def _words(content: Paragraph, where: tuple[str, str, str]) -> Iterator[Line]:
    """The sentence, and each of its numbers on a line of its own."""
    yield (*where, "", _text(words(content)), "", "", "text")
    for part in content.parts:
        if isinstance(part, Number):
            yield (*where, *_number(part))


def _number(number: Number) -> tuple[str, str, str, str, str]:
    low, high = number.low, number.high
    if number.margin is not None and number.value is not None:
        low, high = number.value - number.margin, number.value + number.margin
    return (number.unit, _full(number.value), _full(low), _full(high), str(number.source))


def _full(value: float | int | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return str(value) if isinstance(value, int) else repr(float(value))


def _text(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text

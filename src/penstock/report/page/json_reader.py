"""A page read back from its JSON; pictures are not in it, their words and numbers are."""

from __future__ import annotations

from typing import Any

from penstock.errors import InputError
from penstock.report.page.document import (
    Block,
    Column,
    Document,
    FieldList,
    Figure,
    Items,
    KeyFigure,
    KeyFigures,
    Note,
    Number,
    Paragraph,
    Section,
    Source,
    Table,
    Tag,
    Tone,
    TypedCell,
)


def from_dict(content: dict[str, Any]) -> Document:
    """The page of which :func:`penstock.report.page.json_view.to_dict` gave this."""
    try:
        return Document(
            content["title"],
            tuple(
                Section(section["title"], tuple(_block(block) for block in section["blocks"]))
                for section in content["sections"]
            ),
            content["subtitle"],
            content["format"].removeprefix("penstock/"),
            content["version"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this JSON is not a page of Penstock: {error!r}") from None


def _block(block: dict[str, Any]) -> Block:
    match block["kind"]:
        case "paragraph":
            return Paragraph((block["text"],))
        case "items":
            return Items(tuple(Paragraph((item["text"],)) for item in block["items"]))
        case "fields":
            return FieldList(
                tuple((field["name"], Paragraph((field["text"],))) for field in block["fields"])
            )
        case "note":
            return Note(block["text"], Tone(block["tone"]))
        case "key figures":
            return KeyFigures(
                tuple(
                    KeyFigure(figure["name"], _number(figure), figure["about"])
                    for figure in block["figures"]
                )
            )
        case "figure":
            data = _table(block["data"]) if block["data"] else None
            return Figure(block["caption"], block["alt"], lambda _width: "", data)
        case "table":
            return _table(block)
    raise ValueError(f"no block is a {block['kind']}")


def _table(table: dict[str, Any]) -> Table:
    columns = tuple(Column(column["name"], column["unit"]) for column in table["columns"])
    return Table(
        table["caption"], columns, tuple(tuple(_cell(c) for c in row) for row in table["rows"])
    )


def _cell(cell: Any) -> TypedCell:
    if isinstance(cell, str):
        return cell
    if "tone" in cell:
        return Tag(cell["text"], Tone(cell["tone"]))
    return Paragraph((cell["text"],)) if "text" in cell else _number(cell)


def _number(number: dict[str, Any]) -> Number:
    return Number(
        number["value"],
        number["unit"],
        Source(number["source"]),
        number.get("low"),
        number.get("high"),
        number.get("margin"),
    )

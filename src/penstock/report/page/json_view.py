"""A page as JSON: every number with its unit and its source, in full precision."""

from __future__ import annotations

import math
from typing import Any

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
    Tag,
    TypedCell,
)
from penstock.report.page.wording import words


def to_dict(page: Document) -> dict[str, Any]:
    """The page as ``--json`` prints it."""
    return {
        "format": f"penstock/{page.kind}",
        "version": page.version,
        "title": page.title,
        "subtitle": page.subtitle,
        "sections": [
            {"id": s.id, "title": s.title, "blocks": [_block(block) for block in s.blocks]}
            for s in page.sections
        ],
    }


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Paragraph):
        numbers = [cell(part) for part in block.parts if isinstance(part, Number)]
        return {"kind": "paragraph", "text": words(block), "numbers": numbers}
    if isinstance(block, Items):
        return {"kind": "items", "items": [_block(item) for item in block.items]}
    if isinstance(block, FieldList):
        fields = [{"name": name, **_block(content)} for name, content in block.fields]
        return {"kind": "fields", "fields": fields}
    if isinstance(block, Note):
        return {"kind": "note", "text": block.text, "tone": str(block.tone)}
    if isinstance(block, KeyFigures):
        figures = [
            {"name": one.name, "about": one.about, **cell(one.number)} for one in block.figures
        ]
        return {"kind": "key figures", "figures": figures}
    if isinstance(block, Figure):
        data = _table(block.data) if block.data else None
        return {"kind": "figure", "caption": block.caption, "alt": block.alt, "data": data}
    return _table(block)


def _table(table: Table) -> dict[str, Any]:
    return {
        "kind": "table",
        "caption": table.caption,
        "columns": [{"name": c.name, "unit": c.unit} for c in table.columns],
        "rows": [[cell(value) for value in row] for row in table.cells()],
    }


def cell(value: TypedCell) -> Any:
    """Text as it is; a number with where it comes from."""
    if isinstance(value, str):
        return value
    if isinstance(value, Paragraph):
        return _block(value)
    if isinstance(value, Tag):
        return {"text": value.text, "tone": str(value.tone)}
    number: dict[str, Any] = {
        "value": _finite(value.value),
        "unit": value.unit,
        "source": str(value.source),
    }
    if value.low is not None or value.high is not None:
        number |= {"low": _finite(value.low), "high": _finite(value.high)}
    if value.margin is not None:
        number["margin"] = _finite(value.margin)
    return number


def _finite(value: float | int | None) -> float | int | None:
    """JSON knows neither infinity nor NaN."""
    return value if value is not None and math.isfinite(value) else None

"""A page as Markdown, as GitHub and most wikis read it."""

from __future__ import annotations

import re

from penstock.errors import escaped
from penstock.report.page.document import (
    Block,
    Document,
    FieldList,
    Figure,
    Items,
    KeyFigures,
    Note,
    Paragraph,
    Table,
)
from penstock.report.page.wording import cell_text, legend, part_text, shown

#: What Markdown or HTML would read as more than the character itself.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!])")


def to_markdown(page: Document, level: int = 1) -> str:
    """The whole page; names of users are text, never markup. ``level`` is that of its title."""
    parts = [f"{'#' * level} {_text(page.title)}"] if page.title else []
    if page.subtitle:
        parts.append(_text(page.subtitle))
    for section in page.sections:
        parts += [f"{'#' * (level + 1)} {_text(section.title)}"] if section.title else []
        parts += [_block(block) for block in section.blocks]
    if legend(page):
        parts.append(legend(page))
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return "".join(_text(part_text(part)) for part in block.parts)
    if isinstance(block, Items):
        return "\n".join(f"- {_block(item)}" for item in block.items)
    if isinstance(block, FieldList):
        return "\n".join(
            f"- **{_text(name)}**: {_block(content)}" for name, content in block.fields
        )
    if isinstance(block, Note):
        return f"> {_text(block.text)}"
    if isinstance(block, KeyFigures):
        return "\n".join(
            f"- **{_text(one.name)}**: {_text(shown(one.number, with_unit=True))}"
            + (f", {_text(one.about)}" if one.about else "")
            for one in block.figures
        )
    if isinstance(block, Figure):
        content = f"*{_text(block.caption)}* {_text(block.alt)}"
        return f"{content}\n\n{_table(block.data)}" if block.data else content
    return _table(block)


def _table(table: Table) -> str:
    heads = " | ".join(_text(column.heading) for column in table.columns)
    rules = " | ".join("---:" if table.is_numeric(i) else "---" for i in range(len(table.columns)))
    rows = [f"| {' | '.join(_text(cell_text(cell)) for cell in row)} |" for row in table.cells()]
    caption = f"**{_text(table.caption)}**\n\n" if table.caption else ""
    return caption + "\n".join([f"| {heads} |", f"| {rules} |", *rows])


def _text(text: str) -> str:
    one_line = text.replace("\n", " ").replace("\r", " ")
    # Markdown is shown in terminals as well, which must obey nothing in it.
    return _SPECIAL.sub(r"\\\1", escaped(one_line))

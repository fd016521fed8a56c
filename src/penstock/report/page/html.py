"""A page as one HTML file: no script, no request to anywhere, prints, reads on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from itertools import count

from penstock.report.page.document import (
    MARKS,
    MEANINGS,
    Block,
    Document,
    FieldList,
    Figure,
    Items,
    KeyFigures,
    Note,
    Number,
    Paragraph,
    Section,
    Source,
    Table,
    Tag,
    TypedCell,
)
from penstock.report.page.palette import on_white
from penstock.report.page.style import STYLE
from penstock.report.page.wording import shown

#: Widths a figure is drawn in, in pixels: for a phone and for everything else.
NARROW, WIDE = 320, 880
#: Nothing may be loaded and nothing run, whatever a name in a user's file says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


#: How a figure becomes a picture.
Draw = Callable[[Figure], str]


def to_html(page: Document) -> str:
    """The whole file."""
    ids = _unique_ids(page.sections)
    numbers = count(1)
    sections = "\n".join(
        _section(section, name, lambda figure: _two_widths(figure, next(numbers)))
        for section, name in zip(page.sections, ids, strict=True)
    )
    subtitle = f'<p class="subtitle">{escape(page.subtitle)}</p>' if page.subtitle else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="color-scheme" content="light dark">
<title>{escape(page.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{escape(page.title)}</h1>{subtitle}</header>
{_contents(page.sections, ids)}
<main>
{sections}
</main>
<footer>{_legend(page)}</footer>
</body>
</html>
"""


def to_fragment(page: Document) -> str:
    """The page inside another, such as a notebook, which has a style of its own."""

    def draw(figure: Figure) -> str:
        picture = on_white(figure.draw(WIDE))
        return f'<div role="img" aria-label="{escape(figure.alt)}">{picture}</div>'

    blocks = "\n".join(_block(block, draw) for section in page.sections for block in section.blocks)
    legend = _legend(page) if any(s is not Source.RUN for s in page.sources) else ""
    return f"<div><strong>{escape(page.title)}</strong>\n{blocks}{legend}</div>"


def _unique_ids(sections: tuple[Section, ...]) -> list[str]:
    ids: list[str] = []
    for section in sections:
        again = sum(name == section.id or name.startswith(f"{section.id}-again") for name in ids)
        ids.append(f"{section.id}-again{again}" if again else section.id)
    return ids


def _contents(sections: tuple[Section, ...], ids: list[str]) -> str:
    if len(sections) < 2:
        return ""
    links = "".join(
        f'<li><a href="#{name}">{escape(section.title)}</a></li>'
        for section, name in zip(sections, ids, strict=True)
        if section.title
    )
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _section(section: Section, name: str, draw: Draw) -> str:
    blocks = "\n".join(_block(block, draw) for block in section.blocks)
    heading = f"<h2>{escape(section.title)}</h2>\n" if section.title else ""
    return f'<section id="{name}">\n{heading}{blocks}\n</section>'


def _legend(page: Document) -> str:
    marked = [source for source in page.sources if source is not Source.RUN]
    marks = [f'<span class="mark">{MARKS[s]}</span> {MEANINGS[s]}' for s in marked]
    rest = f"{'all other' if marks else 'All'} numbers are {MEANINGS[Source.RUN]}"
    return f'<p class="legend">{"; ".join([*marks, rest])}.</p>'


def _block(block: Block, draw: Draw) -> str:
    if isinstance(block, Paragraph):
        return f"<p>{_words(block)}</p>"
    if isinstance(block, Items):
        return f"<ul>{''.join(f'<li>{_words(item)}</li>' for item in block.items)}</ul>"
    if isinstance(block, FieldList):
        rows = (
            f"<dt>{escape(name)}</dt><dd>{_words(content)}</dd>" for name, content in block.fields
        )
        return f'<dl class="fields">{"".join(rows)}</dl>'
    if isinstance(block, Note):
        return f'<p class="note {block.tone}">{escape(block.text)}</p>'
    if isinstance(block, KeyFigures):
        return _key_figures(block)
    if isinstance(block, Figure):
        return _figure(block, draw)
    return _table(block)


def _words(block: Paragraph) -> str:
    return "".join(_part(part) for part in block.parts)


def _key_figures(block: KeyFigures) -> str:
    tiles = "".join(
        f"<div><dt>{escape(one.name)}</dt><dd>{_part(one.number, with_unit=False)}"
        + (f' <span class="unit">{escape(one.number.unit)}</span>' if one.number.unit else "")
        + (f"<small>{escape(one.about)}</small>" if one.about else "")
        + "</dd></div>"
        for one in block.figures
    )
    return f'<dl class="tiles">{tiles}</dl>'


def _figure(figure: Figure, draw: Draw) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>"
    data = _table(figure.data) if figure.data else ""
    return f"<figure>{draw(figure)}{caption}</figure>{data}"


def _two_widths(figure: Figure, number: int) -> str:
    """For a phone and for everything else; the style shows one of them."""
    return "".join(
        f'<div class="{name}" role="img" aria-label="{escape(figure.alt)}">'
        f"{_own_ids(figure.draw(width), f'f{number}{name[0]}-')}</div>"
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )


def _own_ids(svg: str, prefix: str) -> str:
    """Several pictures share a page, so their ids must differ. Words are left as they are."""

    def own(tag: re.Match[str]) -> str:
        renamed = re.sub(r'\b(id="|href="#)', rf"\g<1>{prefix}", tag.group())
        return renamed.replace("url(#", f"url(#{prefix}")

    return re.sub(r"<[^>]+>", own, svg)


def _table(table: Table) -> str:
    numeric = [table.is_numeric(i) for i in range(len(table.columns))]
    heads = "".join(
        f'<th scope="col"{_right(right)}>{escape(column.name)}'
        + (f' <span class="unit">{escape(column.unit)}</span>' if column.unit else "")
        + "</th>"
        for column, right in zip(table.columns, numeric, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_right(right)}>{_cell(cell)}</td>"
            for cell, right in zip(row, numeric, strict=True)
        )
        + "</tr>"
        for row in table.cells()
    )
    caption = escape(table.caption)
    # Two columns of words fit everywhere if they may be wrapped.
    few = ' class="few"' if len(table.columns) <= 2 else ""
    inner = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption or "Table"}">'
        f"<table{few}>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    if table.folded:
        return f"<details><summary>{caption}</summary>{inner}</details>"
    head = f'<p class="caption">{caption}</p>' if caption else ""
    return f'<div class="table">{head}{inner}</div>'


def _right(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _cell(cell: TypedCell) -> str:
    return _words(cell) if isinstance(cell, Paragraph) else _part(cell, with_unit=False)


def _part(part: str | Number | Tag, *, with_unit: bool = True) -> str:
    if isinstance(part, str):
        return f"<bdi>{escape(part)}</bdi>" if not with_unit else escape(part)
    if isinstance(part, Tag):
        return f'<span class="tag {part.tone}">{escape(part.text)}</span>'
    text = escape(shown(part, with_unit=with_unit))
    mark = MARKS[part.source]
    if part.value is not None and mark:
        text = text.removesuffix(mark)
        text += f'<span class="mark" title="{MEANINGS[part.source]}">{mark}</span>'
    if part.value is None:
        return text
    value = str(part.value) if isinstance(part.value, int) else repr(float(part.value))
    return f'<data class="{part.source}" value="{value}">{text}</data>'

r"""A page as LaTeX: a document that compiles, whose tables can be taken into another.

Needs only packages that every TeX has: booktabs, longtable, geometry.
"""

from __future__ import annotations

from penstock.report.page.document import (
    MARKS,
    MEANINGS,
    Block,
    Document,
    Figure,
    Items,
    KeyFigures,
    Note,
    Number,
    Paragraph,
    Source,
    Table,
    Tag,
)
from penstock.report.page.wording import part_text, shown

_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs,longtable}
"""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "…": r"\ldots{}",
    "α": r"$\alpha$",
    "†": r"\textsuperscript{\textdagger}",
    "‡": r"\textsuperscript{\textdaggerdbl}",
    "·": r"$\cdot$",
    "\n": " ",
    "\r": " ",
}


def to_latex(page: Document) -> str:
    parts = [_HEAD, rf"\title{{{_text(page.title)}}}", r"\date{}", r"\begin{document}\maketitle"]
    if page.subtitle:
        parts.append(_text(page.subtitle) + "\n")
    for section in page.sections:
        parts.append(rf"\section{{{_text(section.title)}}}")
        parts += [_block(block) for block in section.blocks]
    legend = [f"{_text(MARKS[s])} {MEANINGS[s]}" for s in page.sources if s is not Source.RUN]
    if legend:
        parts.append("; ".join([*legend, "all other numbers are " + MEANINGS[Source.RUN]]) + ".")
    return "\n".join([*parts, r"\end{document}", ""])


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return "".join(_text(part_text(part)) for part in block.parts) + "\n"
    if isinstance(block, Items):
        items = [rf"\item {_block(item)}" for item in block.items]
        return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])
    if isinstance(block, Note):
        return rf"\begin{{quote}}{_text(block.text)}\end{{quote}}"
    if isinstance(block, KeyFigures):
        items = [
            rf"\item[{{{_text(one.name)}}}] {_text(shown(one.number, with_unit=True))}"
            + (f", {_text(one.about)}" if one.about else "")
            for one in block.figures
        ]
        return "\n".join([r"\begin{description}", *items, r"\end{description}"])
    if isinstance(block, Figure):
        told = rf"\emph{{{_text(block.caption)}}} {_text(block.alt)}" + "\n"
        return f"{told}\n{_table(block.data)}" if block.data else told
    return _table(block)


def _table(table: Table) -> str:
    places = "".join("r" if table.is_numeric(i) else "l" for i in range(len(table.columns)))
    heads = " & ".join(_text(column.heading) for column in table.columns) + r" \\"
    # In a group of its own, so that an opening bracket is no argument of the line before it.
    rows = [" & ".join(f"{{{_cell(cell)}}}" for cell in row) + r" \\" for row in table.cells()]
    caption = [rf"\caption{{{_text(table.caption)}}} \\"] if table.caption else []
    return "\n".join(
        [
            rf"\begin{{longtable}}{{{places}}}",
            *caption,
            r"\toprule",
            heads,
            r"\midrule\endhead",
            *rows,
            r"\bottomrule",
            r"\end{longtable}",
        ]
    )


def _cell(cell: str | Number | Tag) -> str:
    if isinstance(cell, Number):
        return _text(shown(cell, with_unit=False))
    return _text(part_text(cell))


def _text(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)

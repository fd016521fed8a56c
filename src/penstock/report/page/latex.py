r"""A page as LaTeX: a document that compiles, whose tables can be taken into another.

Needs only packages that every TeX has: booktabs, longtable, geometry.
"""

from __future__ import annotations

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

_HEAD = r"""\documentclass{article}
% \other is for letters that pdfTeX's fonts lack; LuaLaTeX and XeLaTeX show them.
\DeclareRobustCommand{\other}[2]{[U+#1]}
\ifdefined\directlua\usepackage{fontspec}\DeclareRobustCommand{\other}[2]{#2}
\else\ifdefined\XeTeXversion\usepackage{fontspec}\DeclareRobustCommand{\other}[2]{#2}
\else\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\fi\fi
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs,longtable}
"""
#: The last letter that every LaTeX knows without further packages.
_LAST_KNOWN = "\u017f"
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
        parts += [rf"\section{{{_text(section.title)}}}"] if section.title else []
        parts += [_block(block) for block in section.blocks]
    if legend(page):
        parts.append(_text(legend(page)))
    return "\n".join([*parts, r"\end{document}", ""])


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return "".join(_text(part_text(part)) for part in block.parts) + "\n"
    if isinstance(block, Items):
        items = [rf"\item {_block(item)}" for item in block.items]
        return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])
    if isinstance(block, FieldList):
        items = [rf"\item[{{{_text(name)}}}] {_block(content)}" for name, content in block.fields]
        return "\n".join([r"\begin{description}", *items, r"\end{description}"])
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
        content = rf"\emph{{{_text(block.caption)}}} {_text(block.alt)}" + "\n"
        return f"{content}\n{_table(block.data)}" if block.data else content
    return _table(block)


def _table(table: Table) -> str:
    places = "".join("r" if table.is_numeric(i) else "l" for i in range(len(table.columns)))
    heads = " & ".join(_text(column.heading) for column in table.columns) + r" \\"
    # In a group of its own, so that an opening bracket is no argument of the line before it.
    rows = [
        " & ".join(f"{{{_text(cell_text(cell))}}}" for cell in row) + r" \\"
        for row in table.cells()
    ]
    caption = [rf"\caption{{{_text(table.caption)}}} \\"] if table.caption else []
    return "\n".join(
        [
            rf"{{\small\begin{{longtable}}{{{places}}}",
            *caption,
            r"\toprule",
            heads,
            r"\midrule\endhead",
            *rows,
            r"\bottomrule",
            r"\end{longtable}}",
        ]
    )


def _text(text: str) -> str:
    return "".join(_letter(character) for character in escaped(text))


def _letter(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character > _LAST_KNOWN:
        return rf"\other{{{ord(character):04X}}}{{{character}}}"
    return character

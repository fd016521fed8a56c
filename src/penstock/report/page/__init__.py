"""A page of results: built once, rendered six ways with the same facts.

Build a :class:`Document` from results, then give it to a view::

    from penstock.report.page import Column, Document, Number, Section, Source, Table, paragraph
    from penstock.report.page.html import to_html

    rates = Table(
        "Rates of the schedulers",
        (Column("scheduler"), Column("rate", "tuples/s"), Column("in the paper", "tuples/s")),
        (
            ("default", 812.4, Number(800, source=Source.PUBLISHED)),
            ("penstock", 1024.9, None),
        ),
    )
    best = paragraph("penstock carries ", Number(1024.9, "tuples/s"), ".")
    page = Document("Linear on five machines", (Section("Answer", (best, rates)),))
    text = to_html(page)

The views are ``terminal.to_text``, ``html.to_html``, ``markdown.to_markdown``,
``json_view.to_dict``, ``csv_view.to_csv`` and ``latex.to_latex``; ``views.VIEWS`` has them by name.

* A value is in the unit that stands beside it: 12.5 with ``%`` is 12.5 %, not 0.125.
* A bare number in a table takes unit and source from its column; a :class:`Number` its own.
* Where nothing else is said, a number comes from a run on this machine. What is published, or
  given by the reader in a file, says so, and every view shows it.
* A :class:`Figure` draws itself when HTML asks for it, so the other views need no drawing library.
  Its ``data`` table says the same in numbers.
"""

from penstock.report.page.document import (
    Block,
    Cell,
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
    field_list,
    paragraph,
    percent,
    published,
    table_of,
)

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Document",
    "FieldList",
    "Figure",
    "Items",
    "KeyFigure",
    "KeyFigures",
    "Note",
    "Number",
    "Paragraph",
    "Section",
    "Source",
    "Table",
    "Tag",
    "Tone",
    "field_list",
    "paragraph",
    "percent",
    "published",
    "table_of",
]

"""A page on a terminal: nothing is cut, whatever the width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from penstock.report.page import (
    Column,
    Document,
    Note,
    Number,
    Section,
    Table,
    Tone,
    field_list,
    paragraph,
    percent,
)
from penstock.report.page.terminal import renderable, to_text


def _page(*blocks) -> Document:
    return Document("", (Section("", blocks),))


MACHINES = Table(
    "",
    (
        Column("machine"),
        Column("load", "%", digits=0, bar=True),
        Column("input", "tuples/s"),
        Column("CPU points"),
    ),
    (
        ("m-1", 50.0, 1234.5, paragraph(Number(40.0, digits=1), " of ", Number(80))),
        ("m-2", None, None, "not known"),
    ),
)


def test_numbers_stand_to_the_right_under_short_headings():
    assert to_text(_page(MACHINES)) == (
        "machine  load  input/s  CPU points\n"
        "m-1      50 %    1,234  40.0 of 80\n"
        "m-2         –        –   not known\n"
    )


def test_bars_are_drawn_where_they_are_wanted():
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(renderable(_page(MACHINES), bars=True))
    first = console.file.getvalue().splitlines()[1]
    assert first.count("█") == first.count("░") == 12  # half of 24
    assert "█" not in to_text(_page(MACHINES))


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_number_of_a_wide_table_is_cut(width):
    columns = (Column("scheduler"), *(Column(f"figure number {i}") for i in range(12)))
    values = tuple(1_000_000 + i for i in range(12))
    text = to_text(_page(Table("", columns, (("penstock", *values),))), width)
    assert max(map(len, text.splitlines())) <= width
    for value in values:
        assert text.count(f"{value:,}") == 1
    # Each block of columns begins with the first, so that a line says whose it is.
    lines = [line for line in text.splitlines() if "1,000," in line]
    assert all(line.startswith("penstock") for line in lines)


def test_words_are_folded_before_numbers():
    long = "count ×1, " * 20
    table = Table("", (Column("machine"), Column("load", "%"), Column("runs")), (("m", 5.0, long),))
    text = to_text(_page(table), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("count") == 20
    assert "5.0 %" in text


def test_fields_notes_and_titles_are_lines_of_words():
    page = Document(
        "a plan",
        (
            Section("", (field_list({"gap": percent(0.028), "demand": "", "limit": "CPU"}),)),
            Section("Remarks", (Note("be careful"), Note("breaks a limit", Tone.BAD))),
        ),
    )
    assert to_text(page) == (
        "a plan\ngap    2.8 %\nlimit  CPU\n\nRemarks\nnote: be careful\nbreaks a limit\n"
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Number(2.0, "%", signed=True), "+2.0 %"),
        (Number(-2.0, "%", signed=True), "-2.0 %"),
        (Number(12.0, "ms", margin=0.123), "12 ± 0.12 ms"),
        (Number(1200.0, margin=31.4), "1,200 ± 31"),
        (Number(3.14159, digits=1), "3.1"),
    ],
)
def test_numbers_show_sign_interval_and_digits(number, text):
    assert to_text(_page(paragraph(number))) == f"{text}\n"


def test_names_from_telemetry_are_shown_and_not_obeyed():
    named = Table("of \x1b[2J", (Column("a\x00"),), (("\x9b31m",), ("fine\tline",)))
    page = Document("\x07title", (Section("\x1b]0;", (named, Note("\x08x"), paragraph("\x7f"))),))
    text = to_text(page)
    assert not {char for char in text if not char.isprintable()} - {"\n"}
    for seen in ("\\x1b[2J", "a\\x00", "\\x9b31m", "\\x07title", "\\x1b]0;", "\\x08x", "\\x7f"):
        assert seen in text

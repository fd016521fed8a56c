"""The six views of a page say the same."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from penstock.errors import InputError
from penstock.planning import numbers
from penstock.report.page import (
    Column,
    Document,
    Figure,
    KeyFigure,
    KeyFigures,
    Note,
    Number,
    Section,
    Source,
    Table,
    Tag,
    Tone,
    paragraph,
    percent,
    published,
)
from penstock.report.page.json_reader import from_dict
from penstock.report.page.views import VIEWS
from penstock.report.page.wording import amount, shown

HOSTILE = "<script>alert('x')</script>|\"&_%$#\\"


def _page(name: str = "linear") -> Document:
    rates = Table(
        "Rates",
        (Column("scheduler"), Column("rate", "tuples/s"), Column("in the paper", "tuples/s")),
        (
            ("default", 812.4567, published(800.5, "tuples/s")),
            (name, Number(1024.91, "tuples/s", low=1000.5, high=1050.25), None),
        ),
    )
    return Document(
        f"{name} on five",
        (
            Section(
                "The answer",
                (
                    KeyFigures((KeyFigure("rate", Number(1024.91, "tuples/s"), f"by {name}"),)),
                    paragraph(f"{name} leaves ", percent(0.0123), " of the bound. ", Tag("fine")),
                    Note(f"measured on {name}", Tone.FAIR),
                    rates,
                ),
            ),
            Section(
                "Pictures",
                (
                    Figure(
                        "Load",
                        f"{name} is busiest",
                        lambda width: f'<svg width="{width}"><g id="a"/></svg>',
                        Table("Loads", (Column("machine"), Column("CPU", "%")), (("m1", 81.25),)),
                    ),
                ),
            ),
        ),
    )


#: Every number of the page above as (value, unit, source), in the order of reading.
FACTS = [
    (1024.91, "tuples/s", "run"),
    (1.23, "%", "run"),
    (812.4567, "tuples/s", "run"),
    (800.5, "tuples/s", "published"),
    (1024.91, "tuples/s", "run"),
    (81.25, "%", "run"),
]


def _same(found: list[tuple[float, str, str]]) -> bool:
    return [(pytest.approx(v), u, s) for v, u, s in found] == FACTS


def test_the_page_knows_its_numbers() -> None:
    known = [(n.value, n.unit, str(n.source)) for n in _page().numbers() if n.value is not None]
    assert _same(known)  # type: ignore[arg-type]


def test_json_has_every_number_with_unit_and_source() -> None:
    told = json.loads(VIEWS["json"](_page()))
    assert (told["format"], told["version"]) == ("penstock/report", 1)
    found: list[tuple[float, str, str]] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if value.get("value") is not None:
                found.append((value["value"], value["unit"], value["source"]))
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(told)
    assert _same(found)


def test_a_page_read_back_from_its_json_says_the_same() -> None:
    written = json.loads(VIEWS["json"](_page()))
    assert VIEWS["markdown"](from_dict(written)) == VIEWS["markdown"](_page())


@pytest.mark.parametrize(
    "content", [{}, {"title": "", "subtitle": "", "format": "x", "version": 1, "sections": [{}]}]
)
def test_json_of_something_else_is_no_page(content: dict[str, object]) -> None:
    with pytest.raises(InputError, match="is not a page of Penstock"):
        from_dict(content)


def test_csv_has_every_number_with_unit_and_source() -> None:
    lines = list(csv.DictReader(io.StringIO(VIEWS["csv"](_page()))))
    numbers = [line for line in lines if line["source"] != "text" and line["value"]]
    assert _same([(float(n["value"]), n["unit"], n["source"]) for n in numbers])
    spread = next(line for line in lines if line["low"])
    assert (float(spread["low"]), float(spread["high"])) == (1000.5, 1050.25)


class _Data(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[float, str]] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if tag == "data":
            self.found.append((float(given["value"] or "nan"), given["class"] or ""))


def test_html_has_every_number_in_full_and_its_source() -> None:
    parser = _Data()
    parser.feed(VIEWS["html"](_page()))
    assert [(pytest.approx(v), s) for v, s in parser.found] == [(v, s) for v, _, s in FACTS]


@pytest.mark.parametrize("view", ["text", "html", "markdown", "latex"])
def test_views_for_people_show_the_same_words_for_every_number(view: str) -> None:
    page = _page()
    text = VIEWS[view](page).replace(r"\%", "%").replace(r"\textsuperscript{\textdagger}", "†")
    at = 0
    for number in (n for n in page.numbers() if n.value is not None):
        # The unit may stand in a heading; the mark in an element of its own.
        words = shown(number, with_unit=False).rstrip("†‡")
        at = text.find(words, at)
        assert at >= 0, words


@pytest.mark.parametrize("view", ["text", "html", "markdown", "latex"])
def test_published_numbers_are_marked_and_the_mark_explained(view: str) -> None:
    text = VIEWS[view](_page())
    assert "as published, not run here" in text
    mark = r"\textsuperscript{\textdagger}" if view == "latex" else "†"
    assert text.count(mark) == 2  # at the number and in the legend


def test_a_page_without_published_numbers_has_no_mark() -> None:
    page = Document("plain", (Section("one", (paragraph("takes ", Number(3, "s")),)),))
    for view in ("text", "html", "markdown", "latex"):
        assert "†" not in VIEWS[view](page)
        assert "as published" not in VIEWS[view](page)


def test_names_in_html_are_text() -> None:
    text = VIEWS["html"](_page(HOSTILE))
    parser = _Data()
    parser.feed(text)
    assert "script" not in parser.tags
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text


def test_names_in_markdown_break_no_table() -> None:
    text = VIEWS["markdown"](_page(HOSTILE))
    assert "<script>" not in text
    row = next(line for line in text.splitlines() if line.startswith("| ") and "alert" in line)
    assert row.replace(r"\|", "").count("|") == 4


def test_names_in_latex_are_text() -> None:
    text = VIEWS["latex"](_page(HOSTILE))
    escaped = r"\textbar{}\textquotedbl{}\&\_\%\$\#\textbackslash{}"
    assert escaped in text


def test_letters_that_latex_may_lack_have_their_code_beside_them() -> None:
    assert r"\other{05E9}{ש}" in VIEWS["latex"](_page("ש"))


def test_csv_text_is_no_formula() -> None:
    table = Table("t", (Column("name"),), (("=1+1",),))
    text = VIEWS["csv"](Document("x", (Section("s", (table,)),)))
    assert "'=1+1" in text


def test_a_row_with_a_cell_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rows \[1\]"):
        Table("t", (Column("a"),), (("x",), ("y", "z")))


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1234567, "", "1,234,567"),
        (12345.6, "tuples/s", "12,346"),
        (0.012345, "ms", "0.01235"),
        (12.34, "%", "12.3"),
        (0.0, "%", "0.0"),
        (0.0041, "%", "0.004"),
        (-2.5, "%", "-2.5"),
        (float("inf"), "tuples/s", "unlimited"),
    ],
)
def test_numbers_read_well(value: float, unit: str, words: str) -> None:
    assert amount(value, unit) == words


def test_next_to_nothing_below_zero_has_no_sign() -> None:
    assert (amount(-0.0004, "%", digits=1), numbers.percent(-0.0004)) == ("0.0", "0.0 %")


def test_sources_of_a_page_are_those_of_its_numbers() -> None:
    assert _page().sources == (Source.RUN, Source.PUBLISHED)


def test_ids_of_pictures_differ() -> None:
    text = VIEWS["html"](_page())
    assert 'id="f1w-a"' in text
    assert 'id="f1n-a"' in text

"""``penstock reproduce`` on a paper small enough for a test."""

from __future__ import annotations

import json
import sys

import pytest
from tests.penstock_bench.reproduce.test_papers import small_paper

from penstock.files.document import document_of
from penstock_bench.reproduce.paper_file import paper_from
from penstock_bench.verbs import reproduce


@pytest.fixture
def small(monkeypatch):
    """The declared papers replaced by a small one; ``row`` changes its row."""

    def use(**row):
        paper = paper_from(document_of(small_paper(**row), "small.yaml"))
        monkeypatch.setattr(reproduce, "papers_named", lambda _name: [paper])

    return use


def test_the_page_and_a_table_of_verdicts(run, small, tmp_path):
    small(published={"value": 12})
    code, out, err = run("reproduce all -o page.md --jobs 1")
    assert code == 0
    assert "reproduced" in out
    assert "1/1 small: one" in err
    assert "wrote page.md" in err
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "12.0†" in page
    assert "as published, not run here" in page


def test_a_row_that_does_not_reproduce_is_a_result(run, small):
    small(published={"value": -30}, why="Because of the test.")
    code, out, _ = run("reproduce all -o page.md --jobs 1 --markdown")
    assert code == 0
    assert "not reproduced" in out
    assert "Because of the test." in out


def test_an_experiment_that_fails_is_exit_code_1(run, small):
    measure = {"kind": "value", "figure": "surprise", "of": ["hetero"]}
    small(measure=measure, published={"value": 1})
    code, out, _ = run("reproduce all -o page.md --jobs 1")
    assert code == 1
    assert "no figure" in out


def test_json_and_csv_have_every_row(run, small):
    small(published={"value": 12})
    code, out, _ = run("reproduce all -o page.md --jobs 1 --json")
    assert (code, json.loads(out)["format"]) == (0, "penstock/reproduction")
    code, out, err = run("reproduce all -o page.md --jobs 1 --csv")
    assert code == 0
    assert ",12.0,,,published" in out
    assert "kept from before" in err


@pytest.fixture
def no_matplotlib(monkeypatch):
    """As where it is not installed: it cannot be found, and importing it fails."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_without_matplotlib_a_page_in_html_says_what_to_install(run, small, no_matplotlib):
    small(published={"value": 12})
    code, out, err = run("reproduce all --jobs 1")
    assert (code, out) == (1, "")
    assert "pip install 'penstock[report]'; reports as --markdown, --json, --csv" in err


@pytest.mark.parametrize("view", ["markdown", "json", "csv", "latex"])
def test_without_matplotlib_every_other_view_is_printed(run, small, no_matplotlib, view, tmp_path):
    small(published={"value": 12})
    code, out, err = run(f"reproduce all --jobs 1 --{view}")
    assert code == 0, err
    assert "reproduced" in out
    assert not (tmp_path / "reproduce.html").exists()


def test_without_matplotlib_a_page_in_markdown_is_written(run, small, no_matplotlib, tmp_path):
    small(published={"value": 12})
    code, _, err = run("reproduce all --jobs 1 -o page.md --json")
    assert code == 0, err
    assert "reproduced" in (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("reproduce nasir -o page.md", 1, 'did you mean "nasiri"'),
        ("reproduce all -o page.xyz", 2, 'no format has the ending ".xyz"'),
        ("reproduce all -o page.md --json --csv", 2, "give only one of --json, --csv"),
    ],
)
def test_wrong_options_are_told(run, command, code, message):
    left, _, err = run(command)
    assert left == code
    assert message in err

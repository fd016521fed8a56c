"""Verbs of other packages: they are listed by their own line, and one that is broken says so."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from penstock.cli import lazy_verbs, main
from penstock.cli.output import write_text


def greet() -> int:
    """Greet whoever asks.

    penstock greet
    """
    write_text("hello\n")
    return 0


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """A package with one verb that works and one whose module is not there."""
    module = ModuleType("somebodys_verbs")
    module.greet = greet
    monkeypatch.setitem(sys.modules, "somebodys_verbs", module)
    values = {"greet": "somebodys_verbs:greet", "broken": "no_such_package_at_all:verb"}
    entries = [EntryPoint(name, value, "penstock.verbs") for name, value in values.items()]
    monkeypatch.setattr(lazy_verbs, "entry_points", lambda group: entries)
    main._parser.cache_clear()
    yield
    main._parser.cache_clear()


def test_they_are_listed_last_each_with_its_line(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    listed = out.partition("From other packages:\n")[2]
    assert "greet       Greet whoever asks.\n" in listed
    assert "broken      (cannot be loaded: ModuleNotFoundError: " in listed


def test_one_that_works_runs(run):
    assert run("greet") == (0, "hello\n", "")


@pytest.mark.parametrize("words", ["", "core --quick", "--json"])
def test_one_that_is_broken_says_why_however_it_is_called(run, words):
    code, _, err = run(f"broken {words}")
    assert code == 1
    assert err.startswith(
        'error: the verb "broken" of no_such_package_at_all:verb cannot be loaded'
    )
    assert "no_such_package_at_all" in err


def test_no_other_verb_hears_of_it(run):
    code, _, err = run("schedulers")
    assert (code, err) == (0, "")

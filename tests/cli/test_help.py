"""The help of the program: verbs in groups, and the same help by ``help`` and ``--help``."""

from __future__ import annotations

import pytest
import typer

from penstock.cli.main import app
from penstock.cli.verb_groups import GROUPS, grouped

VERBS = typer.main.get_command(app).commands


def test_every_verb_is_in_one_group():
    verbs = [verb for names in GROUPS.values() for verb in names]
    assert sorted(verbs) == sorted(VERBS)


def test_verbs_of_other_packages_come_last():
    assert grouped(["deploy", "plan"]) == {"Plan": ["plan"], "From other packages": ["deploy"]}


def test_the_list_of_verbs_has_the_groups_in_order(run):
    out = run("--help")[1]
    positions = [out.index(f"\n{group}:\n") for group in GROUPS]
    assert positions == sorted(positions)
    # A line of the list fits: none is broken or cut.
    assert "..." not in out.partition("\nPlan:")[2]


@pytest.mark.parametrize("words", ["", *VERBS, "lab up", "history show", "import flux"])
def test_help_shows_what_the_option_shows(run, words):
    code, out, err = run(f"help {words}")
    assert (code, err) == (0, "")
    assert out == run(f"{words} --help")[1]


def test_help_of_no_verb_names_a_near_one(run):
    code, _, err = run("help pln")
    assert code == 2
    assert err == 'error: penstock has no verb "pln"; did you mean "plan"?\n'

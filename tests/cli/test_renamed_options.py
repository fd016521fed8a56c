"""Options under their old names: they do what they did, and a warning names today's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from penstock.cli.main import app
from penstock.cli.renamed_options import RENAMED, with_todays_names
from penstock.files.store import load

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_least_still_minimizes_and_says_its_new_name(run):
    plan = "plan -e linear -c nasiri-testbed --carry 200 -o {}.json"
    code, out, err = run(f"{plan.format('old')} --least machines")
    assert code == 0
    assert "warning: --least of penstock plan is now called --minimize" in err
    _, todays, said = run(f"{plan.format('new')} --minimize machines")
    assert "warning" not in said
    assert (out, load("old.json")) == (todays, load("new.json"))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("plan --least machines", "plan --minimize machines"),
        ("plan --least=machines", "plan --minimize=machines"),
        ("simulate p.json -s dies.yaml", "simulate p.json --scenario dies.yaml"),
        ("simulate p.json -sdies.yaml", "simulate p.json --scenario=dies.yaml"),
        ("lab submit star -e hub=3", "lab submit star --executors hub=3"),
        # What follows -- is no option, and other verbs have other names.
        ("plan -- --least", "plan -- --least"),
        ("plan -s hetero", "plan -s hetero"),
        ("run --seconds 5", "run --seconds 5"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_old_name_is_read_as_todays(capsys, typed, meant):
    assert with_todays_names(typed.split()) == meant.split()
    assert ("warning" in capsys.readouterr().err) == (typed != meant)


@pytest.mark.parametrize("verb", RENAMED)
def test_todays_name_is_there_and_the_old_one_is_not(verb):
    command = typer.main.get_command(app)
    for word in verb.split():
        command = command.commands[word]
    options = {name for parameter in command.params for name in parameter.opts}
    assert set(RENAMED[verb].values()) <= options
    assert not set(RENAMED[verb]) & options


def test_no_text_names_an_option_that_is_nowhere():
    # Of the old names, those that no verb has today.
    command, todays = typer.main.get_command(app), set()
    for verb in RENAMED:
        below = command
        for word in verb.split():
            below = below.commands[word]
        todays |= {name for parameter in below.params for name in parameter.opts}
    gone = {old for names in RENAMED.values() for old in names if len(old) > 2} - todays
    gone -= {"--machines", "--seconds", "--types"}  # Other verbs have these.
    assert gone == {"--least", "--before", "--most-tuples", "--again", "--anew", "--kafka"}
    words = re.compile(rf"({'|'.join(sorted(gone))})(?![\w-])")
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    named = [
        f"{path.relative_to(ROOT)}: {match}"
        for path in files
        if path.name != "renamed_options.py"
        for match in words.findall(path.read_text(encoding="utf-8"))
    ]
    assert named == []

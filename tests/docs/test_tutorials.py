"""Each tutorial works when it is done from top to bottom, by somebody who has nothing yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.commands import ROOT, TUTORIALS, Command, arguments_of
from tests.docs.conftest import run_here
from tests.scripts.scripts import script

steps = script("documentation/tutorials").steps
#: A run long enough to have costs, and no longer.
SHORTER = ((r"--seconds 60 --out run", "--batches 12 --rows 4000 --out run"),)


def commands_of(name: str) -> list[str]:
    """The commands of a tutorial, in order."""
    page = ROOT / "docs" / "tutorials" / name
    text = page.read_text(encoding="utf-8")
    return [step.text for step in steps(text) if step.kind == "command"]


def walk(name: str, folder: Path) -> None:
    """Do what a tutorial says, in this folder."""
    page = ROOT / "docs" / "tutorials" / name
    for step in steps(page.read_text(encoding="utf-8")):
        if step.kind == "file":
            (folder / step.name).write_text(step.text, encoding="utf-8")
        elif step.kind == "command":
            line = step.text
            for long, short in SHORTER:
                line = re.sub(long, short, line)
            for arguments in arguments_of(Command(name, 0, line), folder):
                code, _, err = run_here(arguments)
                assert code == 0, f"{line}: {err}"


@pytest.mark.slow
def test_your_own_topology(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    walk("own-topology.md", tmp_path)
    assert Path("plan.json").exists()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_from_telemetry_to_a_profile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    walk("telemetry.md", tmp_path)
    assert Path("plan.json").exists()


def test_every_tutorial_is_done():
    """The Storm lab's is done by :mod:`tests.docs.test_storm_lab`."""
    assert [page.name for page in TUTORIALS] == ["own-topology.md", "storm-lab.md", "telemetry.md"]

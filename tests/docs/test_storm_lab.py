"""The commands of the Storm lab that its tutorial and the reference show, on a real Storm.

Planning from live telemetry and ``apply`` need minutes at two rates; the same lines run against a
Storm of dictionaries (:mod:`tests.docs.test_commands`), and a real one gets plans in
``tests/engines/storm/test_live.py``.
"""

from __future__ import annotations

import os
import re

import pytest
from tests.docs.commands import Command, arguments_of, shown
from tests.docs.conftest import run_here
from tests.docs.test_tutorials import commands_of

from penstock.engines.storm.home import StormMissing, find_home, plugin_jar, require_java

pytestmark = pytest.mark.storm
#: What is run of the tutorial.
_OF_THE_LAB = re.compile(r"penstock (lab|import|show) ")
_SUBMITS_WIDE = "penstock lab submit star"


def test_the_storm_lab_does_as_shown(tmp_path, monkeypatch):
    try:
        require_java(os.environ)
        plugin_jar()
        find_home(os.environ)
    except StormMissing as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PENSTOCK_HISTORY", str(tmp_path / "history"))
    *tutorial, down = commands_of("storm-lab.md")
    try:
        for line in filter(_OF_THE_LAB.search, tutorial):
            done(line, tmp_path)
        # Of the reference: another shape, with options, and its end.
        for line in (_SUBMITS_WIDE, "penstock lab end wide"):
            (documented,) = (c.text for c in shown("penstock") if c.text.startswith(line))
            done(documented, tmp_path)
    finally:
        done(down, tmp_path)


def done(line: str, folder) -> None:
    calls = arguments_of(Command("storm-lab.md", 0, re.split(r"\s#\s", line)[0]), folder)
    assert calls, line
    for arguments in calls:
        code, out, err = run_here(arguments)
        assert code == 0, f"{line}: {out}{err}"

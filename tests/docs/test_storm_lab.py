"""The documented commands of the Storm lab, one after the other on a real Storm."""

from __future__ import annotations

import os
import re

import pytest
from tests.docs.commands import arguments_of, shown
from tests.docs.conftest import run_here

from penstock.engines.storm.home import StormMissing, find_home, plugin_jar, require_java

pytestmark = pytest.mark.storm
_ORDER = ("lab submit", "lab feed", "lab end")


def test_the_storm_lab_does_as_shown(tmp_path, monkeypatch):
    try:
        require_java(os.environ)
        plugin_jar()
        find_home(os.environ)
    except StormMissing as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    lines = {command.text: command for command in shown("penstock")}
    (up,) = (line for line in lines if line.startswith("penstock lab up --engine storm"))
    try:
        assert done(lines[up], tmp_path)
        for verb in _ORDER:
            documented = [text for text in lines if re.search(rf"penstock {verb} ", text)]
            assert documented
            # A name is submitted once: of two lines for linear, the last page's is run.
            for text in (
                {_name(t): t for t in documented}.values() if "submit" in verb else documented
            ):
                assert done(lines[text], tmp_path), text
    finally:
        assert done(lines["penstock lab down --engine storm"], tmp_path)


def done(command, folder) -> bool:
    results = [run_here(arguments) for arguments in arguments_of(command, folder)]
    assert [code for code, _, _ in results] == [0] * len(results), results
    return bool(results)


def _name(text: str) -> str:
    return text.split()[3]

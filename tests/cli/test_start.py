"""How much is loaded before a command can begin: seconds depend on the computer, imports do not."""

from __future__ import annotations

import subprocess
import sys

import pytest

HELP = """
import contextlib, io, sys
from penstock.cli.main import main
for arguments in {commands}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(arguments)
print(*sorted(name for name in sys.modules if "." not in name))
"""
VERBS = """
import sys
from penstock.cli.main import _parser
for verb, command in _parser().commands.items():
    assert command.get_help(command.context_class(command, info_name=verb)), verb
print(*sorted(name for name in sys.modules if "." not in name))
"""
#: Each takes from a tenth to two seconds to load.
HEAVY = {"matplotlib", "numba", "pandas", "pyarrow", "pyspark", "scipy"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a Python of its own has loaded after the code."""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ended.stdout.split())


def test_the_list_of_verbs_loads_no_verb():
    modules = loaded_by(HELP.format(commands=[["--help"], ["--version"], []]))
    assert "typer" in modules
    assert modules & {*HEAVY, "numpy", "pydantic", "rich", "penstock_bench"} == set()


def test_the_help_of_no_verb_loads_what_only_work_needs():
    assert loaded_by(VERBS) & HEAVY == set()


@pytest.mark.parametrize("verb", ["doctor", "help", "schedulers", "sweep", "validate"])
def test_verbs_that_need_no_arrays_load_none(verb):
    assert "numpy" not in loaded_by(HELP.format(commands=[[verb, "--help"]]))

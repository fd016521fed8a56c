"""Every Python block of README and documentation runs, and the notebook prints what it shows."""

from __future__ import annotations

import json
import re
import sys
from types import ModuleType

import pytest
from tests.docs.commands import PAGES, ROOT, TUTORIALS, Block, blocks
from tests.docs.conftest import enter
from tests.scripts.scripts import script

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
#: Where a page has its reader declare a class, its first block is the module that it names.
_DECLARED = re.compile(r'= "(your_package\.\w+):\w+"')
#: Pages whose Python speaks of other files than the README's.
SCENES = {"docs/telemetry.md": "stored"}


def python_blocks() -> list[object]:
    found = []
    for page in (*PAGES, *TUTORIALS):
        python = [block for block in blocks(page) if block.language == "python"]
        if python:
            name = page.relative_to(ROOT).as_posix()
            found.append(pytest.param(name, python, id=name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("page", "python"), python_blocks())
def test_the_python_of_a_page_runs(
    tmp_path, monkeypatch, all_scenes, page: str, python: list[Block]
):
    all_scenes.copy(SCENES.get(page, "clicks"), tmp_path)
    enter(tmp_path, monkeypatch)
    module = ModuleType(module_of(page))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in python:
        source = "\n" * (block.begins - 1) + block.text
        exec(compile(source, str(ROOT / page), "exec"), vars(module))


def module_of(page: str) -> str:
    """What the page's reader calls the module with its first block."""
    declared = _DECLARED.search((ROOT / page).read_text(encoding="utf-8"))
    return declared[1] if declared else "page"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_prints_what_it_shows(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert script("documentation/tutorials").notebook_with_outputs(notebook) == notebook

"""Every Python block of README and documentation runs, and the notebook prints what it shows."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest
from tests.docs.commands import PAGES, ROOT, TUTORIALS, Block, blocks
from tests.docs.conftest import enter
from tests.scripts.scripts import script

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
#: What a block of a page calls its reader's own module is the first block of that page.
MODULES = {
    "docs/adding-a-scheduler.md": "your_package.biggest",
    "docs/adding-an-engine.md": "your_package.folder",
}


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
    all_scenes.copy("clicks", tmp_path)
    enter(tmp_path, monkeypatch)
    names: dict[str, object] = {"__name__": MODULES.get(page, "page")}
    for name in (MODULES.get(page, "page"), "your_package"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for block in python:
        source = "\n" * (block.begins - 1) + block.text
        exec(compile(source, str(ROOT / page), "exec"), names)
        vars(sys.modules[MODULES.get(page, "page")]).update(names)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_prints_what_it_shows(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert script("tutorials").notebook_with_outputs(notebook) == notebook

"""Tutorials and the notebook, done from top to bottom: by ``make docs`` and by the tests.

A page's YAML blocks that begin with ``# name.yaml`` are files; its blocks without a language are
commands, except one under ``<!-- output -->``, which shows what the command before it printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_BLOCK = re.compile(
    r"(?P<mark><!-- output -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```\n", re.DOTALL
)
_FILE = re.compile(r"# ([\w.-]+\.ya?ml)\b")


@dataclass(frozen=True)
class Step:
    """One block of a tutorial: a file to write, a command to run, or an output that is shown."""

    kind: Literal["file", "command", "output"]
    #: The file's name; otherwise nothing.
    name: str
    text: str


def steps(markdown: str) -> Iterator[Step]:
    """What a reader of the page does, in order."""
    for block in _BLOCK.finditer(markdown):
        text = block["text"]
        if block["mark"]:
            yield Step("output", "", text)
        elif block["language"] == "yaml" and (file := _FILE.match(text)):
            yield Step("file", file[1], text)
        elif not block["language"]:
            yield from (Step("command", "", line) for line in text.splitlines() if line)


def with_outputs(markdown: str, folder: Path, run: Callable[[str], str]) -> str:
    """The page with what its commands print now; ``run`` runs one in the folder."""
    outputs, printed = [], ""
    for step in steps(markdown):
        if step.kind == "file":
            (folder / step.name).write_text(step.text, encoding="utf-8")
        elif step.kind == "command":
            printed = run(step.text)
        else:
            outputs.append(printed)
    left = iter(outputs)
    return _BLOCK.sub(lambda m: _filled(next(left)) if m["mark"] else m[0], markdown)


def _filled(printed: str) -> str:
    return f"<!-- output -->\n```\n{printed}```\n"


def notebook_with_outputs(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with what its cells print now; they run one after another in this process."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
        lines = printed.getvalue().splitlines(keepends=True)
        output = {"name": "stdout", "output_type": "stream", "text": lines}
        cells.append({**cell, "outputs": [output] if lines else []})
    return {**notebook, "cells": cells}


def notebook_text(notebook: dict[str, Any]) -> str:
    """A notebook as its file has it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"

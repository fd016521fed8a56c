"""Outputs of commands inside pages that are written by hand."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from pathlib import Path

from documentation.output import run, write
from documentation.tutorials import notebook_text, notebook_with_outputs, with_outputs
from penstock import app
from penstock.planning.numbers import percent, rate

_OUTPUT = re.compile(r"(<!-- output of: (penstock [^>]*?) -->\n```\n)(.*?)(```\n)", re.DOTALL)


def fill_outputs(page: Path) -> None:
    """Put the real output of the commands named in the page under them."""
    text = page.read_text(encoding="utf-8")

    def real(match: re.Match[str]) -> str:
        return match.group(1) + run(match.group(2)) + match.group(4)

    write(page, _OUTPUT.sub(real, text))


_TABLE = re.compile(r"(<!-- table by make docs -->\n)(.*?)(<!-- end of table -->\n)", re.DOTALL)


def fill_table(page: Path) -> None:
    """Put the comparison on the papers' largest cluster between its marks."""
    head = "| topology | default | hetero | penstock | over default | no plan can exceed |"
    rows = [headline_row(name) for name in ("linear", "diamond", "star")]
    table = "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows]) + "\n"
    text = page.read_text(encoding="utf-8")
    filled = _TABLE.sub(lambda match: match.group(1) + table + match.group(3), text)
    write(page, filled)


def headline_row(topology: str) -> str:
    """Tuples/s of three schedulers on the largest cluster of Nasiri et al., and the bound."""
    problem = app.problem(topology, "nasiri-large")
    found = app.compare(problem, ["default", "hetero", "penstock"])
    default, hetero, ours = (row.facts for row in found.rows)
    assert default.scale
    assert ours.scale
    assert ours.bound_scale
    return (
        f"| {topology} | {rate(default.scale)} | {rate(hetero.scale)} | **{rate(ours.scale)}** | "
        f"{percent(ours.scale / default.scale - 1)} | {rate(ours.bound_scale)} |"
    )


def fill_tutorial(page: Path) -> None:
    """Do what the page says in an empty folder, and show what its commands print."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        text = with_outputs(page.read_text(encoding="utf-8"), Path(name), run)
    write(page, text)


def fill_notebook(path: Path) -> None:
    """Run the cells, and show what they print."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    write(path, notebook_text(notebook_with_outputs(notebook)))

"""The page of the Python interface: what mkdocstrings is to show."""

from __future__ import annotations

from documentation.output import DOCS, GENERATED, write
from penstock import app

PYTHON_INTRO = """\
# Python

`import penstock` loads nothing until a name is used. The site shows signatures and docstrings here,
taken from the source; the [notebook](tutorials/notebook.ipynb) shows the functions at work.
"""
#: What the public functions take and answer with, and what others build on.
PYTHON_NOUNS = (
    "penstock.model.problem.Problem",
    "penstock.model.plan.Plan",
    "penstock.planning.result.PlanResult",
    "penstock.planning.facts.Facts",
    "penstock.evaluate.bound.Bound",
    "penstock.schedulers.base.Scheduler",
    "penstock.schedulers.base.Budget",
    "penstock_bench.contract.SchedulerContract",
)


def write_python() -> None:
    """What mkdocstrings is to show: the public names, and the types behind them."""
    public = [getattr(app, name) for name in app.__all__]
    paths = [f"{one.__module__}.{one.__qualname__}" for one in public]
    parts = [GENERATED, PYTHON_INTRO, "## import penstock\n"]
    parts += [f"::: {path}\n" for path in paths]
    parts.append("## Types\n")
    parts += [f"::: {path}\n" for path in PYTHON_NOUNS]
    write(DOCS / "python.md", "\n".join(parts))

"""A page to look at: a small paper that was run, and all others with rows still to be run."""

from __future__ import annotations

from pathlib import Path

from tests.penstock_bench.reproduce.test_papers import small_paper

from penstock.files.document import document_of
from penstock.report.page import Document
from penstock_bench.reproduce.judged import judge_all
from penstock_bench.reproduce.page import build_page
from penstock_bench.reproduce.paper_file import paper_from
from penstock_bench.reproduce.papers import papers_named
from penstock_bench.reproduce.runner import run_tasks, tasks_of
from penstock_bench.reproduce.store import FigureStore


def papers_page(folder: Path) -> Document:
    given = small_paper(published={"value": 12})
    given["settings"]["one"]["schedulers"] = ["default", "hetero", "penstock"]
    small = paper_from(document_of(given, "small.yaml"))
    results = run_tasks(tasks_of([small]), FigureStore(folder))
    papers = [small, *papers_named("all")]
    return build_page(papers, judge_all(papers, results), results, {"Penstock": "as tested"})

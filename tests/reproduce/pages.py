"""A page to look at: a small paper that was run, and all others with rows still to be run."""

from __future__ import annotations

from pathlib import Path

from tests.reproduce.test_papers import small_paper

from penstock.files.document import document_of
from penstock.files.paper_file import paper_from
from penstock.report.page import Document
from penstock.reproduce.judged import judge_all
from penstock.reproduce.page import build_page
from penstock.reproduce.papers import papers_named
from penstock.reproduce.runner import run_tasks, tasks_of
from penstock.reproduce.store import FigureStore


def papers_page(folder: Path) -> Document:
    given = small_paper(published={"value": 12})
    given["settings"]["one"]["schedulers"] = ["default", "hetero", "penstock"]
    small = paper_from(document_of(given, "small.yaml"))
    results = run_tasks(tasks_of([small]), FigureStore(folder))
    papers = [small, *papers_named("all")]
    return build_page(papers, judge_all(papers, results), results, {"Penstock": "as tested"})

"""The papers whose evaluations are declared here, one file each."""

from __future__ import annotations

from importlib.resources import as_file, files

from penstock.errors import UnknownNameError
from penstock.files.document import read_document
from penstock_bench.reproduce.paper_file import Paper, paper_from

#: In the order of the page.
PAPERS = ("nasiri", "rstorm", "lcstream", "thesis")
ALL = "all"


def load_paper(name: str) -> Paper:
    """The declared evaluation of one paper."""
    if name not in PAPERS:
        raise UnknownNameError("paper", name, (*PAPERS, ALL))
    with as_file(files(__name__).joinpath(f"{name}.yaml")) as path:
        return paper_from(read_document(path))


def papers_named(name: str) -> list[Paper]:
    """One paper, or all of them."""
    return [load_paper(one) for one in (PAPERS if name == ALL else (name,))]

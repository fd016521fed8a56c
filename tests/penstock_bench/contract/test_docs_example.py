"""The scheduler and the engine that the documentation shows keep the contracts it tells of."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from tests.engines.toy_engine import toy_cluster

from penstock_bench.contract import SchedulerContract
from penstock_bench.contract.engines import SnapshotContract

DOCS = Path(__file__).parents[3] / "docs"


def shown(page: str, name: str) -> Any:
    """A class of a page's first block of Python."""
    text = (DOCS / page).read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    module = ModuleType(f"docs_example_{name}")
    sys.modules[module.__name__] = module  # where dataclasses look for names in annotations
    exec(compile(block[1], page, "exec"), module.__dict__)
    return getattr(module, name)


class TestBiggest(SchedulerContract):
    scheduler = shown("adding-a-scheduler.md", "BiggestScheduler")


class TestBiggestWithoutTheBiggest(SchedulerContract):
    scheduler = shown("adding-a-scheduler.md", "BiggestScheduler")
    parameters: ClassVar = {"skip": 1}


class TestFolder(SnapshotContract):
    engine = shown("adding-an-engine.md", "FolderEngine")

    def cluster(self, tmp_path, monkeypatch):
        toy_cluster(tmp_path)
        return self.engine(str(tmp_path))

"""The scheduler that docs/adding-a-scheduler.md shows keeps the contract it tells of."""

import re
from pathlib import Path
from typing import Any, ClassVar

from penstock_bench.contract import SchedulerContract

PAGE = Path(__file__).parents[3] / "docs" / "adding-a-scheduler.md"


def shown_scheduler() -> Any:
    """The class of the page's first block of Python."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "docs_example"}
    exec(compile(block[1], str(PAGE), "exec"), namespace)
    return namespace["BiggestScheduler"]


class TestBiggest(SchedulerContract):
    scheduler = shown_scheduler()


class TestBiggestWithoutTheBiggest(SchedulerContract):
    scheduler = shown_scheduler()
    parameters: ClassVar = {"skip": 1}

"""What every scheduler and every engine keeps to, as tests that anyone can run on their own.

Needs pytest and hypothesis (``pip install "penstock[contract]"``)::

    from penstock_bench.contract import SchedulerContract

    class TestBiggest(SchedulerContract):
        scheduler = BiggestScheduler

``penstock_bench.contract.engines`` has the same for engines, a class for each ability.

``penstock_bench.contract.plan_check`` judges a plan by an evaluator of its own, and needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock_bench.contract.suite import SchedulerContract

__all__ = ["SchedulerContract"]


def __getattr__(name: str) -> Any:
    """The suite when it is asked for: who checks plans has no pytest."""
    if name == "SchedulerContract":
        from penstock_bench.contract.suite import SchedulerContract

        return SchedulerContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

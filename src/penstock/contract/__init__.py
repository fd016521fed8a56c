"""What every scheduler keeps to, as tests that anyone can run on their own.

Needs pytest and hypothesis (``pip install "penstock[contract]"``)::

    from penstock.contract import SchedulerContract

    class TestBiggest(SchedulerContract):
        scheduler = BiggestScheduler
"""

from penstock.contract.suite import SchedulerContract

__all__ = ["SchedulerContract"]

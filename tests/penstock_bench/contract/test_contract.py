"""Every registered scheduler keeps the contract that ships with the package."""

import pytest

from penstock.schedulers import SCHEDULERS
from penstock_bench.contract import SchedulerContract
from penstock_bench.contract.problems import LARGE

#: An exact search keeps the same contract on few instances, and is not tried where it takes long.
SMALLER = {"optimal": {"parameters": {"per_machine": 2}, "without": LARGE}}

for name, scheduler in SCHEDULERS.usable().items():
    members = {"scheduler": scheduler, **SMALLER.get(name, {})}
    tests = type(f"Test_{name}", (SchedulerContract,), members)
    globals()[f"Test_{name}"] = pytest.mark.slow(tests) if name == "penstock" else tests

"""Every registered scheduler keeps the contract that ships with the package."""

from penstock.contract import SchedulerContract
from penstock.contract.problems import LARGE
from penstock.schedulers import registered

#: An exact search keeps the same contract on few instances, and is not tried where it takes long.
SMALLER = {"optimal": {"parameters": {"per_machine": 2}, "without": LARGE}}

for name, entry in registered().items():
    if entry.scheduler is not None:
        members = {"scheduler": entry.scheduler, **SMALLER.get(name, {})}
        globals()[f"Test_{name}"] = type(f"Test_{name}", (SchedulerContract,), members)

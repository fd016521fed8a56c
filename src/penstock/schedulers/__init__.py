"""Schedulers: one algorithm per file, or a folder for a large one, found through the registry."""

from penstock.registry import Parameter, parameters_of
from penstock.schedulers.base import Budget, Looks, Scheduler
from penstock.schedulers.registry import SCHEDULERS

__all__ = [
    "SCHEDULERS",
    "Budget",
    "Looks",
    "Parameter",
    "Scheduler",
    "get",
    "parameters_of",
]

#: The scheduler of a name.
get = SCHEDULERS.get

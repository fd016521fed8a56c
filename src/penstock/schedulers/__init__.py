"""Schedulers: one algorithm per file, or a folder for a large one, found through the registry."""

from penstock.schedulers.base import Budget, Looks, Parameter, Scheduler, parameters_of
from penstock.schedulers.registry import ENTRY_POINT_GROUP, Registered, get, registered

__all__ = [
    "ENTRY_POINT_GROUP",
    "Budget",
    "Looks",
    "Parameter",
    "Registered",
    "Scheduler",
    "get",
    "parameters_of",
    "registered",
]

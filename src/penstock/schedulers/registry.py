"""Schedulers by name: what is built in, and what other packages install."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.registry import Registry, parts_missing_of

if TYPE_CHECKING:
    from penstock.schedulers.base import Scheduler

_HERE = "penstock.schedulers"
SCHEDULERS: Registry[Scheduler] = Registry(
    noun="scheduler",
    group="penstock.schedulers",
    built_in={
        "default": f"{_HERE}.even:DefaultScheduler",
        "isolation": f"{_HERE}.isolation:IsolationScheduler",
        "rstorm": f"{_HERE}.rstorm:RStormScheduler",
        "top": f"{_HERE}.top:TopScheduler",
        "a3": f"{_HERE}.a3:A3Scheduler",
        "ban": f"{_HERE}.ban:BanScheduler",
        "gr": f"{_HERE}.gr:GrScheduler",
        "lcstream": f"{_HERE}.lcstream.scheduler:LcStreamScheduler",
        "tsstream": f"{_HERE}.tsstream:TsStreamScheduler",
        "hetero": f"{_HERE}.hetero:HeteroScheduler",
        "optimal": f"{_HERE}.optimal:OptimalScheduler",
        "proportional": f"{_HERE}.proportional:ProportionalScheduler",
        "penstock": f"{_HERE}.penstock.scheduler:PenstockScheduler",
    },
    missing_parts=parts_missing_of("name", "summary", "paper", "looks", "solve"),
)

"""Policies by name: what is built in, and what other packages install."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.registry import Registry, parts_missing_of

if TYPE_CHECKING:
    from penstock.control.policy import Policy

_HERE = "penstock.control.policies"
POLICIES: Registry[Policy] = Registry(
    noun="policy",
    group="penstock.policies",
    built_in={
        "penstock": f"{_HERE}.penstock:PenstockPolicy",
        "static": f"{_HERE}.static:StaticPolicy",
        "hpa": f"{_HERE}.hpa:HpaPolicy",
        "ds2": f"{_HERE}.ds2:Ds2Policy",
        "dhalion": f"{_HERE}.dhalion:DhalionPolicy",
        "flink": f"{_HERE}.flink:FlinkPolicy",
        "tune": f"{_HERE}.tune:TunePolicy",
        "lcstream": f"{_HERE}.lcstream:LcStreamPolicy",
    },
    missing_parts=parts_missing_of("name", "summary", "paper", "start", "propose"),
)

#: The class of a policy, and a policy with some of its parameters set.
get, configured = POLICIES.get, POLICIES.configured

"""A profile that must be whole is refused with what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import PenstockError
from penstock.model.profile import Cost, Profile
from penstock.telemetry.findings import Measurement, NotReady, TableFindings
from penstock.telemetry.quality import Quality

PROFILE = Profile("p", (Cost("a", "M1", e=1.0, met=0.0),))
NOTHING = TableFindings(
    fits=(), rows={}, streams=(), workers=(), memory_mb=(), machine_cpu_points=(), drift=(),
    not_ready=(),
)  # fmt: skip


def measured(profile: Profile | None, *missing: NotReady) -> Measurement:
    return Measurement(
        profile, replace(NOTHING, not_ready=missing), Quality(0, 0, {}, {}, 0, 0, 1.0), ()
    )


def test_a_whole_profile_is_given_back():
    assert measured(PROFILE).whole_profile() is PROFILE


def test_every_missing_cost_is_named_with_its_reason():
    missing = [NotReady("b", "M1", "only 3 windows"), NotReady("c", "M2", "no CPU measured")]
    with pytest.raises(PenstockError) as told:
        measured(PROFILE, *missing).whole_profile()
    assert str(told.value) == (
        "not all costs could be measured: b on M1: only 3 windows; c on M2: no CPU measured"
    )


def test_nothing_at_all_is_said_to_be_nothing():
    with pytest.raises(PenstockError, match="nothing was seen"):
        measured(None).whole_profile()

"""What a run over telemetry found. Nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.errors import PenstockError
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.profile import Profile, StreamMeasure, WorkerCost
from penstock.telemetry.drift import CostDrift
from penstock.telemetry.quality import Quality
from penstock.telemetry.timings import StepTime


@dataclass(frozen=True)
class CostFit:
    """What was found for one component on one machine type. NaN is unknown."""

    topology: str
    component: str
    machine_type: str
    samples: int
    e: float = np.nan
    e_error: float = np.nan
    met: float = np.nan
    met_error: float = np.nan
    form: str = ""
    shape: float = np.nan
    spin: float = np.nan
    form_e: float = np.nan
    form_met: float = np.nan
    form_instances: float = np.nan
    r_squared: float = np.nan
    scatter_floor: float = np.nan
    scatter_slope: float = np.nan
    rate_least: float = np.nan
    rate_most: float = np.nan
    linear_error: float = np.nan
    #: The first and the last half of the time on their own, for drift.
    e_first: float = np.nan
    e_first_error: float = np.nan
    e_last: float = np.nan
    e_last_error: float = np.nan
    #: Why there is no cost, and what would help; empty where there is one.
    not_ready: str = ""

    @property
    def cpu_form(self) -> CpuForm:
        kind = FormKind(self.form)
        return CpuForm(kind, self.form_e, self.form_met, self.spin, self.shape, self.form_instances)


@dataclass(frozen=True)
class NotReady:
    """A cost that cannot be given, and what would help."""

    row: str
    machine_type: str
    why: str


@dataclass(frozen=True)
class TableFindings:
    """All that the tables say."""

    fits: tuple[CostFit, ...]
    #: Row of the profile of (topology, component).
    rows: Mapping[tuple[str, str], str]
    streams: tuple[StreamMeasure, ...]
    workers: tuple[WorkerCost, ...]
    memory_mb: tuple[tuple[str, float], ...]
    #: Mean CPU points of each machine over the time seen, by host.
    machine_cpu_points: tuple[tuple[str, float], ...]
    drift: tuple[CostDrift, ...]
    not_ready: tuple[NotReady, ...]
    #: Between instances, of the newest run of each topology.
    traffic: tuple[InstanceTraffic, ...] = ()


class NotMeasured(PenstockError):
    """Costs that were looked for are not known well enough."""


@dataclass(frozen=True)
class FollowerLag:
    """How far a follower's profile is behind what runs."""

    #: From the time of the newest record to the profile; a clock that is ahead makes it negative.
    newest_record_s: float
    #: From the beginning of the batch to the profile.
    batch_s: float

    def to_dict(self) -> dict[str, float]:
        return {"newest_record_s": self.newest_record_s, "batch_s": self.batch_s}


@dataclass(frozen=True)
class Measurement:
    """What one run over the telemetry found."""

    #: ``None`` where nothing is ready.
    profile: Profile | None
    findings: TableFindings
    quality: Quality
    #: Against the profile given, or between the first and the last half of the time.
    drift: tuple[CostDrift, ...]
    #: How long each step took.
    timings: tuple[StepTime, ...] = ()
    #: Only where records are followed as they come in.
    lag: FollowerLag | None = None

    @property
    def not_ready(self) -> tuple[NotReady, ...]:
        return self.findings.not_ready

    def whole_profile(self) -> Profile:
        """The profile, where every cost that was looked for is in it."""
        if self.profile is None or self.not_ready:
            why = "; ".join(f"{n.row} on {n.machine_type}: {n.why}" for n in self.not_ready)
            raise NotMeasured(f"not all costs could be measured: {why or 'nothing was seen'}")
        return self.profile

"""How good the data is: what came, what was kept, what was set aside and why, what is covered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

#: A clock is called skewed when it is off by more than this many windows.
_SKEW_WINDOWS = 1.5
_FEWEST_HOSTS = 3


@dataclass(frozen=True)
class Quality:
    """The quality report of one run over a store."""

    records_in: int
    kept: int
    #: Records set aside, by reason.
    set_aside: Mapping[str, int]
    #: Windows by status: used, warm-up, baseline, unknown.
    windows: Mapping[str, int]
    #: Component and machine type pairs with a cost, of those seen.
    costs_known: int
    costs_seen: int
    #: Share of the time between a task's first and last window that its windows cover.
    time_covered: float
    #: Seconds by which a host's clock is ahead of the others'.
    clocks_ahead_s: Mapping[str, float] = field(default_factory=dict)
    #: Share of traffic rows whose source task had to be estimated.
    traffic_estimated: float = 0.0

    def to_dict(self) -> dict[str, object]:
        return {
            "records_in": self.records_in,
            "kept": self.kept,
            "set_aside": dict(sorted(self.set_aside.items())),
            "windows": dict(sorted(self.windows.items())),
            "costs_known": self.costs_known,
            "costs_seen": self.costs_seen,
            "time_covered": self.time_covered,
            "clocks_ahead_s": dict(sorted(self.clocks_ahead_s.items())),
            "traffic_estimated": self.traffic_estimated,
        }


@dataclass(frozen=True)
class HostSpan:
    """First and last moment a host reported about a run."""

    run: str
    host: str
    first_ms: int
    last_ms: int
    window_ms: float


def skewed_clocks(spans: Iterable[HostSpan]) -> dict[str, float]:
    """Hosts whose clock is off, in seconds: both ends of their reports are, by the same amount.

    Costs and traffic do not depend on it, because every record's rate is by its own clock; what a
    machine did *when* does. A machine that joined late or left early is off at one end only.
    """
    by_run: dict[str, list[HostSpan]] = {}
    for span in spans:
        by_run.setdefault(span.run, []).append(span)
    ahead: dict[str, float] = {}
    for hosts in by_run.values():
        if len(hosts) < _FEWEST_HOSTS:
            continue
        first = median(h.first_ms for h in hosts)
        last = median(h.last_ms for h in hosts)
        for host in hosts:
            early, late = host.first_ms - first, host.last_ms - last
            tolerance = _SKEW_WINDOWS * host.window_ms
            if abs(early) > tolerance and abs(late) > tolerance and abs(early - late) <= tolerance:
                ahead[host.host] = round((early + late) / 2000, 3)
    return ahead

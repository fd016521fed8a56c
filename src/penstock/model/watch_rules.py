"""Guard rails as data: what no policy may do, whoever it is (``watch.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of the day, UTC, from ``begin`` to ``end``; over midnight where the end is earlier."""

    begin: float
    end: float

    def has(self, hour: float) -> bool:
        if self.begin <= self.end:
            return self.begin <= hour < self.end
        return hour >= self.begin or hour < self.end


@dataclass(frozen=True, slots=True)
class WatchRules:
    """All of them have defaults; a limit of ``None`` is none."""

    #: The longest 95th percentile of latency that is fine.
    latency_target_s: float = 5.0
    #: Telemetry that is older is not acted on.
    stale_after_s: float = 60.0
    #: A change of what the plan carries by less than this part is not worth one.
    dead_band: float = 0.02
    #: A wish to shrink must have stood for so long.
    stabilise_s: float = 0.0
    #: After a change, none for so long; growing may have its own.
    cool_down_s: float = 60.0
    cool_down_growing_s: float = 30.0
    most_moves_per_change: int | None = None
    most_moves_per_hour: int | None = None
    most_changes_per_hour: int | None = None
    forbidden_hours: tuple[Hours, ...] = ()
    fewest_machines: int = 1
    most_machines: int | None = None
    most_instances: int | None = None
    most_price_per_hour: float | None = None
    #: No shrinking while tuples of more than so many seconds wait.
    catching_up_s: float = 1.0
    #: How long a change stops the topology, until it was measured.
    pause_s: float = 12.0
    #: A change is judged after so long; one that carries less than this part of what was predicted
    #: is undone, and not tried again until something differs. 0: never.
    judge_after_s: float = 180.0
    must_keep: float = 0.9
    #: With more of the machines lost than this part, a person decides.
    most_failed: float = 0.34


#: What keeps nothing from acting but missing knowledge: policies have a tempo of their own.
FREE = WatchRules(
    dead_band=0.0,
    cool_down_s=0.0,
    cool_down_growing_s=0.0,
    catching_up_s=1e6,
    must_keep=0.0,
)


@dataclass(frozen=True)
class WatchSetting:
    """Who decides, and what it may not do: a ``watch.yaml``."""

    policy: str = "penstock"
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    rules: WatchRules = field(default_factory=WatchRules)

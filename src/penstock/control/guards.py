"""Guard rails: each looks at a change that a policy wants, and says why not, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from penstock.control.observation import Observation
from penstock.model.problem import Problem
from penstock.model.watch_rules import WatchRules
from penstock.planning.capacity_plans import CapacityPlan

#: Plans that carry the same but for this part are the same.
_NOTHING = 1e-3


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A change that was made, as guard rails remember it."""

    time_s: float
    moves: int
    carries_per_s: float
    carried_before_per_s: float
    machines: int


@dataclass(frozen=True, slots=True)
class WantedChange:
    """A change that a policy wants, beside what is."""

    seen: Observation
    rules: WatchRules
    problem: Problem
    plan: CapacityPlan
    carries_now_per_s: float
    moves: int
    #: Nobody restarts.
    shares_only: bool
    #: The newest last.
    changes: tuple[ChangeRecord, ...]
    #: Since when the policy has wanted to shrink without a break.
    shrinking_since_s: float
    #: Rates to which changes did not help, while nothing differs.
    useless_per_s: tuple[float, ...] = ()
    #: Wanted for another reason than what the plan carries.
    beyond_rate: bool = False
    #: The rate that the policy wants carried; inf where it asks for something else.
    asked_per_s: float = float("inf")

    @property
    def shrinks(self) -> bool:
        return self.plan.carries_per_s < self.carries_now_per_s

    @property
    def since_change_s(self) -> float:
        return self.seen.time_s - self.changes[-1].time_s if self.changes else float("inf")

    def in_last_hour(self) -> tuple[ChangeRecord, ...]:
        return tuple(c for c in self.changes if self.seen.time_s - c.time_s < 3600.0)


def not_ready(seen: Observation, rules: WatchRules) -> tuple[str, str] | None:
    """The rule and the reason why nothing can be decided at all; ``None``: it can."""
    if seen.telemetry_age_s > rules.stale_after_s:
        return "stale_after_s", f"the newest telemetry is {seen.telemetry_age_s:.0f} s old"
    if not seen.is_known:
        return "missing is not zero", "the offered rate is not known"
    if not seen.settled:
        return "all runs", "not everything that should run runs"
    failed = 1.0 - float(seen.alive.mean())
    if failed > rules.most_failed:
        return "most_failed", f"{100 * failed:.0f} % of the machines are lost: a person must look"
    return None


def _dead_band(w: WantedChange) -> str | None:
    if w.beyond_rate:
        return None
    part = abs(w.plan.carries_per_s / max(w.carries_now_per_s, 1e-9) - 1.0)
    fewer = w.plan.machines < len(w.seen.placement.machines_used)
    if w.asked_per_s <= w.carries_now_per_s and not fewer:
        return "less would do, and no plan for less has fewer machines"
    if part > max(w.rules.dead_band, _NOTHING) and (fewer or not w.shrinks):
        return None
    return f"the plan would carry {100 * part:.1f} % more or less, with as many machines"


def _cool_down(w: WantedChange) -> str | None:
    limit = w.rules.cool_down_s if w.shrinks else w.rules.cool_down_growing_s
    if w.since_change_s >= limit:
        return None
    return f"the last change was {w.since_change_s:.0f} s ago, {limit:g} s must pass"


def _stabilise(w: WantedChange) -> str | None:
    stood_s = w.seen.time_s - w.shrinking_since_s
    if not w.shrinks or stood_s >= w.rules.stabilise_s:
        return None
    return f"shrinking has been wanted for {stood_s:.0f} s, not for {w.rules.stabilise_s:g} s"


def _catching_up(w: WantedChange) -> str | None:
    waits_s = w.seen.waiting / max(w.seen.offered, 1e-9)
    if not w.shrinks or waits_s <= w.rules.catching_up_s:
        return None
    return f"tuples of {waits_s:.1f} s wait: no shrinking while catching up"


def _most_moves_per_change(w: WantedChange) -> str | None:
    limit = w.rules.most_moves_per_change
    return None if limit is None or w.moves <= limit else f"{w.moves} moves, {limit} are allowed"


def _most_moves_per_hour(w: WantedChange) -> str | None:
    limit = w.rules.most_moves_per_hour
    moves = w.moves + sum(c.moves for c in w.in_last_hour())
    return None if limit is None or moves <= limit else f"{moves} moves within an hour"


def _most_changes_per_hour(w: WantedChange) -> str | None:
    limit = w.rules.most_changes_per_hour
    changes = len(w.in_last_hour())
    return None if limit is None or changes < limit else f"{changes} changes within an hour"


def _forbidden_hours(w: WantedChange) -> str | None:
    hour = w.seen.time_s % 86_400.0 / 3600.0
    if not any(hours.has(hour) for hours in w.rules.forbidden_hours):
        return None
    return f"no changes at {int(hour):02d}:{int(hour % 1 * 60):02d} UTC"


def _machines(w: WantedChange) -> str | None:
    most = w.rules.most_machines
    if w.plan.machines < w.rules.fewest_machines:
        return f"{w.plan.machines} machines, at least {w.rules.fewest_machines}"
    if most is not None and w.plan.machines > most:
        return f"{w.plan.machines} machines, at most {most}"
    return None


def _most_instances(w: WantedChange) -> str | None:
    limit, wanted = w.rules.most_instances, len(w.plan.placement)
    return None if limit is None or wanted <= limit else f"{wanted} instances, at most {limit}"


def _most_price(w: WantedChange) -> str | None:
    limit = w.rules.most_price_per_hour
    if limit is None:
        return None
    cluster = w.problem.cluster
    price = cluster.per_type("price_per_hour")[cluster.type_of][w.plan.placement.machines_used]
    total = float(price.sum())
    if not isfinite(total):
        return "the cluster does not say what its machines cost"
    return None if total <= limit else f"{total:.4g} per hour, at most {limit:g}"


def _did_not_help(w: WantedChange) -> str | None:
    near = [r for r in w.useless_per_s if abs(w.plan.carries_per_s / r - 1.0) < 0.05]
    return "such a change did not help, and nothing differs since" if near else None


#: Each rule under the name that refusals say. Shares move nobody: only the first four look at them.
GUARDS: Mapping[str, Callable[[WantedChange], str | None]] = {
    "dead_band": _dead_band,
    "catching_up_s": _catching_up,
    "forbidden_hours": _forbidden_hours,
    "must_keep": _did_not_help,
    "cool_down_s": _cool_down,
    "stabilise_s": _stabilise,
    "most_moves_per_change": _most_moves_per_change,
    "most_moves_per_hour": _most_moves_per_hour,
    "most_changes_per_hour": _most_changes_per_hour,
    "machines": _machines,
    "most_instances": _most_instances,
    "most_price_per_hour": _most_price,
}
_FOR_SHARES = ("catching_up_s", "forbidden_hours", "must_keep")


def refusal(wanted: WantedChange) -> tuple[str, str] | None:
    """The first rule that says no, and why; ``None``: it may be done."""
    for rule, guard in GUARDS.items():
        if wanted.shares_only and rule not in _FOR_SHARES:
            continue
        why = guard(wanted)
        if why is not None:
            return rule, why
    return None

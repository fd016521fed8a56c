"""What changes between two plans. An instance on another machine is a move; one more or one less
is an addition or a drop, not a move."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from penstock.model.plan import Plan


@dataclass(frozen=True, slots=True)
class ComponentChange:
    """What happens to the instances of one component; machines by name."""

    topology: str
    component: str
    before: int
    after: int
    #: (from, to) per moved instance.
    moves: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    shares_changed: bool = False

    @property
    def is_change(self) -> bool:
        return bool(self.moves or self.added or self.dropped or self.shares_changed)

    def to_dict(self) -> dict[str, object]:
        return {
            "topology": self.topology,
            "component": self.component,
            "before": self.before,
            "after": self.after,
            "moves": [{"from": a, "to": b} for a, b in self.moves],
            "added": list(self.added),
            "dropped": list(self.dropped),
            "shares_changed": self.shares_changed,
        }


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between two plans."""

    components: tuple[ComponentChange, ...]
    machines_taken: tuple[str, ...]
    machines_freed: tuple[str, ...]
    rate_before_per_s: tuple[tuple[str, float], ...]
    rate_after_per_s: tuple[tuple[str, float], ...]

    @property
    def moves(self) -> int:
        return sum(len(change.moves) for change in self.components)

    @property
    def added(self) -> int:
        return sum(len(change.added) for change in self.components)

    @property
    def dropped(self) -> int:
        return sum(len(change.dropped) for change in self.components)

    @property
    def any(self) -> bool:
        return any(change.is_change for change in self.components)

    def to_dict(self) -> dict[str, object]:
        return {
            "moves": self.moves,
            "added": self.added,
            "dropped": self.dropped,
            "machines_taken": list(self.machines_taken),
            "machines_freed": list(self.machines_freed),
            "rate_before_per_s": dict(self.rate_before_per_s),
            "rate_after_per_s": dict(self.rate_after_per_s),
            "components": [change.to_dict() for change in self.components if change.is_change],
        }


#: Machine and share of each instance of a component.
Instances = list[tuple[str, float | None]]
Where = dict[tuple[str, str], Instances]


def diff(before: Plan, after: Plan) -> Changes:
    """What has to happen for ``before`` to become ``after``."""
    old, new = _where(before), _where(after)
    used_before = {machine for places in old.values() for machine, _ in places}
    used_after = {machine for places in new.values() for machine, _ in places}
    # The new plan's order, then what it no longer has.
    keys = [*new, *(key for key in old if key not in new)]
    return Changes(
        components=tuple(_change(key, old.get(key, []), new.get(key, [])) for key in keys),
        machines_taken=tuple(sorted(used_after - used_before)),
        machines_freed=tuple(sorted(used_before - used_after)),
        rate_before_per_s=before.predicted.rate_per_s,
        rate_after_per_s=after.predicted.rate_per_s,
    )


def _where(plan: Plan) -> Where:
    """Machine and share of every instance, by topology and component."""
    return {
        key: [(place.machine, place.share) for place in places]
        for key, places in plan.places.items()
    }


def _change(
    key: tuple[str, str],
    old: Instances,
    new: Instances,
) -> ComponentChange:
    before, after = Counter(m for m, _ in old), Counter(m for m, _ in new)
    leaving = sorted((before - after).elements())
    arriving = sorted((after - before).elements())
    moved = min(len(leaving), len(arriving))
    return ComponentChange(
        topology=key[0],
        component=key[1],
        before=len(old),
        after=len(new),
        moves=tuple(zip(leaving[:moved], arriving[:moved], strict=True)),
        added=tuple(arriving[moved:]),
        dropped=tuple(leaving[moved:]),
        shares_changed=_shares_changed(old, new, before, after),
    )


def _shares_changed(
    old: Instances, new: Instances, before: Counter[str], after: Counter[str]
) -> bool:
    """Other shares, or the same ones on other machines without anything having moved there."""
    if sorted(s for _, s in old if s is not None) != sorted(s for _, s in new if s is not None):
        return True
    settled = {machine for machine, count in before.items() if after[machine] == count}

    def on_settled(places: Instances) -> list[tuple[str, float]]:
        return sorted((m, s) for m, s in places if s is not None and m in settled)

    return on_settled(old) != on_settled(new)

"""Advice in words and as facts."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.files.answer_formats import answer_head
from penstock.planning.advice import Advice, Change
from penstock.planning.numbers import percent, rate

#: Gains below this part are none.
_NOTHING = 1e-6


def advice_view(found: Advice) -> RenderableType:
    """What would help, best first; what is not needed; how sure this is."""
    changes = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    changes.add_column("change")
    for column in ("found, carries/s", "gain", "no plan can exceed"):
        changes.add_column(column, justify="right")
    for change in (*found.one_more, *found.faster):
        changes.add_row(
            change.what,
            rate(change.rate_per_s),
            _signed(change.gain),
            f"{rate(change.bound_per_s)}/s",
        )
    return Group(changes, *(Text(line) for line in sentences(found)))


def _signed(gain: float) -> str:
    return ("+" if gain >= 0 else "-") + percent(abs(gain), 2)


def sentences(found: Advice) -> list[str]:
    """What pays most, what can go, what is wasted, how sure."""
    lines = [f"the plan carries {rate(found.rate_per_s)} tuples/s; limit: {found.limited_by}"]
    if found.hottest_key:
        lines.append(found.hottest_key)
    if found.replanned_per_s > found.rate_per_s * 1.0005 and found.rate_per_s > 0:
        more = found.replanned_per_s / found.rate_per_s - 1
        lines.append(
            f"planning again without new machines gives {rate(found.replanned_per_s)} "
            f"({percent(more)} more)"
        )
    lines += [_pays("machine", found.one_more), _pays("speed-up", found.faster)]
    if found.can_go:
        names = ", ".join(f"{count} {kind}" for kind, count in found.can_go)
        lines.append(f"the same rate needs fewer machines: {names} can go")
    else:
        lines.append("every machine is needed, as far as was found")
    for kind, used in found.wasted:
        lines.append(f"{kind} is wasted: at best {percent(used)} of its CPU is of use")
    return [line for line in (*lines, *_sure(found)) if line]


def _pays(what: str, changes: tuple[Change, ...]) -> str:
    if not changes or changes[0].gain <= _NOTHING:
        return f"no {what} pays, as far as was found" if changes else ""
    best = changes[0]
    return f"the {what} that pays most: {best.what}, {_signed(best.gain)}"


def _sure(found: Advice) -> list[str]:
    if found.range_of_plan is None or found.range_of_best is None:
        return ["how certain these figures are is unknown: the profile has no error bars"]
    low, high = found.range_of_plan
    worst, best = found.range_of_best
    ends = f"{rate(low)} to {rate(high)}, the best plans {rate(worst)} to {rate(best)}"
    return [f"with all costs at the ends of their 95 % error bars the plan carries {ends}"]


def _finite(value: float) -> float | None:
    """JSON has no number for "unlimited"."""
    return value if math.isfinite(value) else None


def _finite_range(ends: tuple[float, float] | None) -> list[float | None] | None:
    return None if ends is None else [_finite(end) for end in ends]


def advice_dict(found: Advice) -> dict[str, object]:
    """The same as facts."""

    def change(one: Change) -> dict[str, object]:
        return {
            "what": one.what,
            "rate_per_s": _finite(one.rate_per_s),
            "bound_per_s": _finite(one.bound_per_s),
            "gain": _finite(one.gain),
        }

    return {
        **answer_head("advice"),
        "rate_per_s": _finite(found.rate_per_s),
        "replanned_per_s": _finite(found.replanned_per_s),
        "limited_by": found.limited_by,
        "hottest_key": found.hottest_key or None,
        "one_more": [change(one) for one in found.one_more],
        "faster": [change(one) for one in found.faster],
        "can_go": dict(found.can_go),
        "wasted": dict(found.wasted),
        "range_of_plan_per_s": _finite_range(found.range_of_plan),
        "range_of_best_per_s": _finite_range(found.range_of_best),
        "in_words": sentences(found),
    }

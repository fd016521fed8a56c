"""Advice in words and as facts."""

from __future__ import annotations

import math

from penstock.files.answer_formats import answer_head
from penstock.planning.advice import Advice, Change
from penstock.planning.numbers import percent, rate
from penstock.report.page import Column, Document, Section, paragraph, table_of

#: Gains below this part are none.
_NOTHING = 1e-6


def advice_page(advice: Advice) -> Document:
    """What would help, best first; what is not needed; how sure this is."""
    changes = table_of(
        (*advice.one_more, *advice.faster),
        (Column("change"), lambda change: change.what),
        (Column("new plan carries", "tuples/s"), lambda change: change.rate_per_s),
        (Column("gain", "%", digits=2, signed=True), lambda change: 100 * change.gain),
        (Column("no plan can exceed", "tuples/s"), lambda change: change.bound_per_s),
    )
    paragraphs = map(paragraph, advice_sentences(advice))
    return Document("", (Section("", (changes, *paragraphs)),))


def _signed(gain: float) -> str:
    return ("+" if gain >= 0 else "-") + percent(abs(gain), 2)


def advice_sentences(advice: Advice) -> list[str]:
    """What pays most, what can go, what is wasted, how sure."""
    lines = [f"the plan carries {rate(advice.rate_per_s)} tuples/s; limit: {advice.limited_by}"]
    if advice.hottest_key:
        lines.append(advice.hottest_key)
    if advice.replanned_per_s > advice.rate_per_s * 1.0005 and advice.rate_per_s > 0:
        more = advice.replanned_per_s / advice.rate_per_s - 1
        lines.append(
            f"planning again without new machines gives {rate(advice.replanned_per_s)} "
            f"({percent(more)} more)"
        )
    lines += [_pays("machine", advice.one_more), _pays("speed-up", advice.faster)]
    if advice.can_go:
        names = ", ".join(f"{count} {kind}" for kind, count in advice.can_go)
        lines.append(f"the same rate needs fewer machines: {names} can go")
    else:
        lines.append("no machine can be removed without loss")
    for kind, used in advice.wasted:
        lines.append(f"{kind} is wasted: at best {percent(used)} of its CPU is of use")
    return [line for line in (*lines, *_sure(advice)) if line]


def _pays(what: str, changes: tuple[Change, ...]) -> str:
    if not changes or changes[0].gain <= _NOTHING:
        return f"no {what} was found that pays" if changes else ""
    best = changes[0]
    return f"the {what} that pays most: {best.what}, {_signed(best.gain)}"


def _sure(advice: Advice) -> list[str]:
    if advice.range_of_plan is None or advice.range_of_best is None:
        return ["the uncertainty is not known: the profile has no error bars"]
    low, high = advice.range_of_plan
    worst, best = advice.range_of_best
    ends = f"{rate(low)} to {rate(high)}, the best plans {rate(worst)} to {rate(best)}"
    return [f"with all costs at the ends of their 95 % error bars the plan carries {ends}"]


def _finite(value: float) -> float | None:
    """JSON has no number for "unlimited"."""
    return value if math.isfinite(value) else None


def _finite_range(ends: tuple[float, float] | None) -> list[float | None] | None:
    return None if ends is None else [_finite(end) for end in ends]


def advice_dict(advice: Advice) -> dict[str, object]:
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
        "rate_per_s": _finite(advice.rate_per_s),
        "replanned_per_s": _finite(advice.replanned_per_s),
        "limited_by": advice.limited_by,
        "hottest_key": advice.hottest_key or None,
        "one_more": [change(one) for one in advice.one_more],
        "faster": [change(one) for one in advice.faster],
        "can_go": dict(advice.can_go),
        "wasted": dict(advice.wasted),
        "range_of_plan_per_s": _finite_range(advice.range_of_plan),
        "range_of_best_per_s": _finite_range(advice.range_of_best),
        "in_words": advice_sentences(advice),
    }

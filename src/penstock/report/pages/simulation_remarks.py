"""What the reader of a simulation must know: what is unfinished, and what the run cannot tell."""

from __future__ import annotations

from math import ceil, isnan

from penstock.planning.numbers import counted, rate
from penstock.simulate.latency import PERCENTILES, seconds_needed, tuples_needed
from penstock.simulate.measured import TopologyFigures
from penstock.simulate.results import FLUID, SimResult
from penstock.simulate.scenario import Change, CutOff, Down, Replace

#: Less than this part of what is offered comes out where a topology falls behind.
_KEEPS_UP = 0.98


def simulation_remarks(result: SimResult) -> list[str]:
    """Sentences, the most important ones first."""
    behind = falling_behind(result)
    remarks: list[str | None] = []
    if result.stopped:
        remarks.append("stopped early: these are the results so far")
    if waiting := _awaiting_timeout(result):
        remarks += [waiting, *_too_short_for_timeouts(result)]
    if not behind:
        remarks.append(too_short_for_warmup(result))
    remarks += [*behind, _too_short_for_percentile(result)]
    batch = result.scenario.tuples_per_batch
    if batch > 1:
        remarks.append(
            f"{batch} tuples were simulated as one: rates hold, latencies are about "
            f"{batch} service times too long"
        )
    if result.model == FLUID:
        remarks.append(
            "the fluid model has no randomness: no percentiles, and no queues below saturation"
        )
    return [remark for remark in remarks if remark]


def too_short_for_warmup(result: SimResult) -> str | None:
    until_s = result.measured.until_s
    asked = result.scenario.warmup_s
    if asked is not None and asked > result.warmup_s + 1e-9:
        return (
            f"too short: the run ended at {until_s:g} s, before its warm-up of {asked:g} s was "
            "over, so these figures are of queues that are still filling"
        )
    if result.still_settling:
        return (
            f"too short: the number of tuples in flight still grows after {until_s:g} s, so "
            f"latencies are too good; simulate longer, for example --duration {4 * until_s:g}"
        )
    return None


def _awaiting_timeout(result: SimResult) -> str | None:
    waiting = round(sum(one.awaiting_timeout for one in result.measured.topologies))
    if not waiting:
        return None
    return (
        f"{counted(waiting, 'tuple')} in flight lost a part on the way and can only time out, "
        f"{result.scenario.timeout_s:g} s after being sent; they count in latencies with their age "
        "so far, so those they decide are lower bounds (≥)"
    )


def _too_short_for_timeouts(result: SimResult) -> list[str]:
    """What was lost so late that the run ends before it times out."""
    timeout_s, until_s = result.scenario.timeout_s, result.measured.until_s
    return [
        f"too short: the run ends at {until_s:g} s, and tuples lost when {what} time out until "
        f"{over_s + timeout_s:g} s, so what is sent again and how long that takes is not known; "
        f"simulate at least --duration {10 * ceil((over_s + 1.25 * timeout_s) / 10)}, or set a "
        "shorter timeout_s in the scenario"
        for at_s, over_s, what in _losses(result)
        if at_s < until_s < over_s + timeout_s
    ]


def _losses(result: SimResult) -> list[tuple[float, float, str]]:
    """When tuples begin to be lost, until when, and why."""
    return [
        (change.at_s, *described)
        for change in result.scenario.changes
        if (described := _loss(change)) is not None
    ]


def _loss(change: Change) -> tuple[float, str] | None:
    match change:
        case Down(at_s, machine, until_s):
            return (until_s or at_s), f"{machine} went down"
        case CutOff(at_s, rack, until_s):
            return (until_s or at_s), f"{rack} was cut off"
        case Replace(at_s, _, pause_s):
            return at_s + pause_s, "the plan was replaced"
    return None


def falling_behind(result: SimResult) -> list[str]:
    """The topologies that complete less than is offered, and how much is queued."""
    remarks = (_falls_behind(result, one) for one in result.measured.topologies)
    return [remark for remark in remarks if remark]


def _falls_behind(result: SimResult, one: TopologyFigures) -> str | None:
    if result.scenario.offered.in_flight is not None:
        return None
    seconds = result.measured.until_s - result.measured.from_s
    queued = one.at_source + one.in_flight - one.awaiting_timeout
    slow = one.completed_per_s < _KEEPS_UP * one.offered_per_s
    if not slow or queued < (1 - _KEEPS_UP) * one.offered_per_s * seconds:
        return None
    return (
        f"{one.topology} falls behind: {rate(queued)} tuples are queued at the end, "
        f"{rate(one.at_source)} of them at the source, so latencies grow with the length of the run"
    )


def unknown_percentile(result: SimResult) -> str | None:
    """The lowest percentile that is left out for lack of tuples; the fluid model has none."""
    if result.model == FLUID:
        return None
    for name in PERCENTILES:
        if any(isnan(getattr(one, f"latency_{name}_ms")) for one in result.measured.topologies):
            return name
    return None


def what_it_needs(percentile: str) -> str:
    """``1,000 tuples``."""
    seconds = seconds_needed(percentile)
    return f"{tuples_needed(percentile):,} tuples" + (f" in at least {seconds:g} s" * bool(seconds))


def _too_short_for_percentile(result: SimResult) -> str | None:
    name = unknown_percentile(result)
    if name is None:
        return None
    measured = result.measured
    seconds = measured.until_s - measured.from_s
    fewest = min(measured.topologies, key=lambda one: one.completed_per_s)
    return (
        f"too short for {percentile_title(name)}, which needs {what_it_needs(name)}: "
        f"{fewest.completed_per_s * seconds:,.0f} of {fewest.topology} were completed in the "
        f"{seconds:.4g} s that are counted"
    )


def percentile_title(name: str) -> str:
    """``p99.9`` for ``p999``."""
    return f"{name[:3]}.{name[3:]}" if len(name) > 3 else name

"""The facts about one scheduler's answer, as every view (text, JSON, HTML) shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.latency import path_latency_ms
from penstock.model.cluster import Hop
from penstock.model.outcome import Outcome
from penstock.model.plan import Plan


@dataclass(frozen=True)
class Facts:
    """One row of a comparison. ``None`` where it is not known or does not apply."""

    scheduler: str
    placed: bool
    #: Topologies that the plan leaves out; its rates are of the others only.
    not_placed: tuple[str, ...] = ()
    instances: int = 0
    machines_used: int = 0
    workers: int = 0
    scale: float | None = None
    rate_per_s: dict[str, float] | None = None
    throughput_per_s: float | None = None
    sink_throughput_per_s: float | None = None
    mean_sink_throughput_per_s: float | None = None
    throughput_per_machine: float | None = None
    #: The bound that holds for every plan, and what this one leaves of it.
    bound_scale: float | None = None
    gap: float | None = None
    #: The plan's own certificate may be tighter than that.
    certified_gap: float | None = None
    proven_optimal: bool = False
    bound_kind: str = ""
    mean_utilisation: float | None = None
    weighted_utilisation: float | None = None
    #: Fraction of tuples by hop class, nearest first.
    network_mix: dict[str, float] | None = None
    mean_network_distance: float | None = None
    mean_hop_latency_ms: float | None = None
    #: Spout to sink at 0.8 of the sustainable rate, an estimate (penstock.evaluate.latency).
    path_latency_ms: float | None = None
    watts: float | None = None
    price_per_hour: float | None = None
    limited_by: str = ""
    seconds_to_plan: float = 0.0
    shortfalls: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def total_rate_per_s(self) -> float | None:
        """Of all topologies together."""
        return sum(self.rate_per_s.values()) if self.rate_per_s else None

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def ranked(rows: Iterable[Facts]) -> list[Facts]:
    """Best first: most topologies placed, then no limit broken, then the highest rate."""

    def key(row: Facts) -> tuple[bool, int, bool, float]:
        return (
            not row.placed,
            len(row.not_placed),
            bool(row.violations),
            -(row.total_rate_per_s or 0.0),
        )

    return sorted(rows, key=key)


def facts(
    scheduler: str,
    plan: Plan | None,
    judged: Assessment | None,
    outcome: Outcome,
    seconds: float,
    bound_scale: float | None,
) -> Facts:
    """Gather the facts; everything comes from the plan's own prediction and assessment."""
    shortfalls = tuple(str(shortfall) for shortfall in outcome.shortfalls)
    if plan is None:
        return Facts(
            scheduler,
            placed=False,
            seconds_to_plan=seconds,
            shortfalls=shortfalls,
            notes=outcome.notes,
        )
    predicted = plan.predicted
    loads = predicted.machines
    row = Facts(
        scheduler,
        placed=True,
        not_placed=plan.not_placed,
        instances=len(plan.placement),
        machines_used=len(plan.placement.machines_used),
        workers=len(plan.placement.workers),
        scale=predicted.scale,
        rate_per_s=dict(predicted.rate_per_s) or None,
        throughput_per_s=predicted.throughput_per_s,
        bound_scale=bound_scale,
        gap=None if plan.not_placed else replace(predicted, bound_scale=bound_scale).gap,
        certified_gap=predicted.gap,
        proven_optimal=predicted.proven_optimal,
        bound_kind=predicted.bound_kind,
        mean_utilisation=float(np.mean([load.utilisation for load in loads])) if loads else None,
        limited_by=predicted.limited_by,
        seconds_to_plan=seconds,
        shortfalls=shortfalls,
        violations=predicted.violations,
        notes=plan.notes,
    )
    if judged is None or predicted.scale is None:
        return row
    return Facts(**(asdict(row) | _assessed(judged)))


def _assessed(judged: Assessment) -> dict[str, object]:
    tuples = judged.unit_traffic.tuples
    total = float(tuples.sum())
    return {
        "sink_throughput_per_s": judged.sink_throughput_per_s,
        "mean_sink_throughput_per_s": judged.mean_sink_throughput_per_s,
        "throughput_per_machine": judged.throughput_per_machine,
        "weighted_utilisation": judged.weighted_utilisation,
        "network_mix": {hop.label: float(tuples[hop]) / total for hop in Hop} if total else None,
        "mean_network_distance": judged.unit_traffic.mean_distance if total else None,
        "mean_hop_latency_ms": judged.mean_hop_latency_ms if total else None,
        "path_latency_ms": path_latency_ms(judged),
        "watts": judged.watts,
        "price_per_hour": judged.price_per_hour,
    }

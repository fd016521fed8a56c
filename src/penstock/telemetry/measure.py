"""From tables to a profile: costs, streams, memory and worker overhead, or what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from penstock.model.cpu_form import FormKind
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.profile import Cost, Origin, Profile, StreamMeasure
from penstock.telemetry.drift import Measure, drifts
from penstock.telemetry.findings import CostFit, NotReady, TableFindings
from penstock.telemetry.fit.extrapolate import estimate_missing
from penstock.telemetry.fit.rounding import finite, rounded
from penstock.telemetry.fit.worker_costs import WorkerWindows, worker_costs
from penstock.telemetry.quality import HostSpan, skewed_clocks
from penstock.telemetry.slots.fit_task import points_of
from penstock.telemetry.slots.summaries import Summaries, worker_windows
from penstock.telemetry.slots.sums import SampleSizes

_Row = Mapping[str, Any]


def find(
    summaries: Summaries,
    sizes: SampleSizes,
    fitted: Sequence[CostFit],
    traffic: tuple[InstanceTraffic, ...] = (),
) -> TableFindings:
    """Everything that the tables say, from what hours add up to and the fits of costs."""
    groups = summaries.groups()
    rows = _row_names((row["topology"], row["component"]) for row in groups)
    fits = _with_silent(fitted, groups)
    halves = summaries.stream_halves()
    cost_measures = [
        Measure(rows[f.topology, f.component], f.machine_type, "e",
                f.e_first, f.e_first_error, f.e_last, f.e_last_error)
        for f in fits if not f.not_ready
    ]  # fmt: skip
    not_ready = [
        NotReady(rows[f.topology, f.component], f.machine_type, f.not_ready)
        for f in fits
        if f.not_ready
    ]
    workers = worker_costs(
        _worker_windows(summaries, sizes), sizes.workers, summaries.own_cpu(), fits
    )
    return TableFindings(
        fits=tuple(fits),
        rows=rows,
        streams=tuple(_stream_measures(halves, summaries.edges())),
        workers=tuple(workers),
        memory_mb=_memory(groups, rows),
        machine_cpu_points=tuple((h, rounded(cpu)) for h, cpu in summaries.machine_cpu()),
        drift=tuple(drifts([*cost_measures, *_selectivity_measures(halves)])),
        not_ready=tuple(not_ready),
        traffic=traffic,
    )


def _with_silent(fitted: Sequence[CostFit], groups: Sequence[_Row]) -> list[CostFit]:
    have = {(f.topology, f.component, f.machine_type) for f in fitted}
    silent = [r for r in groups if (r["topology"], r["component"], r["machine_type"]) not in have]
    fits = [*fitted, *(_silent(row) for row in silent)]
    return sorted(fits, key=lambda f: (f.topology, f.component, f.machine_type))


def _worker_windows(summaries: Summaries, sizes: SampleSizes) -> WorkerWindows:
    table = worker_windows(summaries, sizes)
    points = points_of(table, summaries.vocabulary)
    return WorkerWindows(points, summaries.text(table["machine_type"]), table["crossing"])


def _row_names(components: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A component's own name, with its topology's in front where two topologies share it."""
    distinct = sorted(set(components))
    used = Counter(component for _, component in distinct)
    return {(t, c): c if used[c] == 1 else f"{t}.{c}" for t, c in distinct}


def _silent(row: Any) -> CostFit:
    """A group without a single usable window: say what is missing."""
    if row["with_cpu"] == 0:
        why = "no CPU measured; execute times are wall clock and say nothing about it"
    elif row["with_rate"] == 0:
        why = "no tuple counts"
    else:
        why = "no window with tuple counts and CPU after the warm-up; run longer, or see --warm-up"
    return CostFit(row["topology"], row["component"], row["machine_type"], 0, not_ready=why)


def _memory(
    groups: Sequence[_Row], rows: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, float], ...]:
    """Memory of an instance: the most that is usual on any machine type."""
    most: dict[str, float] = {}
    for row in groups:
        if row["memory_mb"] is not None:
            name = rows[row["topology"], row["component"]]
            most[name] = max(most.get(name, 0.0), rounded(row["memory_mb"]))
    return tuple(sorted(most.items()))


# -- streams -----------------------------------------------------------------------------------

_Halves = Mapping[tuple[str, str, str], list[dict[str, float]]]


def _selectivity_measures(halves: _Halves) -> list[Measure]:
    """Selectivity of every stream in both halves of the time, for its drift."""
    measures = []
    for (_, component, stream), parts in halves.items():
        if len(parts) == 2:
            (before, before_error), (after, after_error) = (_selectivity([p]) for p in parts)
            name = f"{component} ({stream})"
            measures.append(
                Measure(name, "", "selectivity", before, before_error, after, after_error)
            )
    return measures


def _stream_measures(halves: _Halves, edges: Sequence[_Row]) -> list[StreamMeasure]:
    """Selectivity and size of every stream towards everyone who takes it."""
    measures = []
    several = len({topology for topology, _, _ in halves}) > 1
    for edge in edges:
        parts = halves.get((edge["topology"], edge["source"], edge["stream"]), [])
        value, error = _selectivity(parts)
        measures.append(
            StreamMeasure(
                source=edge["source"],
                target=edge["target"],
                name=edge["stream"],
                topology=edge["topology"] if several else "",
                selectivity=finite(value),
                selectivity_error=finite(error),
                tuple_bytes=finite(_tuple_bytes(parts, edge["tuple_bytes"])),
                tuples_per_s=finite(edge["tuples_per_s"]),
            )
        )
    return measures


def _selectivity(parts: list[dict[str, float]]) -> tuple[float, float]:
    """Tuples out per tuple in, and its standard error from how blocks differ."""
    i, o, ii, io, oo, n = (
        float(sum(part[name] for part in parts)) for name in ("i", "o", "ii", "io", "oo", "blocks")
    )
    if i <= 0:
        return np.nan, np.nan
    ratio = o / i
    if n < 3:
        return ratio, np.nan
    scatter = max(oo - 2 * ratio * io + ratio**2 * ii, 0.0)
    small = special.stdtrit(n - 1, 0.975) / 1.959964
    return ratio, float(np.sqrt(scatter * n / (n - 1)) / i * small)


def _tuple_bytes(parts: list[dict[str, float]], received: float) -> float:
    """Size by what was sent; by what was received where the sender did not say."""
    tuples = sum(np.nan_to_num(part["sized_tuples"]) for part in parts)
    if tuples > 0:
        return float(sum(np.nan_to_num(part["bytes"]) for part in parts) / tuples)
    return received


# -- the profile -------------------------------------------------------------------------------


def profile_of(
    findings: TableFindings, *, name: str, source: str, extrapolate: bool = True
) -> Profile | None:
    """The profile of what is ready, with unmeasured pairs estimated; ``None`` where nothing is."""
    ready = [f for f in findings.fits if not f.not_ready]
    if not ready:
        return None
    measured = [_cost(findings.rows[f.topology, f.component], f) for f in ready]
    estimated = _extrapolated(measured) if extrapolate else []
    by_place = sorted([*measured, *estimated], key=lambda c: (c.row, c.machine_type))
    rows = {cost.row for cost in by_place}
    return Profile(
        name=name,
        costs=tuple(by_place),
        memory_mb=tuple((row, mb) for row, mb in findings.memory_mb if row in rows),
        streams=findings.streams,
        workers=findings.workers,
        origin=Origin.MEASURED,
        source=source,
        traffic=findings.traffic,
    )


def _cost(row: str, fit: CostFit) -> Cost:
    bent = fit.form != FormKind.LINEAR
    form = fit.cpu_form
    short = replace(
        form, e=rounded(form.e), met=rounded(form.met), spin=rounded(form.spin),
        shape=rounded(form.shape), instances=rounded(form.instances),
    )  # fmt: skip
    return Cost(
        row=row,
        machine_type=fit.machine_type,
        e=rounded(fit.e),
        met=rounded(fit.met),
        e_error=rounded(fit.e_error),
        met_error=rounded(fit.met_error),
        samples=fit.samples,
        form=short if bent else None,
        linear_error=rounded(fit.linear_error) if bent else None,
        rate_most=rounded(fit.rate_most),
    )


def _extrapolated(measured: list[Cost]) -> list[Cost]:
    """Costs of the pairs never measured, from the rest of the table."""
    have = {(c.row, c.machine_type): c for c in measured}
    rows, types = sorted({c.row for c in measured}), sorted({c.machine_type for c in measured})
    missing = [(row, kind) for row in rows for kind in types if (row, kind) not in have]
    e = estimate_missing({k: (c.e, c.e_error or 0.0) for k, c in have.items()}, missing)
    # MET of zero has no logarithm: a hundredth of a point stands for it.
    met = estimate_missing(
        {k: (max(c.met, 0.01), max(c.met_error or 0.0, 0.01)) for k, c in have.items()}, missing
    )
    return [
        Cost(
            row, kind, e=rounded(e[row, kind].value), met=rounded(met[row, kind].value),
            e_error=rounded(e[row, kind].error), met_error=rounded(met[row, kind].error),
            extrapolated=True,
        )
        for row, kind in missing
        if (row, kind) in e and (row, kind) in met
    ]  # fmt: skip


def clocks(summaries: Summaries) -> dict[str, float]:
    """Hosts whose clock is off, and by how many seconds."""
    return skewed_clocks(HostSpan(*span) for span in summaries.host_spans())

"""The history as tables: plans put in force, what was predicted, what was measured afterwards.

Receipts are taken in as they are found; what they say is written under their id, and a receipt that
changed since (begun, then applied) replaces what was there. Measuring holds them against the table
of rates of a telemetry store. Both end with one commit, so a crash leaves the tables as they were.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.change.hindsight import hindsight
from penstock.change.history import APPLIED, MeasuredOutcome, Receipt
from penstock.errors import Finding, InputError
from penstock.telemetry.history.reader import RECEIPTS_IN, UNMEASURED
from penstock.telemetry.history.what_ran import Place, instances, what_ran
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.schemas import HISTORY
from penstock.telemetry.store import Store

Row = tuple[Any, ...]
#: Places that did not report, in a message.
_NAMED = 3


@dataclass
class HistoryTables:
    """The tables of one history."""

    store: Store

    def take_in(self, receipts: Sequence[tuple[Receipt, str]]) -> int:
        """Write what new or changed receipts say; how many they were."""
        manifest = self.store.manifest()
        known = manifest.facts.get(RECEIPTS_IN, {})
        digests = {a.id: hashlib.sha256(text.encode()).hexdigest() for a, text in receipts}
        fresh = [(a, text) for a, text in receipts if known.get(a.id) != digests[a.id]]
        if not fresh:
            return 0
        rows = {
            "applied": [_applied_row(a, text) for a, text in fresh],
            "predicted_rates": [row for a, _ in fresh for row in _predicted_rates(a)],
            "predicted_cpu": [row for a, _ in fresh for row in _predicted_cpu(a)],
        }
        manifest = self._write(manifest, rows, [a.id for a, _ in fresh])
        self.store.commit(manifest.with_facts(**{RECEIPTS_IN: {**known, **digests}}))
        return len(fresh)

    def measure(self, rates: DataFrame, applied: Sequence[Receipt]) -> dict[str, MeasuredOutcome]:
        """Hold the plans in force against what ran; what was measured anew, by id.

        A measurement gives way only to one of at least as much time: telemetry is rotated, and
        what was once known must not be forgotten with it.
        """
        measurable = [a for a in applied if a.outcome == APPLIED]
        if not measurable:
            return {}
        measured, others = what_ran(rates, measurable, applied)
        manifest = self.store.manifest()
        known = self._stretches(manifest)
        outcomes = {
            a.id: hindsight(a, measured[a.id])
            for a in measurable
            if a.id in measured and measured[a.id].stretches >= known.get(a.id, 0)
        }
        whys = {
            a.id: why_not(a, others.get(a.id, Counter()))
            for a in measurable
            if a.id not in measured and a.id not in known
        }
        rows = {
            "measured_rates": [row for id_, o in outcomes.items() for row in _rates(id_, o)],
            "measured_cpu": [row for id_, o in outcomes.items() for row in _cpu(id_, o)],
        }
        if outcomes:
            manifest = self._write(manifest, rows, list(outcomes))
        self.store.commit(manifest.with_facts(**{UNMEASURED: whys}))
        return outcomes

    def _stretches(self, manifest: Manifest) -> dict[str, int]:
        try:
            rows = self.store.read(manifest, "measured_rates").select("id", "stretches").collect()
        except PySparkException as error:
            said = str(error).strip().splitlines()[0][:200]
            message = f"cannot be read ({said}); --rebuild writes the tables anew from the receipts"
            raise InputError(Finding(message, self.store.root)) from None
        return {row["id"]: int(row["stretches"]) for row in rows}

    def _write(
        self, manifest: Manifest, rows: Mapping[str, Sequence[Row]], ids: Sequence[str]
    ) -> Manifest:
        part = f"{manifest.number + 1:08d}"
        for table, content in rows.items():
            frame = self.store.spark.createDataFrame(list(content), HISTORY[table]).coalesce(1)
            folders = self.store.write_by("id", table, frame, part) if content else {}
            manifest = manifest.with_parts(table, folders, replacing=ids)
        return manifest


def why_not(applied: Receipt, windows: Counter[Place]) -> str:
    """Why a plan that was put in force has no measurement, by the windows seen at each place."""
    if not windows:
        return "the telemetry given has nothing of it after its warm-up"
    message = (
        f"in none of the {windows.total():,} windows seen was every instance where the plan has it"
    )
    silent = sorted(instances(applied.plan).keys() - windows.keys())
    if not silent:
        return f"{message} at the same time; did something move, or was the time too short?"
    names = ", ".join(f"{component} on {machine}" for _, component, machine in silent[:_NAMED])
    more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    return (
        f"{message}: none is of {names}{more}; was telemetry of a machine left out, or "
        "something moved?"
    )


def _applied_row(applied: Receipt, text: str) -> Row:
    predicted = applied.plan.predicted
    counts = [sum(len(getattr(c, what)) for c in applied.changes) for what in _CHANGES]
    return (
        applied.engine, applied.plan_id, applied.plan.scheduler, applied.outcome,
        applied.began_ms, applied.ended_ms, *counts,
        predicted.throughput_per_s, predicted.limited_by, text, applied.id,
    )  # fmt: skip


_CHANGES = ("moves", "added", "dropped")


def _predicted_rates(applied: Receipt) -> list[Row]:
    rates = applied.predicted_rate_per_s
    return [
        (name, applied.runs.get(name, ""), rates.get(name), applied.id)
        for name in applied.topologies
    ]


def _predicted_cpu(applied: Receipt) -> list[Row]:
    cluster = applied.plan.problem.cluster
    kinds = {m.name: m.type for m in cluster.machines}
    return [
        (m.machine, kinds[m.machine], m.instances, m.cpu_points, m.usable_cpu_points, applied.id)
        for m in applied.plan.predicted.machines
    ]


def _rates(id_: str, outcome: MeasuredOutcome) -> list[Row]:
    return [
        (
            t.topology, outcome.from_ms, outcome.to_ms, outcome.stretches, t.rate_per_s,
            t.throughput_per_s, t.at_limit, t.why, t.latency_ms, id_,
        )
        for t in outcome.topologies
    ]  # fmt: skip


def _cpu(id_: str, outcome: MeasuredOutcome) -> list[Row]:
    return [
        (m.machine, outcome.compared, m.cpu_points, m.expected_cpu_points, id_)
        for m in outcome.machines
    ]

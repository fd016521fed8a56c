"""The history read back without Spark: receipts as files, tables by Arrow.

``penstock history`` answers at once where the tables are a local folder, and on a machine without
Spark it shows at least the receipts. The manifest says which folders count, as for Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from penstock.change.history import Entry, MachineOutcome, MeasuredOutcome, Receipt, TopologyOutcome
from penstock.errors import Finding, InputError
from penstock.files.json_reader import parse_json
from penstock.files.receipt_file import read_receipts, receipt_from
from penstock.files.schema import as_mapping
from penstock.telemetry.manifest import local_manifest

#: Below the history's folder.
TABLES = "tables"
#: Facts of the manifest: SHA-256 of each receipt taken in, and why a plan was not measured.
RECEIPTS_IN, UNMEASURED = "receipts", "unmeasured"

Row = dict[str, Any]


def read_history(folder: Path) -> tuple[list[Entry], list[Finding]]:
    """All plans put in force, oldest first, and what could not be read."""
    receipts, findings = read_receipts(folder)
    applied_by_id = {applied.id: applied for applied, _ in receipts}
    tables = folder / TABLES
    try:
        manifest = local_manifest(tables)
    except InputError as error:
        return _entries(applied_by_id.values(), {}, {}), [*findings, *error.findings]
    parts = manifest.parts
    if parts and find_spec("pyarrow") is None:
        message = "has measurements, which take pyarrow to read: pip install 'penstock[spark]'"
        findings.append(Finding(message, str(tables)))
        parts = {}
    read = _Reader(tables, findings)
    # A receipt that was deleted or broken since lives on in the tables.
    gone = {key: part for key, part in parts.get("applied", {}).items() if key not in applied_by_id}
    for row in read.rows(gone):
        try:
            applied = receipt_from(parse_json(row["receipt"], f"{tables} receipt {row['id']}"))
            applied_by_id[applied.id] = applied
        except InputError as error:
            findings += error.findings[:3]
    outcomes = _outcomes(
        read.rows(parts.get("measured_rates", {})), read.rows(parts.get("measured_cpu", {}))
    )
    whys = as_mapping(manifest.facts.get(UNMEASURED))
    return _entries(applied_by_id.values(), outcomes, whys), findings


def _entries(
    applied: Iterable[Receipt], outcomes: Mapping[str, MeasuredOutcome], whys: Mapping[str, str]
) -> list[Entry]:
    return [
        Entry(a, outcomes.get(a.id), "" if a.id in outcomes else str(whys.get(a.id, "")))
        for a in sorted(applied, key=lambda a: a.id)
    ]


class _Reader:
    """Rows of Parquet folders; a folder that cannot be read costs its rows and is told."""

    def __init__(self, tables: Path, findings: list[Finding]) -> None:
        self.tables, self.findings = tables, findings

    def rows(self, parts: Mapping[str, str]) -> list[Row]:
        rows: list[Row] = []
        for key, folder in sorted(parts.items()):
            try:
                rows += [row | {"id": key} for row in self._folder(self.tables / folder)]
            except (OSError, ValueError) as error:
                said = str(error).splitlines()[0][:200]
                message = (
                    f"cannot be read ({said}); penstock history measure --rebuild writes it anew"
                )
                self.findings.append(Finding(message, str(self.tables / folder)))
        return rows

    @staticmethod
    def _folder(folder: Path) -> list[Row]:
        import pyarrow.parquet as pq

        files = sorted(folder.glob("*.parquet"))
        if not files:
            raise FileNotFoundError("there is no file in it")
        return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def _outcomes(rates: list[Row], cpu: list[Row]) -> dict[str, MeasuredOutcome]:
    outcomes = {}
    for id_ in sorted({row["id"] for row in rates}):
        own = [row for row in rates if row["id"] == id_]
        machines = [row for row in cpu if row["id"] == id_]
        topologies = tuple(
            TopologyOutcome(
                row["topology"], row["rate_per_s"], row["throughput_per_s"], row["at_limit"],
                row["why"], row["latency_ms"],
            )
            for row in own
        )  # fmt: skip
        outcomes[id_] = MeasuredOutcome(
            own[0]["from_ms"],
            own[0]["to_ms"],
            own[0]["stretches"],
            topologies,
            tuple(
                MachineOutcome(row["machine"], row["cpu_points"], row["expected_cpu_points"])
                for row in machines
            ),
            machines[0]["compared"] if machines else "",
        )
    return outcomes

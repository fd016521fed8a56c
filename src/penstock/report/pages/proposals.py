"""Proposals of the loop: what was wanted, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.report.page import Column, Document, Section, paragraph, table_of


def proposals_page(proposals: Sequence[Any]) -> Document:
    """Those that wait for an answer."""
    if not proposals:
        return Document("Proposals", (Section("", (paragraph("nothing waits for an answer"),)),))
    rows = [
        {name: getattr(p, name) for name in ("id", "time_s", "kind", "reason", "machines", "moves")}
        | {"status": p.status.value, "carries_per_s": p.carries_per_s, "why": p.why}
        for p in proposals
    ]
    return Document("Proposals", (proposals_section(rows),))


def proposals_section(rows: Sequence[Mapping[str, Any]]) -> Section:
    """A table of them, the oldest first."""
    table = table_of(
        rows,
        (Column("id"), lambda row: row["id"]),
        (Column("time"), lambda row: _when(row["time_s"])),
        (Column("change"), lambda row: row["kind"]),
        (Column("reason"), lambda row: row["reason"]),
        (Column("machines"), lambda row: row["machines"]),
        (Column("moves"), lambda row: row["moves"]),
        (Column("carries", "tuples/s"), lambda row: row["carries_per_s"]),
        (Column("status"), lambda row: row["status"]),
        (Column("why"), lambda row: row["why"] or None),
    )
    return Section("Proposals", (table,))


def _when(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M:%S}"

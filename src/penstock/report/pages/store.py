"""What a store of telemetry holds, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.planning.numbers import count, counted
from penstock.report.page import Block, Column, Document, Section, field_list, paragraph, table_of
from penstock.telemetry.compaction import CompactionResult
from penstock.telemetry.retention import ExpiryResult
from penstock.telemetry.store_summary import StoreSummary


def store_page(store: StoreSummary) -> Document:
    """Tables with their size and hours, and what was taken in."""
    table = table_of(
        store.tables,
        (Column("table"), lambda t: t.name),
        (Column("rows", right=True), lambda t: count(t.rows)),
        (Column("files", right=True), lambda t: count(t.files)),
        (Column("size", right=True), lambda t: size(t.size_bytes)),
        (Column("first hour (UTC)"), lambda t: t.first_hour),
        (Column("last hour"), lambda t: t.last_hour),
    )
    aside = sum(store.set_aside.values())
    reasons = [f"{count(n)} {why}" for why, n in by_number(store.set_aside)]
    fields = field_list(
        {
            "commit": str(store.commit),
            "records": f"{count(store.records)} taken in, {count(aside)} set aside",
            "set aside": "; ".join(reasons),
            "expired": "" if store.expired_before_ms is None
            else f"records of before {moment(store.expired_before_ms)}",
        }
    )  # fmt: skip
    return Document("", (Section("", (table,)), Section("", (fields,))))


def expiry_page(result: ExpiryResult, *, dry_run: bool) -> Document:
    """What went from the store, or would go."""
    blocks: list[Block] = []
    if result.tables:
        blocks.append(
            table_of(
                result.tables,
                (Column("would go" if dry_run else "gone"), lambda t: t.table),
                (Column("parts", right=True), lambda t: count(t.parts)),
                (Column("files", right=True), lambda t: count(t.files)),
                (Column("size", right=True), lambda t: size(t.size_bytes)),
                (Column("first hour (UTC)"), lambda t: t.first_hour),
                (Column("last hour"), lambda t: t.last_hour),
            )
        )
        if result.horizon_ms is not None:
            when = moment(result.horizon_ms)
            blocks.append(paragraph(f"Records of before {when} are set aside from then on."))
    else:
        blocks.append(paragraph("Nothing is that old."))
    if result.waiting:
        hours = f"{counted(len(result.waiting), 'hour')} from {result.waiting[0]} on"
        blocks.append(
            paragraph(f"Not yet computed, and therefore kept: {hours}; penstock profile does it.")
        )
    return Document("", tuple(Section("", (block,)) for block in blocks))


def compaction_page(result: CompactionResult) -> Document:
    """How many files became how many."""
    if not result.tables:
        return Document("", (Section("", (paragraph("Nothing to merge."),)),))
    table = table_of(
        sorted(result.tables.items()),
        (Column("table"), lambda one: one[0]),
        (Column("files merged", right=True), lambda one: count(one[1].files_before)),
        (Column("into", right=True), lambda one: count(one[1].files_after)),
    )
    words = f"{size(result.bytes_before)} became {size(result.bytes_after)}."
    return Document("", (Section("", (table,)), Section("", (paragraph(words),))))


def size(number: int) -> str:
    """Bytes as people read them."""
    value, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:,.3g} {units[0]}" if value < 1000 else f"{value:,.0f} {units[0]}"


def moment(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def by_number(counts: dict[str, int]) -> list[tuple[str, int]]:
    """The most frequent first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

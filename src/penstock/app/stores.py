"""Stores of telemetry: their tables for other tools, what they hold, and what keeps them small."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from penstock.errors import UsageError
from penstock.telemetry import compaction, retention, store_export, store_migration
from penstock.telemetry.broken_parquet import naming_broken_files
from penstock.telemetry.compaction import CompactionResult, SizeProgress
from penstock.telemetry.local_store import LocalStore, store_folder
from penstock.telemetry.retention import ExpiryResult
from penstock.telemetry.store_export import RowProgress
from penstock.telemetry.store_migration import MigrationResult
from penstock.telemetry.store_reader import StoreReader, open_store, read_table, table_files
from penstock.telemetry.store_summary import StoreSummary, summary_of
from penstock.telemetry.writer_lock import writing_to

__all__ = [
    "CompactionResult",
    "ExpiryResult",
    "MigrationResult",
    "StoreReader",
    "StoreSummary",
    "compact_store",
    "expire_store",
    "export_table",
    "migrate_store",
    "open_store",
    "read_table",
    "store_summary",
    "table_files",
]


def _silent(done: int, total: int) -> None:
    pass


def store_summary(store: str | Path) -> StoreSummary:
    """What a store holds: rows, files and hours of each table, records taken in and set aside."""
    with open_store(store) as reader, naming_broken_files(reader.root):
        return summary_of(reader)


def export_table(
    store: str | Path, table: str, target: Path, progress: RowProgress = _silent
) -> int:
    """Write a table to a Parquet, CSV or JSON-lines file; how many rows it has."""
    with open_store(store) as reader:
        return store_export.export_table(reader, table, target, progress)


def expire_store(
    store: str | Path,
    older_than_s: float,
    raw_older_than_s: float | None = None,
    *,
    dry_run: bool = False,
    delete_now: bool = False,
    clock: Callable[[], float] = time.time,
) -> ExpiryResult:
    """Leave out tables that are older, and raw records that are older than a time of their own.

    Late records of before the time of raw records are set aside from then on.
    """
    raw_s = older_than_s if raw_older_than_s is None else raw_older_than_s
    if raw_s > older_than_s:
        raise UsageError("raw records cannot stay longer than the tables that are made of them")
    times_ms = (int(1000 * clock()), int(1000 * older_than_s), int(1000 * raw_s))
    local = LocalStore(store_folder(store))
    if dry_run:
        with open_store(store), naming_broken_files(local.root):
            return retention.expire(local, *times_ms, dry_run=True)
    with writing_to(local.root), naming_broken_files(local.root):
        return retention.expire(local, *times_ms, delete_now=delete_now)


def compact_store(
    store: str | Path, progress: SizeProgress = _silent, *, delete_now: bool = False
) -> CompactionResult:
    """Merge the many small Parquet files of each hour; the tables have the same rows."""
    local = LocalStore(store_folder(store))
    with writing_to(local.root), naming_broken_files(local.root):
        return compaction.compact(local, progress, delete_now=delete_now)


def migrate_store(store: str | Path) -> MigrationResult:
    """Bring a store of an older version to today's."""
    local = LocalStore(store_folder(store))
    with writing_to(local.root), naming_broken_files(local.root):
        return store_migration.migrate(local)

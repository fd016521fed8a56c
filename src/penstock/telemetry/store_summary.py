"""What a store holds, from its manifest and the footers of its Parquet files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from penstock.telemetry.retention import (
    EXPIRED_ASIDE,
    HORIZON,
    counted_reasons,
    hour_began_ms,
)
from penstock.telemetry.store_reader import StoreReader, require_pyarrow


@dataclass(frozen=True)
class TableSummary:
    """One table of a store."""

    name: str
    rows: int
    files: int
    size_bytes: int
    #: As part keys say, such as 2026-01-01-00; empty where the table is not kept by hour.
    first_hour: str = ""
    last_hour: str = ""


@dataclass(frozen=True)
class StoreSummary:
    """A store's newest commit."""

    store: str
    commit: int
    tables: tuple[TableSummary, ...]
    #: Records ever taken in, those that have expired since among them.
    records: int
    #: Of these, records that were set aside, by reason.
    set_aside: dict[str, int]
    #: Records of before this moment are not taken in any more.
    expired_before_ms: int | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "store": self.store,
            "commit": self.commit,
            "records": self.records,
            "set_aside": self.set_aside,
            "expired_before_ms": self.expired_before_ms,
            "tables": [
                {
                    "name": t.name,
                    "rows": t.rows,
                    "files": t.files,
                    "size_bytes": t.size_bytes,
                    "first_hour": t.first_hour or None,
                    "last_hour": t.last_hour or None,
                }
                for t in self.tables
            ],
        }


def summary_of(reader: StoreReader) -> StoreSummary:
    """What there is, table by table; takes as long as there are files."""
    require_pyarrow()
    manifest = reader.manifest
    aside = manifest.parts.get("quarantine", {})
    set_aside = Counter(counted_reasons(reader.root, aside.values()))
    set_aside += Counter(manifest.facts.get(EXPIRED_ASIDE, {}))
    return StoreSummary(
        store=str(reader.root),
        commit=manifest.number,
        tables=tuple(_table(reader, name) for name in reader.tables),
        records=int(manifest.facts.get("records", 0)),
        set_aside=dict(sorted(set_aside.items())),
        expired_before_ms=manifest.facts.get(HORIZON),
    )


def _table(reader: StoreReader, name: str) -> TableSummary:
    import pyarrow.parquet as pq

    files = reader.part_files(name)
    parts = reader.manifest.parts[name]
    hours = sorted(key[:13] for key in parts if hour_began_ms(key) is not None)
    return TableSummary(
        name,
        rows=sum(pq.read_metadata(file.path).num_rows for file in files),
        files=len(files),
        size_bytes=sum(file.size_bytes for file in files),
        first_hour=hours[0] if hours else "",
        last_hour=hours[-1] if hours else "",
    )

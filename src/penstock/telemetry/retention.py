"""What goes from a store when it gets old, and from when on late records are too late.

Whole hours go, raw records sooner than the tables made of them. An hour whose records are gone
cannot be computed again, so records that come in for it afterwards are set aside: the horizon stays
with the commit (``expired_before_ms``), and the checks on the way in know it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import Finding, InputError
from penstock.telemetry.local_store import KEPT_COMMITS, LocalStore
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.part_files import files_of_parts
from penstock.telemetry.store_reader import require_pyarrow

#: What was read, as against what was made of it.
RAW_TABLES = ("samples", "quarantine")
#: Facts of the manifest: since when records are taken in, and what was set aside and is gone.
HORIZON, EXPIRED_ASIDE = "expired_before_ms", "expired_aside"
HOUR_MS = 3_600_000
_HOUR = re.compile(r"\d{4}-\d{2}-\d{2}-\d{2}(?![^-/])")


@dataclass(frozen=True)
class Expiry:
    """What of a commit is too old."""

    #: Part keys by table.
    keys: Mapping[str, tuple[str, ...]]
    #: Records of before this moment are not taken in any more; none where nothing ever went.
    horizon_ms: int | None
    #: Hours that are old, but of which no tables were made yet.
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExpiredTable:
    """What of a table goes."""

    table: str
    parts: int
    files: int
    size_bytes: int
    first_hour: str = ""
    last_hour: str = ""


@dataclass(frozen=True)
class ExpiryResult:
    """What went, or would go."""

    tables: tuple[ExpiredTable, ...]
    horizon_ms: int | None
    waiting: tuple[str, ...] = ()
    #: The commit that did it; none where nothing went.
    commit: int | None = None
    #: Records set aside that go, by reason.
    set_aside: Mapping[str, int] = field(default_factory=dict)


def expiry(
    manifest: Manifest,
    now_ms: int,
    older_than_ms: int,
    raw_older_than_ms: int,
    modified_ms: Callable[[str], int],
) -> Expiry:
    """Parts that are older; ``modified_ms`` says when one was written whose key has no hour."""
    raw_from_ms = _whole_hour(now_ms - raw_older_than_ms)
    tables_from_ms = _whole_hour(now_ms - older_than_ms)
    # Totals are differences: the first hour that may be computed again needs the one before it.
    before_ms = HOUR_MS if manifest.facts.get("totals") else 0
    pending = set(manifest.facts.get("pending", []))
    going: dict[str, tuple[str, ...]] = {}
    waiting = set()
    for table, parts in manifest.parts.items():
        is_raw = table in RAW_TABLES
        from_ms = raw_from_ms - before_ms if is_raw else tables_from_ms
        keys = []
        for key, part in parts.items():
            began_ms = hour_began_ms(key)
            if began_ms is None:
                if table == "quarantine" and modified_ms(part) < from_ms:
                    keys.append(key)
            elif began_ms + HOUR_MS <= from_ms:
                if table == "samples" and {key.partition("/")[0], key[:13]} & pending:
                    waiting.add(key[:13])
                else:
                    keys.append(key)
        if keys:
            going[table] = tuple(sorted(keys))
    horizon_ms = manifest.facts.get(HORIZON)
    if going:
        horizon_ms = max(horizon_ms or 0, raw_from_ms)
    return Expiry(going, horizon_ms, tuple(sorted(waiting)))


def hour_began_ms(key: str) -> int | None:
    """When the hour began that a part's key begins with, if it does."""
    match = _HOUR.match(key)
    try:
        moment = datetime.strptime(match[0] if match else "", "%Y-%m-%d-%H").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000


def expire(
    store: LocalStore,
    now_ms: int,
    older_than_ms: int,
    raw_older_than_ms: int,
    *,
    dry_run: bool = False,
    delete_now: bool = False,
) -> ExpiryResult:
    """Leave out of the store what is older, in one commit; the caller is its one writer."""
    require_pyarrow()
    manifest = store.manifest()
    going = expiry(
        manifest, now_ms, older_than_ms, raw_older_than_ms, lambda p: _written_ms(store.root, p)
    )
    tables = tuple(_expired(store.root, manifest, t, keys) for t, keys in going.keys.items())
    gone = [manifest.parts["quarantine"][key] for key in going.keys.get("quarantine", ())]
    set_aside = counted_reasons(store.root, gone)
    result = ExpiryResult(tables, going.horizon_ms, going.waiting, None, set_aside)
    keep = 1 if delete_now else KEPT_COMMITS
    if dry_run:
        return result
    if not going.keys:
        store.clean_up(keep=keep)
        return result
    for table, keys in going.keys.items():
        manifest = manifest.with_parts(table, {}, replacing=keys)
    earlier = Counter(manifest.facts.get(EXPIRED_ASIDE, {}))
    facts = {HORIZON: going.horizon_ms, EXPIRED_ASIDE: dict(earlier + Counter(set_aside))}
    committed = store.commit(manifest.with_facts(**facts), keep=keep)
    return ExpiryResult(tables, going.horizon_ms, going.waiting, committed.number, set_aside)


def counted_reasons(root: Path, parts: Iterable[str]) -> dict[str, int]:
    """Records set aside in parts of the quarantine, by reason."""
    import pyarrow.parquet as pq

    counts: Counter[str] = Counter()
    for file in files_of_parts(root, parts):
        content = pq.ParquetFile(file.path)
        if "reason" not in content.schema_arrow.names:
            raise InputError(Finding("has no column reason", str(file.path)))
        for batch in content.iter_batches(columns=["reason"]):
            for one in batch.column(0).value_counts().to_pylist():
                counts[str(one["values"])] += one["counts"]
    return dict(sorted(counts.items()))


def _expired(root: Path, manifest: Manifest, table: str, keys: tuple[str, ...]) -> ExpiredTable:
    files = list(files_of_parts(root, [manifest.parts[table][key] for key in keys]))
    hours = sorted({key[:13] for key in keys if hour_began_ms(key) is not None})
    return ExpiredTable(
        table,
        len(keys),
        len(files),
        sum(file.size_bytes for file in files),
        *((hours[0], hours[-1]) if hours else ()),
    )


def _written_ms(root: Path, part: str) -> int:
    """When the newest file of a part was written; a part without any is old."""
    times = [file.path.stat().st_mtime for file in files_of_parts(root, [part])]
    return int(1000 * max(times, default=0.0))


def _whole_hour(moment_ms: int) -> int:
    return moment_ms // HOUR_MS * HOUR_MS

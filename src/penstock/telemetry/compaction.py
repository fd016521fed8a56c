"""Many small Parquet files of a store into few: the same rows in the same order.

Each batch leaves a file for each hour it touches. Of samples all parts of one hour (or of one
shorter slot, where keys name such) become one part with one file; of other tables only the files of
one part, since a part is what is replaced when it is computed again. Nothing is changed in place:
the new files are written beside the old ones and one commit puts them in force, so that a run that
is killed has done nothing, and a reader at work keeps what it reads.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from penstock.errors import Finding, InputError
from penstock.telemetry.local_store import KEPT_COMMITS, LocalStore, sync_folder
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.part_files import PART, PartFile, columns_in, files_of_parts
from penstock.telemetry.store_reader import require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Told the bytes read so far, and of how many.
SizeProgress = Callable[[int, int], None]

#: Tables whose parts of one hour or slot become one.
MERGED_BY_SLOT = ("samples",)
_FILE = "part-00000.parquet"
#: Row groups of so many bytes in memory, so that what is held does not grow with the store.
_ROW_GROUP_BYTES = 64 * 2**20


@dataclass(frozen=True)
class PartMerge:
    """Parts of a table that become one, with one file."""

    table: str
    keys: tuple[str, ...]
    files: tuple[PartFile, ...]
    new_key: str
    #: The new part, below the store.
    new_part: str

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True)
class MergedFiles:
    """Of one table, the files that were merged and those that came of it."""

    files_before: int
    files_after: int


@dataclass(frozen=True)
class CompactionResult:
    """What became of the files."""

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    #: Of tables in which any were merged.
    tables: Mapping[str, MergedFiles]
    #: The commit that did it; none where there was nothing to merge.
    commit: int | None = None


def planned_merges(root: Path, manifest: Manifest) -> list[PartMerge]:
    """Parts that have more files than they need."""
    from penstock.telemetry.schemas import INTERNAL_TABLES

    merges: list[PartMerge] = []
    for table, parts in sorted(manifest.parts.items()):
        if table in INTERNAL_TABLES:
            continue  # a file an hour as it is
        uses = Counter(parts.values())
        groups: dict[tuple[str, ...], list[str]] = {}
        for key, part in sorted(parts.items()):
            # A file that several keys share holds rows of each: it stays as it is.
            if uses[part] == 1:
                groups.setdefault(_group(root, table, key, part), []).append(key)
        for (shared, *_), keys in groups.items():
            files = tuple(files_of_parts(root, [parts[key] for key in keys]))
            if len(files) < 2:
                continue
            name = f"compact-{manifest.number + 1:08d}-{len(merges):04d}"
            new_key = keys[0] if len(keys) == 1 else f"{shared}/{name}"
            new_part = _beside(root, parts[keys[0]], name)
            merges.append(PartMerge(table, tuple(keys), files, new_key, new_part))
    return merges


def compact(
    store: LocalStore,
    progress: SizeProgress,
    *,
    delete_now: bool = False,
) -> CompactionResult:
    """Merge small files, in one commit; the caller is the store's one writer."""
    require_pyarrow()
    manifest = store.manifest()
    merges = planned_merges(store.root, manifest)
    keep = 1 if delete_now else KEPT_COMMITS
    before = [file.size_bytes for merge in merges for file in merge.files]
    if not merges:
        store.clean_up(keep=keep)
        return CompactionResult(0, 0, 0, 0, {})
    done, sizes = 0, []
    for merge in merges:
        sizes.append(_merge_files(merge, store.root / merge.new_part))
        manifest = manifest.with_parts(merge.table, {}, replacing=merge.keys)
        manifest = manifest.with_parts(merge.table, {merge.new_key: merge.new_part})
        done += merge.size_bytes
        progress(done, sum(before))
    manifest = manifest.with_facts(pending=_to_compute(manifest, merges))
    tables = {
        table: MergedFiles(
            sum(len(m.files) for m in merges if m.table == table),
            sum(m.table == table for m in merges),
        )
        for table in sorted({m.table for m in merges})
    }
    committed = store.commit(manifest, keep=keep)
    return CompactionResult(
        len(before), len(merges), sum(before), sum(sizes), tables, committed.number
    )


def _to_compute(manifest: Manifest, merges: Sequence[PartMerge]) -> list[str]:
    """Slots to compute: in new files, records that do not count stand in other places."""
    repeats = manifest.facts.get("repeats", {})
    merged = {key.partition("/")[0] for m in merges if m.table == "samples" for key in m.keys}
    return sorted({*manifest.facts.get("pending", []), *(merged & set(repeats))})


def _group(root: Path, table: str, key: str, part: str) -> tuple[str, ...]:
    """What parts have in common that become one: their slot first, and what folders say."""
    path = root / part
    folder = PurePosixPath(part) if path.is_dir() else PurePosixPath(part).parent
    said = tuple(f"{name}={value}" for name, value in sorted(columns_in(folder).items()))
    home = part.partition("/")[0]
    slot, slash, _ = key.partition("/")
    if table in MERGED_BY_SLOT and slash:
        return (slot, home, *said)
    if table == "quarantine" and slash:
        # Set aside on the way in, and without an hour of its own: what came in in the same one.
        written = max((f.path.stat().st_mtime for f in files_of_parts(root, [part])), default=0.0)
        hour = datetime.fromtimestamp(written, UTC).strftime("%Y-%m-%d-%H")
        return (slot, home, *said, hour)
    return (key, home, *said)


def _beside(root: Path, part: str, name: str) -> str:
    """The folder for what replaces a part, with the columns that its folders say."""
    home, *segments = PurePosixPath(part).parts
    if not (root / part).is_dir():
        segments = segments[:-1]
    said = [s for s in segments if "=" in s and not s.startswith(f"{PART}=")]
    has_part = any(s.startswith(f"{PART}=") for s in segments)
    return "/".join((home, f"{PART}={name}" if has_part else name, *said))


def _merge_files(merge: PartMerge, folder: Path) -> int:
    """Write the rows of all files into one; its size in bytes."""
    import pyarrow.parquet as pq

    shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
    folder.mkdir(parents=True)
    path = folder / _FILE
    rows = sum(pq.read_metadata(file.path).num_rows for file in merge.files)
    schema = _common_schema(merge.files)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in row_groups(merge.files, schema):
            writer.write_table(table, row_group_size=max(1, table.num_rows))
    with path.open("rb+") as written:
        os.fsync(written.fileno())
    sync_folder(folder)
    if pq.read_metadata(path).num_rows != rows:
        message = f"has other than the {rows:,} rows it was made of; the store is as it was"
        raise InputError(Finding(message, str(path)))
    newest = max(file.path.stat().st_mtime for file in merge.files)
    os.utime(path, (newest, newest))  # retention goes by it where a key names no hour
    return path.stat().st_size


def row_groups(files: Sequence[PartFile], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of all files in tables of a bounded size."""
    import pyarrow as pa
    import pyarrow.dataset as pads

    paths = [str(file.path) for file in files]
    dataset = pads.dataset(paths, schema=schema, format="parquet", partitioning=None)
    held: list[pa.RecordBatch] = []
    size = 0
    # File by file: a scan of all of them reads far ahead of what is written.
    for fragment in dataset.get_fragments():
        for batch in fragment.to_batches(schema, batch_readahead=1):
            held.append(batch)
            size += batch.nbytes
            if size >= _ROW_GROUP_BYTES:
                yield pa.Table.from_batches(held, schema)
                held, size = [], 0
    if held:
        yield pa.Table.from_batches(held, schema)


def _common_schema(files: Sequence[PartFile]) -> pa.Schema:
    """One schema for what all files hold; dictionaries become the texts they stand for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def plain(schema: pa.Schema) -> pa.Schema:
        return pa.schema(
            f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f
            for f in schema.remove_metadata()
        )

    return pa.unify_schemas([plain(pq.read_schema(file.path)) for file in files])

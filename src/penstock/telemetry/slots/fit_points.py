"""The windows that costs are fitted to: one file an hour, in lots of groups fitted at once.

Each lot of a file is read by itself, so that the fit of a lot reads nothing of the others, and no
point is ever sent from one executor to another.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.model.arrays import IntVector
from penstock.telemetry.slots.columns import (
    Columns,
    Groups,
    Vocabulary,
    from_arrow,
    joined,
    length,
    matches,
    rows_of,
    to_arrow,
)
from penstock.telemetry.slots.files import open_file_system
from penstock.telemetry.slots.hashes import hash_text
from penstock.telemetry.slots.partial_tables import PARTIAL_TABLES
from penstock.telemetry.slots.sums import SampleSizes, in_sample

#: Groups are dealt to as many lots.
LOTS = 16
GROUP = ("topology", "component", "machine_type")
_LOTS_KEY = b"lots"
_SCHEMA = pa.schema([*PARTIAL_TABLES["points"], pa.field("instances", pa.float64())])
_TEXT = [f.name for f in _SCHEMA if pa.types.is_string(f.type)]


def write_points(
    root: str,
    folder: str,
    hour: str,
    fresh: Columns,
    instances: Columns,
    vocabulary: Vocabulary,
    sizes: SampleSizes,
    *,
    stored: str = "",
    replaced: Collection[str] = (),
) -> str:
    """The points of an hour: those of new slots, and of the others what is stored."""
    points = fresh
    if stored:
        old = from_arrow(_read(root, stored, None), vocabulary)
        gone = np.array([vocabulary.number(slot) for slot in replaced])
        old = rows_of(old, ~np.isin(old["slot"], gone))
        points = joined([fresh, {name: old[name] for name in fresh}])
        points = rows_of(points, chosen(points, vocabulary, sizes))
    points = points | {"instances": _instances(points, instances)}
    lot = lots(points, vocabulary)
    order = np.argsort(lot, kind="stable")
    table = to_arrow(rows_of(points, order), _SCHEMA, vocabulary)
    return _write(root, folder, hour, table, np.bincount(lot, minlength=LOTS))


def chosen(points: Columns, vocabulary: Vocabulary, sizes: SampleSizes) -> np.ndarray:
    """Which points belong to a sample of groups of so many windows."""
    groups = Groups.of(*(points[name] for name in GROUP))
    words = vocabulary.words
    number = [
        sizes.groups.get(tuple(words[points[name][row]] for name in GROUP), 0)  # type: ignore[call-overload]
        for row in groups.first
    ]
    of_row = np.array(number, dtype=np.int64)[groups.of_row]
    return in_sample(vocabulary, points["run"], points["task"], points["time_ms"], of_row)


def lots(points: Columns, vocabulary: Vocabulary) -> IntVector:
    groups = Groups.of(*(points[name] for name in GROUP))
    words = vocabulary.words
    numbers = []
    for row in groups.first:
        value = 0
        for name in GROUP:
            value = hash_text(words[points[name][row]], value)
        numbers.append(value % LOTS)
    return np.array(numbers, dtype=np.int64)[groups.of_row]


def _instances(points: Columns, instances: Columns) -> np.ndarray:
    """Executors of each point's component in the hour."""
    names = ("topology", "run", "component")
    mine, theirs = matches([points[n] for n in names], [instances[n] for n in names])
    number = np.ones(length(points))
    number[mine] = instances["instances"][theirs]
    return number


def _write(root: str, folder: str, hour: str, table: pa.Table, sizes: IntVector) -> str:
    system, base = open_file_system(root)
    path = f"{folder}/{hour}-{uuid.uuid4().hex[:12]}.parquet"
    system.create_dir(f"{base}/{folder}", recursive=True)
    with (
        system.open_output_stream(f"{base}/{path}") as sink,
        pq.ParquetWriter(
            sink, table.schema, use_dictionary=_TEXT, store_schema=False, write_statistics=False
        ) as writer,
    ):
        start = 0
        groups: dict[int, int] = {}
        for lot, size in enumerate(sizes.tolist()):
            if size:
                groups[lot] = len(groups)
                writer.write_table(table.slice(start, size), row_group_size=size)
                start += size
        writer.add_key_value_metadata({_LOTS_KEY: json.dumps(groups).encode()})
    return path


def read_points(root: str, path: str, lot: int) -> pa.Table:
    """The points of one lot."""
    return _read(root, path, lot)


def _read(root: str, path: str, lot: int | None) -> pa.Table:
    system, base = open_file_system(root)
    with system.open_input_file(f"{base}/{path}") as source:
        file = pq.ParquetFile(source, read_dictionary=_TEXT, pre_buffer=False)
        groups = json.loads(file.metadata.metadata[_LOTS_KEY])
        numbers = (
            groups.values() if lot is None else [groups[str(lot)]] if str(lot) in groups else []
        )
        tables = [file.read_row_group(n, use_threads=False) for n in numbers]
    return pa.concat_tables(tables) if tables else _SCHEMA.empty_table()

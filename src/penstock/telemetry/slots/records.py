"""Records as Arrow tables whose columns have the record's own types, text as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.model.telemetry import SAMPLE_FIELDS, Counters, FieldType, SampleField
from penstock.telemetry.arrow_record import ENTRY_FIELDS, record_schema
from penstock.telemetry.slots.files import read_parquet

TEXT_FIELDS = tuple(f.name for f in SAMPLE_FIELDS if f.type is FieldType.TEXT)
#: Columns of a Parquet file that hold text, in lists too, by the paths they have there.
TEXT_COLUMNS = TEXT_FIELDS + tuple(
    f"{f.name}.list.element.{entry.name}"
    for f in SAMPLE_FIELDS
    for entry in ENTRY_FIELDS.get(f.type, ())
    if entry.type is FieldType.TEXT
)
#: Columns of a record's Parquet file in which few values repeat.
REPEATING_COLUMNS = (
    *TEXT_COLUMNS, "file",
    *(f.name for f in SAMPLE_FIELDS if f.type is FieldType.WHOLE and f.name != "time_ms"),
    *(f"{f.name}.list.element.{entry.name}" for f in SAMPLE_FIELDS
      for entry in ENTRY_FIELDS.get(f.type, ()) if entry.type is FieldType.WHOLE),
)  # fmt: skip
_PLAIN_NUMBERS = {
    FieldType.WHOLE: (pa.types.is_signed_integer, pa.types.is_uint8, pa.types.is_uint16),
    FieldType.NUMBER: (pa.types.is_float64,),
}


def is_plain(schema: pa.Schema) -> bool:
    """Whether columns are of the record's types, so that nothing has to be looked at twice."""
    return all(
        f.name not in schema.names or _is_plain(schema.field(f.name).type, f) for f in SAMPLE_FIELDS
    )


def holds_records(schema: pa.Schema) -> bool:
    """Whether a file with plain columns has all that a record must have."""
    required = {f.name for f in SAMPLE_FIELDS if f.required and f.name != "machine_type"}
    return is_plain(schema) and required <= set(schema.names)


def _is_plain(kind: pa.DataType, f: SampleField) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if f.type is FieldType.TEXT:
        return pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if f.type not in ENTRY_FIELDS:
        return any(holds(kind) for holds in _PLAIN_NUMBERS[f.type])
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    own = {kind.value_type.field(n).name: kind.value_type.field(n).type
           for n in range(kind.value_type.num_fields)}  # fmt: skip
    return all(
        _is_plain(own[entry.name], entry) if entry.name in own else not entry.required
        for entry in ENTRY_FIELDS[f.type]
    )


def read_records(content: pa.Buffer) -> pa.Table | None:
    """The records of a Parquet file; ``None`` where its columns are not of the record's types."""
    schema = pq.read_schema(pa.BufferReader(content))
    if not is_plain(schema):
        return None
    known = [f.name for f in SAMPLE_FIELDS if f.name in schema.names]
    return as_records(read_parquet(pa.BufferReader(content), known, TEXT_COLUMNS))


def as_records(table: pa.Table) -> pa.Table:
    """Columns in the record's order and types; null where there is none."""
    schema = record_schema(encoded=True)
    columns = []
    for f in SAMPLE_FIELDS:
        kind = schema.field(f.name).type
        if f.name not in table.column_names:
            columns.append(pa.nulls(len(table), kind))
            continue
        column = table[f.name].unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # of no chunk at all
            column = pa.nulls(0, kind)
        columns.append(_as_field(column, f, kind))
    return pa.Table.from_arrays(columns, schema=schema)


def _as_field(column: pa.Array, f: SampleField, kind: pa.DataType) -> pa.Array:
    if f.type in ENTRY_FIELDS:
        return _as_list(column, f, kind)
    if f.type is FieldType.TEXT and not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).dictionary_encode()
    return column if column.type == kind else column.cast(kind)


def _as_list(column: pa.ListArray, f: SampleField, kind: pa.DataType) -> pa.Array:
    entries = column.flatten()
    names = {entries.type.field(n).name: n for n in range(entries.type.num_fields)}
    values = entries.flatten()
    element = kind.value_type
    fields = [
        _as_field(values[names[e.name]], e, element.field(e.name).type)
        if e.name in names
        else pa.nulls(len(entries), element.field(e.name).type)
        for e in ENTRY_FIELDS[f.type]
    ]
    missing = entries.is_null() if entries.null_count else None
    structs = pa.StructArray.from_arrays(
        fields, fields=[element.field(e.name) for e in ENTRY_FIELDS[f.type]], mask=missing
    )
    return list_of(structs, column)


def list_of(values: pa.Array, like: pa.ListArray) -> pa.Array:
    """Lists as long as those of ``like``, of the values of all, one after the other."""
    lengths = pc.fill_null(pc.list_value_length(like), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    mask = like.is_null() if like.null_count else None
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def filled(records: pa.Table, types: Mapping[str, str], *, types_win: bool = False) -> pa.Table:
    """What a record leaves out is filled in here, so that no later step must know."""
    columns = {name: records[name].combine_chunks() for name in records.column_names}
    rows = len(records)
    for name, usual in (("run", ""), ("rack", ""), ("counters", Counters.DELTA.value)):
        columns[name] = _or_usual(columns[name], usual, rows)
    columns["sample_rate"] = pc.fill_null(columns["sample_rate"], 1.0)
    if types:
        stated, by_host = columns["machine_type"].cast(pa.string()), _by_host(records, types)
        first, second = (by_host, stated) if types_win else (stated, by_host)
        columns["machine_type"] = pc.coalesce(first, second).dictionary_encode()
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def _or_usual(column: pa.Array, usual: str, rows: int) -> pa.Array:
    if column.null_count == rows:
        indices = pa.repeat(pa.scalar(0, pa.int32()), rows)
        return pa.DictionaryArray.from_arrays(indices, pa.array([usual], pa.string()))
    if not column.null_count:
        return column
    return pc.fill_null(column.cast(pa.string()), usual).dictionary_encode()


def _by_host(records: pa.Table, types: Mapping[str, str]) -> pa.Array:
    host = records["host"].combine_chunks()
    kinds = pa.array([types.get(name) for name in host.dictionary.to_pylist()], pa.string())
    return kinds.take(host.indices)

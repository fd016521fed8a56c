"""The telemetry record as Arrow columns and as JSON lines, both derived from the one definition.

Text is produced column by column in Arrow's own code: a Python loop over the records would be the
slowest part of every test and benchmark that needs a million of them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.telemetry import (
    INPUT_FIELDS,
    OUTPUT_FIELDS,
    SAMPLE_FIELDS,
    FieldType,
    SampleField,
)

#: Fields of the entries of each list field.
ENTRY_FIELDS: dict[FieldType, tuple[SampleField, ...]] = {
    FieldType.INPUTS: INPUT_FIELDS,
    FieldType.OUTPUTS: OUTPUT_FIELDS,
}
_TYPES: dict[FieldType, pa.DataType] = {
    FieldType.TEXT: pa.string(),
    FieldType.WHOLE: pa.int64(),
    FieldType.NUMBER: pa.float64(),
}
_ENCODED_TEXT = pa.dictionary(pa.int32(), pa.string())


@lru_cache(maxsize=2)
def record_schema(*, encoded: bool = False) -> pa.Schema:
    """Arrow schema of the record; every field may be null, since any may be absent.

    ``encoded`` has text as dictionaries: the same to Parquet, far less to copy about in memory.
    """
    types = {**_TYPES, FieldType.TEXT: _ENCODED_TEXT} if encoded else _TYPES

    def arrow_type(described: SampleField) -> pa.DataType:
        if described.type in ENTRY_FIELDS:
            entries = ENTRY_FIELDS[described.type]
            return pa.list_(pa.struct([pa.field(e.name, arrow_type(e)) for e in entries]))
        return types[described.type]

    return pa.schema([pa.field(f.name, arrow_type(f)) for f in SAMPLE_FIELDS])


def json_lines(batch: pa.RecordBatch) -> pa.Array:
    """One JSON object per record as text, without line ends; null fields are left out.

    Text columns may be dictionary-encoded. Numbers are written so that they read back the same.
    """
    parts: list[Any] = []
    for described in SAMPLE_FIELDS:
        column = batch.column(described.name)
        if column.null_count == len(column):
            continue
        if described.type in ENTRY_FIELDS:
            text = _lists(column, ENTRY_FIELDS[described.type])
        else:
            text = _values(column)
        parts.append(_named(described.name, text, first=not parts))
    return _join("{", *parts, "}")


def _lists(column: pa.ListArray, fields: tuple[SampleField, ...]) -> pa.Array:
    entries = column.flatten()
    parts: list[Any] = []
    for described, values in zip(fields, entries.flatten(), strict=True):
        if values.null_count < len(values):
            parts.append(_named(described.name, _values(values), first=not parts))
    text = _join("{", *parts, "}") if parts else pa.array([], pa.string())
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), text), ",")
    bracketed = _join("[", joined, "]")
    return pc.if_else(column.is_null(), pa.scalar(None, pa.string()), bracketed)


def _values(column: pa.Array) -> pa.Array:
    """Each value as JSON text; null stays null."""
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        quoted = [json.dumps(value, ensure_ascii=False) for value in column.dictionary.to_pylist()]
        return pa.array(quoted, pa.string()).take(column.indices)
    return column.cast(pa.string())


def _named(name: str, text: pa.Array, *, first: bool) -> pa.Array:
    """``"name":value`` with the comma that parts it from the field before; null stays null."""
    return _join(f'{"" if first else ","}"{name}":', text, nulls="emit_null")


def _join(*parts: Any, nulls: str = "replace") -> pa.Array:
    return pc.binary_join_element_wise(*parts, "", null_handling=nulls, null_replacement="")

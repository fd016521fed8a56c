"""JSON lines to Arrow tables of records, many lines at once.

Arrow's reader knows no single line: where it fails, or could read a line otherwise than Spark
does, lines are halved until few are left, and those are read one by one by the checks.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from penstock.model.arrays import BoolVector, IntVector
from penstock.telemetry.arrow_record import record_schema
from penstock.telemetry.reasons import LONGEST_LINE
from penstock.telemetry.slots.records import as_records

#: So few lines are not worth halving.
_FEW = 64
#: Two objects in a line, where Arrow would see two records. In a name it only costs time.
_TWO_OBJECTS = r"\}\s*\{"
#: Where Spark's reader gives up and Arrow's does not: numbers and names beyond these lengths, lists
#: nested deeper than this. Only long lines can have any.
_LONG_LINE, _LONGEST_SURE_LINE = 900, 40_000
_LONG_NUMBER = r"[0-9.eE+-]{900}"
_DEEPEST = 990
#: Text that begins as an object or a list does is no text to the checks.
_NESTED_TEXT = r'"(?:[{\[]|\\u00[57][bB])'


def read_lines(lines: pa.Array) -> tuple[pa.Table, IntVector]:
    """Records, and which lines they are from; lines that are missing have to be read with care."""
    lines = lines.cast(pa.binary())
    looks_plain = pc.and_(
        pc.less_equal(pc.binary_length(lines), LONGEST_LINE),
        pc.and_(pc.starts_with(lines, b"{"), pc.ends_with(lines, b"}")),
    )
    odd = pc.or_(
        pc.match_substring_regex(lines, _TWO_OBJECTS), pc.match_substring_regex(lines, _NESTED_TEXT)
    )
    sure = pc.fill_null(pc.and_not(looks_plain, odd), False)
    plain = np.flatnonzero(sure.to_numpy(zero_copy_only=False) & ~_beyond_limits(lines))
    tables, numbers = [], []
    waiting = [plain] if len(plain) else []
    while waiting:
        some = waiting.pop()
        table = _read(lines.take(pa.array(some)))
        if table is not None:
            tables.append(table)
            numbers.append(some)
        elif len(some) > _FEW:
            waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
    if not tables:
        return as_records(record_schema().empty_table()), np.zeros(0, dtype=np.int64)
    return as_records(pa.concat_tables(tables)), np.concatenate(numbers)


def _beyond_limits(lines: pa.Array) -> BoolVector:
    """Lines with something in them that is longer or deeper than Spark reads."""
    lengths = pc.fill_null(pc.binary_length(lines), 0).to_numpy()
    beyond = lengths > _LONGEST_SURE_LINE
    long = np.flatnonzero((lengths > _LONG_LINE) & ~beyond)
    if len(long):
        own = lines.take(pa.array(long))
        deep = [pc.greater(pc.count_substring(own, bracket), _DEEPEST) for bracket in ("[", "{")]
        has = pc.or_(pc.or_(*deep), pc.match_substring_regex(own, _LONG_NUMBER))
        beyond[long] = np.asarray(has.to_numpy(zero_copy_only=False))
    return np.asarray(beyond)


def _read(lines: pa.Array) -> pa.Table | None:
    ended = pc.binary_join_element_wise(lines, b"", b"\n")
    buffers, offsets = ended.buffers(), np.frombuffer(ended.buffers()[1], dtype=np.int32)
    start, end = offsets[ended.offset], offsets[ended.offset + len(ended)]
    data = buffers[2].slice(start, end - start)
    try:
        # Not text in UTF-8: no words for a dictionary.
        lines.cast(pa.string())
        table = pajson.read_json(
            pa.BufferReader(data),
            pajson.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 1 << 16)),
            pajson.ParseOptions(
                explicit_schema=record_schema(), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowException:
        return None
    return table if len(table) == len(lines) else None

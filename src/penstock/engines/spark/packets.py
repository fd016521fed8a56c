"""What travels between stages: rows of one stream for one slot, packed as Arrow.

Spark moves a few large binary values instead of every row, and the rows stay as they are from one
Python worker to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

#: ``_to``: address of a slot. ``_order``: packets of a slot are read in this order, so that a
#: partition that is lost and made again is the same.
TO, ORDER, FROM, TARGET, PACKET, NOTE = "_to", "_order", "_from", "_target", "_packet", "_note"
PACKETS_DDL = (
    f"{TO} int, {ORDER} string, {FROM} string, {TARGET} string, {PACKET} binary, {NOTE} string"
)
SCHEMA = pa.schema(
    [
        (TO, pa.int32()),
        (ORDER, pa.string()),
        (FROM, pa.string()),
        (TARGET, pa.string()),
        (PACKET, pa.binary()),
        (NOTE, pa.string()),
    ]
)
#: A packet is sent when it has so many rows, and a function is called with about so many.
ROWS = 10_000


@dataclass
class Packer:
    """Gathers rows of one stream for each slot that subscribes to it."""

    sender: str
    stream: str
    target: str
    task: int
    _kept: dict[int, list[pa.RecordBatch]] = field(default_factory=dict)
    _number: int = 0

    def add(self, address: int, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        batches = self._kept.setdefault(address, [])
        batches.append(rows)
        if sum(batch.num_rows for batch in batches) >= ROWS:
            yield self._packed(address)

    def rest(self) -> Iterator[pa.RecordBatch]:
        for address in sorted(address for address, batches in self._kept.items() if batches):
            yield self._packed(address)

    def _packed(self, address: int) -> pa.RecordBatch:
        rows = joined(self._kept.pop(address))
        self._number += 1
        values = {
            TO: [address],
            ORDER: [f"{self.sender}/{self.stream}/{self.task:09d}/{self._number:09d}"],
            FROM: [f"{self.sender}/{self.stream}"],
            TARGET: [self.target],
            PACKET: [rows.serialize().to_pybytes()],
            NOTE: [None],
        }
        return pa.RecordBatch.from_pydict(values, schema=SCHEMA)


def unpacked(
    batches: Iterable[pa.RecordBatch], schemas: dict[str, pa.Schema]
) -> Iterator[tuple[str, str, pa.RecordBatch]]:
    """Sender, target and rows; small packets of one stream that follow each other are joined."""
    pending: list[pa.RecordBatch] = []
    now = ("", "")
    for batch in batches:
        columns = (batch.column(name) for name in (FROM, TARGET, PACKET))
        for sender, target, packet in zip(*columns, strict=True):
            one = (sender.as_py(), target.as_py())
            if pending and (one != now or sum(rows.num_rows for rows in pending) >= ROWS):
                yield *now, joined(pending)
                pending = []
            now = one
            pending.append(pa.ipc.read_record_batch(packet.as_buffer(), schemas[one[0]]))
    if pending:
        yield *now, joined(pending)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches)


def note(text: str) -> pa.RecordBatch:
    values = {name: [None] for name in SCHEMA.names} | {NOTE: [text]}
    return pa.RecordBatch.from_pydict(values, schema=SCHEMA)

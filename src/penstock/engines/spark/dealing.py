"""Source rows on their way to the spouts' instances: runs inside Spark's Python workers.

The input is read once and packed here, whichever places its rows go to. From then on Spark moves
packets, a few large values instead of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from penstock.engines.spark.division import Division
from penstock.engines.spark.packets import Packer
from penstock.model.topology import Grouping

#: What packets of source rows say they come from: no component, no stream.
FROM_SOURCE = "/"


@dataclass(frozen=True)
class Deal:
    """Divides the rows of a partition among the instances of all spouts, by their shares."""

    #: What Spark read, as rows.
    unfolded: Callable[[pa.RecordBatch], Iterable[pa.RecordBatch]]
    #: Of each instance.
    components: tuple[str, ...]
    addresses: tuple[int, ...]
    shares: tuple[float, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from self.dealt(batches, context.partitionId() if context is not None else 0)

    def dealt(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[pa.RecordBatch]:
        sender, _, stream = FROM_SOURCE.partition("/")
        division = Division(Grouping.SHUFFLE, (), self.shares)
        packers = {name: Packer(sender, stream, name, task) for name in self.components}
        for rows in (rows for batch in batches for rows in self.unfolded(batch)):
            for number, part in division.divided(rows):
                packer = packers[self.components[number]]
                yield from packer.add(self.addresses[number], part)
        for packer in packers.values():
            yield from packer.rest()

"""One batch through a topology: level after level, each a stage for every place it runs at.

Source rows are packed once, for the spouts' instances at all places; rows travel as packets. What a
stage puts out is kept by Spark until the batch is done, because stages at different places read it.
Parts that ran at different places meet only behind a shuffle: Spark refuses one stage with two
resource profiles. Their shuffles are alike, so that Spark joins them partition by partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path

import pyarrow as pa
from pyspark import StorageLevel, inheritable_thread_target
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engines.spark.code import Code
from penstock.engines.spark.dealing import FROM_SOURCE, Deal
from penstock.engines.spark.deployment import Deployment
from penstock.engines.spark.instance import ComponentInstances, Remembered, Stage, Subscriber
from penstock.engines.spark.keys import Hot
from penstock.engines.spark.layout import Layout, Slot, lay_out, spouts
from penstock.engines.spark.packets import NOTE, ORDER, PACKETS_DDL, TO
from penstock.engines.spark.payloads import Payloads
from penstock.engines.spark.sources import Source
from penstock.errors import Finding, InputError
from penstock.model.topology import Grouping, Stream, Topology


@dataclass
class Dataflow:
    """A topology with its code, and the instances it runs as."""

    topology: Topology
    code: Code
    deployment: Deployment
    #: How Spark gets a stage to a place; without, it runs anywhere.
    profiles: Mapping[str, ResourceProfile] = field(default_factory=dict)
    #: Frequent keys of components that are divided by key.
    hot: Mapping[str, Hot] = field(default_factory=dict)

    def run(
        self, source: Source, batch: DataFrame, known: Mapping[str, Remembered], folder: Path
    ) -> list[str]:
        """Take the rows of one batch through all components; what each instance has to tell."""
        dealt = self._dealt(source, batch)
        if len(self.layout.places_of(0)) > 1:
            dealt = dealt.persist(StorageLevel.MEMORY_AND_DISK)
        cached: list[list[DataFrame]] = []
        notes: list[str] = []
        try:
            with ThreadPoolExecutor(len(self.deployment.places)) as threads:
                asked: list[Future[list[str]]] = []
                for level in range(len(self.layout.levels)):
                    before = [p for sender in self._senders(level) for p in cached[sender]] or [
                        dealt
                    ]
                    # The level before is still at work. Between the two, all machines would wait.
                    cached.append(self._made_ready(level, before, known, folder, source.schema))
                    notes += _answers(asked)
                    asked = _asked(cached[-1], threads)
                notes += _answers(asked)
        finally:
            for part in (dealt, *(part for parts in cached for part in parts)):
                part.unpersist()
        return notes

    @cached_property
    def layout(self) -> Layout:
        return lay_out(
            self.topology, self.deployment, lambda name: self.code.works[name].state is not None
        )

    @cached_property
    def payloads(self) -> Payloads:
        return Payloads(self.topology, self.code)

    # -- stages -----------------------------------------------------------------------------------

    def _made_ready(
        self,
        level: int,
        before: Sequence[DataFrame],
        known: Mapping[str, Remembered],
        folder: Path,
        source: pa.Schema,
    ) -> list[DataFrame]:
        """One frame for each place of a level."""
        frames = []
        for place in self.layout.places_of(level):
            slots = self.layout.slots_at(level, place)
            rows = reduce(DataFrame.unionByName, [_for_slots(part, slots) for part in before])
            stage = self._stage(slots, known, folder, source)
            out = rows.sortWithinPartitions(ORDER).mapInArrow(
                stage, PACKETS_DDL, profile=self.profiles.get(place)
            )
            frames.append(out.persist(StorageLevel.MEMORY_AND_DISK))
        return frames

    def _senders(self, level: int) -> list[int]:
        """Levels whose packets this one reads; none for the first, which reads the source's."""
        mine = {name for s in self.layout.levels[level] for name in self.layout.segments[s]}
        sources = {
            s.source for s in self._streams if s.target in mine and not self.layout.is_chained(s)
        }
        return sorted({self.layout.level_of(self.layout.segment_of(name)) for name in sources})

    def _dealt(self, source: Source, batch: DataFrame) -> DataFrame:
        """Source rows as packets for the spouts' instances."""
        names = spouts(self.topology, self.deployment.instances)
        weights = {c.name: c.share for c in self.topology.components if c.name in names}
        components: list[str] = []
        addresses: list[int] = []
        shares: list[float] = []
        for name in names:
            mine = self.deployment.shares(name)
            components += [name] * len(mine)
            addresses += self.layout.addresses(name)
            shares += [weights[name] * share for share in mine]
        deal = Deal(source.unfolded, tuple(components), tuple(addresses), tuple(shares))
        return batch.mapInArrow(deal, PACKETS_DDL)

    def _stage(
        self,
        slots: Sequence[Slot],
        known: Mapping[str, Remembered],
        folder: Path,
        source: pa.Schema,
    ) -> Stage:
        segments = [self.layout.segments[slot.segment] for slot in slots]
        names = {name for segment in segments for name in segment}
        kinds = {self.deployment.instances[s[0]][slot.number].machine_type
                 for s, slot in zip(segments, slots, strict=True)}  # fmt: skip
        return Stage(
            slots=tuple((s, slot.number) for s, slot in zip(segments, slots, strict=True)),
            components={name: self._component(name, known) for name in sorted(names)},
            schemas={
                f"{s.source}/{s.name}": self.payloads.streams(s.source)[s.name]
                for s in self._streams
                if s.target in names
            }
            | {FROM_SOURCE: source},
            machine_type=kinds.pop() if len(kinds) == 1 else "",
            folder=str(folder),
        )

    def _component(self, name: str, known: Mapping[str, Remembered]) -> ComponentInstances:
        work = self.code.works[name]
        subscribers: dict[str, tuple[Subscriber, ...]] = {}
        for stream in self._streams:
            if stream.source == name:
                before = subscribers.get(stream.name, ())
                subscribers[stream.name] = (*before, self._subscriber(stream))
        return ComponentInstances(
            name=name,
            function=work.function,
            takes_arrow=work.takes_arrow,
            streams=self.payloads.streams(name),
            subscribers=subscribers,
            tasks=tuple(instance.task for instance in self.deployment.instances[name]),
            state=known.get(name),
        )

    @property
    def _streams(self) -> list[Stream]:
        """Streams between components that run; ackers do not."""
        running = self.deployment.instances
        return [s for s in self.topology.streams if s.source in running and s.target in running]

    def _subscriber(self, stream: Stream) -> Subscriber:
        if self.layout.is_chained(stream):
            return Subscriber(stream.target)
        grouping, keys = self.division(stream)
        return Subscriber(
            stream.target,
            self.layout.addresses(stream.target),
            grouping,
            keys,
            tuple(self.deployment.shares(stream.target)),
            self.hot.get(stream.target, ()),
        )

    def division(self, stream: Stream) -> tuple[Grouping, tuple[str, ...]]:
        """How a stream is divided: to a component with state, always by the state's key."""
        key = self.payloads.key(stream.target)
        if not stream.grouping.is_divided:
            return stream.grouping, ()
        if not stream.grouping.is_keyed and key is None:
            return Grouping.SHUFFLE, ()
        fields = (key,) if key is not None else tuple(stream.fields)
        columns = self.payloads.streams(stream.source)[stream.name].names
        missing = [f for f in fields if f not in columns]
        if missing:
            message = f"{stream.source} puts out {', '.join(columns)}; {stream.target} is divided"
            raise InputError(Finding(f"{message} by {', '.join(missing)}", str(self.code.file)))
        # Keys that are not named cannot be kept together; any row then goes anywhere.
        return (Grouping.FIELDS, fields) if fields else (Grouping.SHUFFLE, ())


def _for_slots(part: DataFrame, slots: Sequence[Slot]) -> DataFrame:
    mine = [slot.address for slot in slots]
    return part.where(F.col(TO).isin(mine)).repartition(len(mine), F.col(TO))


def _asked(parts: Sequence[DataFrame], threads: ThreadPoolExecutor) -> list[Future[list[str]]]:
    """What every instance has to tell; asking for it makes a level work, all places at once."""

    def notes(part: DataFrame) -> list[str]:
        return [row[0] for row in part.where(F.col(NOTE).isNotNull()).select(NOTE).collect()]

    session = parts[0].sparkSession
    # Wrapped anew for each: a wrapper takes the local properties of now with it.
    return [threads.submit(inheritable_thread_target(session)(notes), part) for part in parts]


def _answers(asked: Sequence[Future[list[str]]]) -> list[str]:
    return [text for answer in asked for text in answer.result()]

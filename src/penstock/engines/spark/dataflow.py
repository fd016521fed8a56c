"""A topology as frames: from the rows of one batch to what every component puts out.

Each component is a stage of its own, because each has its own instances and division. Rows are
divided by a hash of what tells them apart (shuffle) or of the key (fields), held against the
instances' shares; each instance is one partition, and its rows are sorted, so that a partition that
is lost and made again is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

from pyspark import StorageLevel
from pyspark.resource import ResourceProfile
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.engines.spark.code import Code, Work
from penstock.engines.spark.deployment import Deployment, Instance
from penstock.engines.spark.instance import FROM, ID, NOTE, SAMPLE, STATE, STREAM, Instances
from penstock.errors import Finding, InputError
from penstock.model.topology import DEFAULT_STREAM, Grouping, Kind, Stream, Topology

_TO, _ORDER = "_to", "_order"
#: Rows are dealt to this many equal parts of the shares.
_PARTS = 1 << 24


@dataclass
class Dataflow:
    """A topology with its code, and the instances it runs as."""

    topology: Topology
    code: Code
    deployment: Deployment
    #: How Spark gets a stage onto machines of a type; without, it runs anywhere.
    profiles: Mapping[str, ResourceProfile] = field(default_factory=dict)

    def outputs(self, source: DataFrame, states: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """What each component puts out, kept until the caller lets go of it."""
        made: dict[str, DataFrame] = {}
        for name in self.order:
            rows = self._input(name, source, made)
            if name in states:
                rows = self._with_state(name, rows, states[name])
            made[name] = self._stage(name, rows).persist(StorageLevel.MEMORY_AND_DISK)
        return made

    @property
    def order(self) -> list[str]:
        """Components that run, sources before targets."""
        if self.topology.order is None:
            cycle = " -> ".join(self.topology.cycle)
            raise InputError(f"cycle {cycle}; a topology that runs on Spark has none")
        names = [self.topology.components[c].name for c in self.topology.order]
        return [name for name in names if name in self.deployment.instances]

    # -- into a component -------------------------------------------------------------------------

    def _input(self, name: str, source: DataFrame, made: Mapping[str, DataFrame]) -> DataFrame:
        """All rows for a component, each with the number of the instance it goes to."""
        component = self.topology.components[self.topology.index[name]]
        if component.kind is Kind.SPOUT:
            rows = self._spouts_part(name, source)
            return rows.withColumn(FROM, F.lit("")).withColumn(_TO, self._by_share(name, F.col(ID)))
        frames = [
            self._divided(name, stream, made[stream.source])
            for stream in self.topology.streams
            if stream.target == name and stream.source in made
        ]
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    def _spouts_part(self, name: str, source: DataFrame) -> DataFrame:
        """The rows of the source that one of several spouts takes in."""
        spouts = [c for c in self.topology.components if c.kind is Kind.SPOUT]
        if len(spouts) == 1:
            return source
        total = sum(spout.share for spout in spouts)
        start = sum(s.share for s in spouts[: [s.name for s in spouts].index(name)]) / total
        end = start + self.topology.components[self.topology.index[name]].share / total
        # Another hash than the one that divides over instances.
        part = _fraction(F.xxhash64(F.col(ID), F.lit("spout")))
        return source.where((part >= start) & (part < end))

    def _divided(self, name: str, stream: Stream, out: DataFrame) -> DataFrame:
        columns = self.columns(stream.source)[stream.name]
        rows = out.where(F.col(STREAM) == stream.name).select(ID, *columns)
        rows = rows.withColumn(FROM, F.lit(f"{stream.source}/{stream.name}"))
        count = len(self.deployment.instances[name])
        if stream.grouping is Grouping.ALL:
            return rows.withColumn(_TO, F.explode(F.sequence(F.lit(0), F.lit(count - 1))))
        if stream.grouping is Grouping.GLOBAL:
            return rows.withColumn(_TO, F.lit(0))
        return rows.withColumn(_TO, self._by_share(name, *self._key(name, stream, columns)))

    def _key(self, name: str, stream: Stream, columns: list[str]) -> list[Column]:
        """What decides which instance a row goes to: with state, always the state's key."""
        key = self._state_key(name)
        fields = [key] if key is not None else list(stream.fields)
        if not fields or (stream.grouping is not Grouping.FIELDS and key is None):
            return [F.col(ID)]
        missing = [f for f in fields if f not in columns]
        if missing:
            message = f"{stream.source} puts out {', '.join(columns)}; {name} is divided by"
            raise InputError(Finding(f"{message} {', '.join(missing)}", str(self.code.file)))
        return [F.col(f) for f in fields]

    def _state_key(self, name: str) -> str | None:
        state = self.code.works[name].state
        return _parsed(self.code.works[name], state, self.code).fieldNames()[0] if state else None

    def _by_share(self, name: str, *by: Column) -> Column:
        """The number of the instance whose part of the shares a row's hash falls into."""
        ends = F.array(*[F.lit(end) for end in self.deployment.ends(name)])
        part = _fraction(F.xxhash64(*by))
        return F.size(F.filter(ends, lambda end: end <= part))

    def _with_state(self, name: str, rows: DataFrame, state: DataFrame) -> DataFrame:
        key = self._state_key(name)
        is_global = all(
            s.grouping is Grouping.GLOBAL for s in self.topology.streams if s.target == name
        )
        to = F.lit(0) if is_global or key is None else self._by_share(name, F.col(key))
        remembered = state.withColumn(FROM, F.lit(STATE)).withColumn(_TO, to)
        return rows.unionByName(remembered, allowMissingColumns=True)

    # -- the work ---------------------------------------------------------------------------------

    def _stage(self, name: str, rows: DataFrame) -> DataFrame:
        numbered = {i.task: n for n, i in enumerate(self.deployment.instances[name])}
        parts = []
        for kind, instances in self.deployment.parts(name).items():
            mine = [numbered[i.task] for i in instances]
            parts.append(self._on_type(name, rows, kind, instances, mine))
        return reduce(DataFrame.unionByName, parts)

    def _on_type(
        self,
        name: str,
        rows: DataFrame,
        kind: str,
        instances: tuple[Instance, ...],
        mine: list[int],
    ) -> DataFrame:
        """The instances on one machine type: each is one partition of one stage."""
        # The number of the partition of each instance; -1 for those on other types.
        places = [mine.index(n) if n in mine else -1 for n in range(max(mine) + 1)]
        place = F.element_at(F.array(*[F.lit(p) for p in places]), F.col(_TO) + 1)
        mine_only = rows.where(F.col(_TO).isin(mine))
        order = F.when(F.col(FROM) == STATE, 0).otherwise(1)
        divided = (
            mine_only.withColumn(_ORDER, order)
            .repartitionById(len(instances), place)
            .sortWithinPartitions(_ORDER, ID)
            .drop(_ORDER, _TO)
        )
        schema = self.schema(name)
        work = self.code.works[name]
        run = Instances(
            component=name,
            function=work.function,
            takes_arrow=work.takes_arrow,
            columns=self.columns(name),
            state_columns=self.state_schema(name).fieldNames()[1:] if work.state else [],
            tasks=[instance.task for instance in instances],
            machine_type=kind,
            schema=to_arrow_schema(schema),
        )
        profile = self.profiles.get(kind)
        return divided.mapInArrow(run, schema, profile=profile)

    # -- schemas ----------------------------------------------------------------------------------

    def columns(self, name: str) -> dict[str, list[str]]:
        """Payload columns of each stream that a component puts out."""
        return {s: schema.fieldNames() for s, schema in self._streams(name).items()}

    def _streams(self, name: str) -> dict[str, T.StructType]:
        work = self.code.works[name]
        if work.function is None:
            return {DEFAULT_STREAM: self._passed_on(name)}
        return {stream: _parsed(work, ddl, self.code) for stream, ddl in work.streams.items()}

    def _passed_on(self, name: str) -> T.StructType:
        """What comes in, where a component has no function of its own."""
        found: dict[str, T.StructField] = {}
        for stream in self.topology.streams:
            if stream.target == name:
                fields = self._streams(stream.source)[stream.name].fields
                found |= {f.name: f for f in fields}
        return T.StructType(list(found.values()))

    def state_schema(self, name: str) -> T.StructType:
        """What a component remembers, as it is kept."""
        work = self.code.works[name]
        state = _parsed(work, work.state or "", self.code)
        return T.StructType([T.StructField(ID, T.LongType()), *state.fields])

    def schema(self, name: str) -> T.StructType:
        """The frame that holds all streams of a component, its state and what was measured."""
        work = self.code.works[name]
        schemas = [*self._streams(name).values()]
        if work.state:
            schemas.append(_parsed(work, work.state, self.code))
        found: dict[str, T.StructField] = {}
        for one in (f for schema in schemas for f in schema.fields):
            other = found.setdefault(one.name, one)
            if other.dataType != one.dataType:
                message = f"{name}: column {one.name} has two types in its streams and state"
                raise InputError(Finding(message, str(self.code.file)))
        own = [T.StructField(ID, T.LongType()), T.StructField(STREAM, T.StringType())]
        return T.StructType([*own, T.StructField(NOTE, T.StringType()), *found.values()])


def notes(outputs: Mapping[str, DataFrame]) -> DataFrame:
    """What every instance measured; asking for it makes every component work."""
    frames = [out.where(F.col(STREAM) == SAMPLE).select(NOTE) for out in outputs.values()]
    return reduce(DataFrame.unionByName, frames)


def state_of(out: DataFrame, columns: list[str]) -> DataFrame:
    return out.where(F.col(STREAM) == STATE).select(ID, *columns)


def results_of(out: DataFrame, stream: str, columns: list[str]) -> DataFrame:
    return out.where(F.col(STREAM) == stream).select(*columns)


def sinks(topology: Topology, code: Code) -> Iterator[str]:
    """Components whose output nobody subscribes to: the results."""
    sources = {stream.source for stream in topology.streams if stream.target in code.works}
    yield from (name for name in code.works if name not in sources)


def _fraction(hashed: Column) -> Column:
    """A hash as a number from 0 up to 1."""
    return F.pmod(hashed, F.lit(_PARTS)) / F.lit(float(_PARTS))


def _parsed(work: Work, ddl: str, code: Code) -> T.StructType:
    try:
        found = T.StructType.fromDDL(ddl) if ddl else T.StructType([])
        assert isinstance(found, T.StructType)
        return found
    except Exception as error:  # Spark's parser has many
        message = f'{work.component}: "{ddl}" is no schema, such as "word string, count bigint"'
        raise InputError(Finding(message, str(code.file))) from error

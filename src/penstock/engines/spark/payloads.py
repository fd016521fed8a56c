"""What rows look like: the columns of every stream and of what components remember, as Arrow."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.engines.spark.code import Code
from penstock.errors import Finding, InputError
from penstock.model.topology import DEFAULT_STREAM, Topology


@dataclass(frozen=True)
class Payloads:
    """Schemas of a topology's streams and state, read from the code beside it."""

    topology: Topology
    code: Code

    def streams(self, component: str) -> dict[str, pa.Schema]:
        """What each stream of a component carries."""
        work = self.code.works[component]
        if work.function is None and not any(work.streams.values()):
            return {DEFAULT_STREAM: self._passed_on(component)}
        return {stream: self._parsed(component, ddl) for stream, ddl in work.streams.items()}

    def state(self, component: str) -> pa.Schema | None:
        """What a component remembers; its first column is the key."""
        ddl = self.code.works[component].state
        return None if ddl is None else self._parsed(component, ddl)

    def key(self, component: str) -> str | None:
        state = self.state(component)
        return None if state is None else state.names[0]

    def _passed_on(self, component: str) -> pa.Schema:
        """What comes in, where a component has no function of its own."""
        fields: dict[str, pa.Field] = {}
        for stream in self.topology.streams:
            if stream.target == component and stream.source in self.code.works:
                fields |= {f.name: f for f in self.streams(stream.source)[stream.name]}
        return pa.schema(list(fields.values()))

    def _parsed(self, component: str, ddl: str) -> pa.Schema:
        try:
            schema = T.StructType.fromDDL(ddl) if ddl else T.StructType([])
            assert isinstance(schema, T.StructType)
            return to_arrow_schema(schema)
        except Exception as error:  # Spark's parser has many
            message = f'{component}: "{ddl}" is not a schema, such as "word string, count bigint"'
            raise InputError(Finding(message, str(self.code.file))) from error

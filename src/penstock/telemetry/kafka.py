"""Topics of Kafka as Spark reads them: ``kafka://broker:9092/topic``, and how clients log in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import Finding, InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX = "kafka://"
#: What the location says, and what Spark decides itself.
_NOT_FROM_USERS = {
    "bootstrap.servers": "the location names the brokers",
    "group.id": "Spark keeps offsets in its checkpoint, not in a group",
    "auto.offset.reset": "Spark keeps offsets in its checkpoint",
    "enable.auto.commit": "Spark keeps offsets in its checkpoint",
    "key.deserializer": "Spark reads bytes",
    "value.deserializer": "Spark reads bytes",
    "interceptor.classes": "Spark allows none",
}


@dataclass(frozen=True)
class KafkaTopic:
    """A topic, and the client properties that its brokers ask for."""

    #: One or more, ``host:port``, with commas between them.
    brokers: str
    topic: str
    #: Of the Kafka client; may hold passwords, so it is in no message.
    client: Mapping[str, str] = field(default_factory=dict, repr=False)

    @staticmethod
    def at(location: str, client: Mapping[str, str] | None = None) -> KafkaTopic:
        brokers, _, topic = location.removeprefix(PREFIX).partition("/")
        whole = all(":" in broker for broker in brokers.split(","))
        if not location.startswith(PREFIX) or not topic or "/" in topic or not whole:
            raise InputError(f"{location}: write {PREFIX}broker:port/topic")
        return KafkaTopic(brokers, topic, client or {})

    def stream(self, spark: SparkSession, rows_per_batch: int | None = None) -> DataFrame:
        """An endless frame of the topic's records, from the oldest on."""
        options = {f"kafka.{name}": value for name, value in self.client.items()}
        options |= {
            "kafka.bootstrap.servers": self.brokers,
            "subscribe": self.topic,
            "startingOffsets": "earliest",
        }
        if rows_per_batch is not None:
            options["maxOffsetsPerTrigger"] = str(rows_per_batch)
        try:
            return spark.readStream.format("kafka").options(**options).load()
        except Exception as error:
            if "Failed to find data source" not in str(error) and "kafka" not in str(error).lower():
                raise
            raise InputError(
                "Spark's Kafka connector is not on the class path of this session; "
                "name its jars: --config spark.jars=…"
            ) from None


def client_properties(file: Path) -> dict[str, str]:
    """Properties of a Kafka client, ``name=value`` by line, as Kafka's own tools read them."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Finding(f"cannot be read: {error}", str(file))) from None
    properties, findings = {}, []
    for number, line in _lines(text):
        name, equals, value = (part.strip() for part in line.partition("="))
        # The line itself may hold a password: only names are shown.
        if not equals or not name:
            findings.append(Finding("is not name=value", str(file), number))
        elif why := _NOT_FROM_USERS.get(name):
            findings.append(Finding(f"{name} cannot be set: {why}", str(file), number))
        properties[name] = value
    if findings:
        raise InputError(*findings)
    return properties


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers; one that ends in a backslash goes on."""
    start, whole = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not whole:
            start = number
            if not line.strip() or line.lstrip().startswith(("#", "!")):
                continue
        whole += line.strip()
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        yield start, whole
        whole = ""
    if whole:
        yield start, whole

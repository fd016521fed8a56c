"""``kafka://broker:9092/topic`` as a source: how clients log in, and what reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import say
from penstock.errors import UsageError
from penstock.telemetry.kafka import PREFIX, KafkaTopic, client_properties

#: A file, since a password on the command line is in everybody's list of processes.
Config = Annotated[
    Path | None,
    typer.Option(
        "--kafka-config",
        help="Properties of the Kafka client (SASL, TLS), as Kafka's own tools take them.",
    ),
]

_SECRET_PARTS = ("password", "sasl.jaas.config")


def client_of(source: str | None, file: Path | None) -> dict[str, str]:
    """Client properties for a source, from ``--kafka-config``."""
    if source is not None and source.startswith(PREFIX):
        KafkaTopic.at(source)
    if file is None:
        return {}
    if source is None or not source.startswith(PREFIX):
        raise UsageError("--kafka-config needs a source kafka://broker:port/topic")
    properties = client_properties(file)
    has_secret = any(part in name for name in properties for part in _SECRET_PARTS)
    if has_secret and file.stat().st_mode & 0o077:
        say(f"warning: others on this computer can read the passwords in {file}: chmod 600 {file}")
    return properties

"""Options that say which engine is meant, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.engines import registry
from penstock.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from penstock.engines.base import Engine


def _engine_name(text: str) -> str:
    known = registry.names()
    if text not in known:
        raise typer.BadParameter(unknown_name("engine", text, known))
    return text


EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        parser=_engine_name,
        metavar="ENGINE",
        help="What the topology runs on: storm, spark, or another installed engine.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        parser=_engine_name,
        metavar="ENGINE",
        help="Take what runs on a cluster: storm, or another installed engine.",
    ),
]
FromEngine = Annotated[
    str,
    typer.Option(
        "--from",
        parser=_engine_name,
        metavar="ENGINE",
        help="The cluster it is a machine of: storm, or another installed engine.",
    ),
]
Watched = Annotated[
    str,
    typer.Option(
        "--from",
        parser=_engine_name,
        metavar="ENGINE",
        help="What runs the cluster: storm, spark, or another installed engine.",
    ),
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        parser=_engine_name,
        metavar="ENGINE",
        help="Engine to apply the plan to.",
    ),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--engine-option",
        metavar="NAME=VALUE",
        help="Option of another installed engine.",
    ),
]
Nimbus = Annotated[
    str | None, typer.Option("--nimbus", help="Storm's Nimbus, host or host:port.", metavar="HOST")
]
Ui = Annotated[str | None, typer.Option("--ui", help="Address of Storm's UI.", metavar="URL")]
StormYaml = Annotated[
    Path | None,
    typer.Option("--storm-yaml", help="A client's storm.yaml, with Nimbus and security settings."),
]
Types = Annotated[
    Path | None, typer.Option("--types", help="File with a line `host: type` for each machine.")
]
Telemetry = Annotated[
    list[str] | None,
    typer.Option(
        "--telemetry",
        help="Folder with the reporter's files, or a pattern; repeatable. Not needed with a lab.",
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", help="Use only records of the last 90s, 10m, 2h or 1d.")
]


def engine(name: str, more: Sequence[str] | None = None, **own: object) -> Engine:
    """The engine of that name with those of its options that were given."""
    options = {key: value for key, value in own.items() if value is not None}
    for text in more or ():
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise UsageError(f'--engine-option takes name=value, not "{text}"')
        options[key.replace("-", "_")] = value
    return app.engine(name, **options)


def telemetry(
    target: Engine, folders: Sequence[str] | None, since: str | None = None
) -> app.TelemetrySelection:
    """The telemetry that the options mean."""
    return app.telemetry_of(target, folders or (), since)

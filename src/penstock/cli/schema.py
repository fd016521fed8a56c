"""``penstock schema``: the JSON Schema of a file format."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import write_json
from penstock.errors import EXIT_DONE
from penstock.files.store import FORMATS, WRITTEN, json_schema


def command(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join((*FORMATS, *WRITTEN))}.")],
) -> int:
    """Print the JSON Schema of a format, for editors and validators.

    penstock schema topology

    penstock schema plan > plan.schema.json
    """
    write_json(json_schema(name))
    return EXIT_DONE

"""Which machine is of which type: a mapping of host names to types, in YAML or JSON.

Storm's telemetry names hosts only; ``supervisor.scheduler.meta``, where a type may be written, is
in none of its answers.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import RootModel

from penstock.errors import InputError
from penstock.files.document import read_document
from penstock.files.schema import Name, check


class _MachineTypes(RootModel[dict[Name, Name]]):
    """``host: type``, one line per machine."""


def load_machine_types(path: str | Path) -> dict[str, str]:
    """Types by host, in the order of the file."""
    document = read_document(path)
    types, findings = check(document, _MachineTypes)
    if types is None:
        raise InputError(*findings)
    if not types.root:
        raise InputError(document.finding((), "names no host; write one `host: type` per line"))
    return types.root

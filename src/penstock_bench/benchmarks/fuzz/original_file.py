"""A file that damage starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: A second in the past that receipts and telemetry agree on.
EPOCH_S = 1_700_000_000


@dataclass(frozen=True)
class File:
    """A document, or bytes; which of the two decides how it is damaged."""

    kind: str
    document: Any = None
    data: bytes = b""
    #: Lines of JSON, each a document.
    is_lines: bool = False


Files = dict[str, File]

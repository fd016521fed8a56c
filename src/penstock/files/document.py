"""A file read into plain values that remember their lines. Hostile input ends in an InputError."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from penstock.errors import Finding, InputError

#: Where a value is inside a document: keys and list positions from the top.
Place: TypeAlias = tuple[str | int, ...]
Positions: TypeAlias = Mapping[Place, int]

MEGABYTE = 1_000_000
#: YAML takes about 30 bytes of memory and a microsecond per byte; JSON far less.
MOST_YAML_BYTES = 8 * MEGABYTE
MOST_JSON_BYTES = 48 * MEGABYTE
MOST_DEPTH = 60
LONGEST_NAME = 200
#: Raises all limits on size, for users who know what they load.
SIZE_VARIABLE = "PENSTOCK_MAX_FILE_MB"


@dataclass(frozen=True)
class ParsedFile:
    """A parsed file. ``line(place)`` is where a value stands, or its nearest parent known."""

    name: str
    value: object
    _positions: Callable[[], Positions] = field(repr=False)

    def line(self, place: Place) -> int | None:
        positions = self._positions()
        for end in range(len(place), -1, -1):
            if place[:end] in positions:
                return positions[place[:end]]
        return None

    def finding(self, place: Place, message: str) -> Finding:
        """A finding at a place of this document."""
        return Finding(message, self.name, self.line(place), field_name(place))


def field_name(place: Place) -> str:
    """``components.split.streams[0].to``"""
    name = ""
    for part in place:
        if isinstance(part, int):
            name += f"[{part}]"
        else:
            name += f".{shortened(part)}" if name else shortened(part)
    return name


def shortened(text: object) -> str:
    """A name as long as names may be; what is longer came from no sane file."""
    name = text if isinstance(text, str) else ""
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"


def read_document(path: str | Path) -> ParsedFile:
    """Read YAML or JSON; which one is told by the file's suffix."""
    # Imported here because both readers raise findings with this module's types.
    from penstock.files.json_reader import parse_json
    from penstock.files.yaml_reader import parse_yaml

    path = Path(path)
    is_json = path.suffix.lower() == ".json"
    text = _read_text(path, MOST_JSON_BYTES if is_json else MOST_YAML_BYTES)
    parse = parse_json if is_json else parse_yaml
    return parse(text, str(path))


def read_plain_text(path: str | Path) -> str:
    """A text file that is neither YAML nor JSON, within the limits of YAML."""
    return _read_text(Path(path), MOST_YAML_BYTES)


def document_of(value: object, name: str) -> ParsedFile:
    """A document that was never a file, such as a dict handed to the Python API."""
    return ParsedFile(name, value, dict)


def _read_text(path: Path, most_bytes: int) -> str:
    name = str(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(Finding("is a folder; name a file in it", name))
        if not stat.S_ISREG(status.st_mode):
            raise InputError(Finding("is not a regular file", name))
        limit = raised_limit(most_bytes, most_bytes)
        if status.st_size > limit:
            raise InputError(
                Finding(
                    f"{status.st_size / MEGABYTE:.0f} MB; at most {limit / MEGABYTE:.0f} MB are "
                    f"read from such a file. JSON may be larger than YAML, and "
                    f"{SIZE_VARIABLE}=N in the environment raises the limit",
                    name,
                )
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(Finding("no such file", name)) from None
    except OSError as error:
        raise InputError(Finding(f"cannot be read: {error.strerror or error}", name)) from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError(Finding(f"is not a file name: {error}", repr(name))) from None
    return _decode(data, name)


def raised_limit(limit: int, most_bytes: int) -> int:
    """A limit that belongs to files of ``most_bytes``, larger where the user allows larger ones."""
    raised = os.environ.get(SIZE_VARIABLE, "")
    megabytes = int(raised) if raised.isdecimal() and len(raised) < 10 else 0
    return max(limit, limit * megabytes * MEGABYTE // most_bytes)


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Finding(
                f"not UTF-8 text (byte 0x{data[error.start]:02x} at offset {error.start}); "
                "is it a binary file, or saved in another encoding?",
                name,
                line,
            )
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(Finding("holds a NUL character; is it a binary file?", name, line))
    if not text.strip():
        raise InputError(Finding("is empty", name, 1))
    return text

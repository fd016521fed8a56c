"""Machine records of agents, read from the folders they write to.

They are few, and only the last hours count, so that no Spark is needed: the end of each file is
read. Whoever may write to such a folder is not trusted: sizes are bounded, and a line that is no
record is left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError
from penstock.files.schema import is_name
from penstock.model.machine_record import (
    FINGERPRINT_KINDS,
    KIND,
    MACHINE_FIELDS,
    MACHINE_RECORD_VERSION,
    ROUND_TRIP_FIELDS,
    MachineRecord,
    RoundTrip,
)
from penstock.model.telemetry import FieldType, SampleField

PATTERN = "_machine-*.jsonl"
#: Of the end of one file, and files of one folder.
_MOST_BYTES = 8_000_000
_MOST_FILES = 200_000
_MOST = 1e18
#: Of the newest record of all: older ones say nothing of today.
USUAL_HOURS = 1.0
_MS_PER_H = 3.6e6
#: The field that says that a record has a fingerprint.
_FINGERPRINT = f"{FINGERPRINT_KINDS[0]}_per_s"


@dataclass(frozen=True)
class MachineRecords:
    """What folders hold: the records, and how many lines are none."""

    records: tuple[MachineRecord, ...]
    unreadable: int = 0


def read_machine_records(
    folders: Sequence[str | Path], hours: float = USUAL_HOURS
) -> MachineRecords:
    """The records of the last hours before the newest one, by machine and time.

    A machine that was silent in those hours is still known by its last record, and a fingerprint,
    which is taken once, by the last record that has one.
    """
    records, unreadable = [], 0
    for file in _files(folders):
        for line in _last_lines(file):
            record = _record(line)
            if record is None:
                unreadable += 1
            else:
                records.append(record)
    if not records:
        places = ", ".join(map(str, folders))
        raise InputError(
            f"there are no machine records in {places}: penstock agent writes them, as {PATTERN}"
        )
    records.sort(key=lambda r: (r.machine, r.time_ms))
    since = max(r.time_ms for r in records) - _MS_PER_H * hours
    last = {r.machine: r for r in records}
    measured = {r.machine: r for r in records if _FINGERPRINT in r.facts}
    kept = tuple(
        r
        for r in records
        if r.time_ms >= since or last[r.machine] is r or measured.get(r.machine) is r
    )
    return MachineRecords(kept, unreadable)


def _files(folders: Iterable[str | Path]) -> Iterator[Path]:
    for named in folders:
        folder = Path(named)
        if folder.is_file():
            yield folder
            continue
        if not folder.is_dir():
            raise InputError(Finding("no such file or folder", str(named)))
        for number, file in enumerate(sorted(folder.rglob(PATTERN))):
            if number >= _MOST_FILES:
                return
            if file.is_file() and not file.is_symlink():
                yield file


def _last_lines(file: Path) -> list[bytes]:
    """The lines of a file, only the last ones of a long one, and no line that is still written."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - _MOST_BYTES))
            data = opened.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(Finding(f"cannot be read: {error.strerror}", str(file))) from None
    lines = data.split(b"\n")[:-1]
    return lines[1:] if size > _MOST_BYTES else lines


def _record(line: bytes) -> MachineRecord | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("record") != KIND:
        return None
    if entry.get("version") != MACHINE_RECORD_VERSION:
        return None
    values = _values(entry, MACHINE_FIELDS)
    trips = entry.get("round_trips", [])
    if values is None or not isinstance(trips, list):
        return None
    entries = [_values(trip, ROUND_TRIP_FIELDS) for trip in trips if isinstance(trip, dict)]
    own = {name: values.pop(name) for name in ("machine", "host", "time_ms", "window_ms")}
    facts = {k: v for k, v in values.items() if k not in ("record", "version")}
    return MachineRecord(
        **own, facts=facts, round_trips=tuple(RoundTrip(**trip) for trip in entries if trip)
    )


def _values(entry: Mapping[str, Any], fields: Iterable[SampleField]) -> dict[str, Any] | None:
    """The fields that are there; ``None`` where a required one is missing, or one is no value."""
    values: dict[str, Any] = {}
    for field in fields:
        value = entry.get(field.name)
        if value is None:
            if field.required:
                return None
        elif not _is_of(field.type, value):
            return None
        else:
            values[field.name] = value
    return values


def _is_of(kind: FieldType, value: Any) -> bool:
    if kind is FieldType.TEXT:
        return isinstance(value, str) and is_name(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if kind is FieldType.WHOLE and not isinstance(value, int):
        return False
    # What is no number fails both, and no whole number is too large for it.
    return 0 <= value <= _MOST

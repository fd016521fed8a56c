"""Formats that are only written: what ``--json`` prints, and notes beside files.

Programs read them, so each has a version of its own, which goes up when a field changes its meaning
or goes; a new field leaves it as it is. Files that Penstock reads again say their version in their
own module (:class:`penstock.files.schema.FileModel`).
"""

from __future__ import annotations

from penstock.errors import UnknownNameError
from penstock.files.versions import FormatVersion

_VERSIONS = {
    "advice": 1,
    "certified": 1,
    "changes": 1,
    "comparison": 1,
    "component-explanation": 1,
    "doctor": 1,
    "dry-run": 1,
    "error": 1,
    "examples": 1,
    "explanation": 1,
    "fingerprint": 1,
    "history": 1,
    "imported": 1,
    "lab": 1,
    "lab-demo": 1,
    "load-curve": 1,
    "machine-explanation": 1,
    "measured": 1,
    "no-plan": 1,
    "overload": 1,
    "rehearsal": 1,
    "run": 1,
    "schedulers": 1,
    "seen": 1,
    "standing": 1,
    "store": 1,
    "store-compaction": 1,
    "store-expiry": 1,
    "sweep-results": 1,
    "validation": 1,
    "watch-event": 1,
}
ANSWER_FORMATS = {
    name: FormatVersion(f"penstock/{name}", version) for name, version in _VERSIONS.items()
}


def answer_head(name: str) -> dict[str, object]:
    """How an answer in a format begins: its format and version."""
    if name not in ANSWER_FORMATS:
        raise UnknownNameError("format of an answer", name, tuple(ANSWER_FORMATS))
    return ANSWER_FORMATS[name].head

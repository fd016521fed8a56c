"""How much of each kind of work a machine does."""

from __future__ import annotations

from penstock.calibration.fingerprint import Fingerprint, KernelSpeed
from penstock.planning.numbers import percent, plain
from penstock.report.page import Column, Document, Section, field_list, table_of


def fingerprint_page(taken: Fingerprint) -> Document:
    """Work per second of CPU, on one core and on each of all cores at once."""
    table = table_of(
        taken.speeds,
        (Column("work"), lambda s: s.kind.replace("_", " ")),
        (Column("per s of CPU, one core", right=True), lambda s: plain(s.one_per_s, 4)),
        (Column("standard error", right=True), lambda s: percent(s.one_error / s.one_per_s)),
        (Column("each of all cores", right=True), lambda s: plain(s.all_per_s, 4)),
        (Column("of one alone", right=True), lambda s: percent(s.all_per_s / s.one_per_s)),
    )
    worth = f"{plain(taken.cores_worth, 3)} cores alone"
    fields = field_list({"processors": str(taken.processors), "together worth": worth})
    return Document("", (Section("", (table,)), Section("", (fields,))))


def fingerprint_dict(taken: Fingerprint) -> dict[str, object]:
    """The same for programs."""
    return {
        "processors": taken.processors,
        "cores_worth": taken.cores_worth,
        "speeds": [_speed_dict(speed) for speed in taken.speeds],
    }


def _speed_dict(speed: KernelSpeed) -> dict[str, object]:
    return {
        "kind": speed.kind,
        "one_per_s": speed.one_per_s,
        "one_error": speed.one_error,
        "all_per_s": speed.all_per_s,
    }

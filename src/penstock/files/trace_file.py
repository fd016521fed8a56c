"""A recorded rate over time: CSV lines of a second and the tuples/s from then on."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from penstock.errors import Finding, InputError, shown
from penstock.files.document import read_plain_text

_MOST_FINDINGS = 10


def read_trace(path: Path) -> tuple[tuple[float, float], ...]:
    """(second, tuples/s) in order, the first at 0; a first line of words is a heading."""
    levels: list[tuple[float, float]] = []
    findings: list[Finding] = []
    for number, line in enumerate(read_plain_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        numbers = [_number(cell) for cell in cells]
        if number == 1 and all(value is None for value in numbers):
            continue
        if len(cells) != 2 or any(value is None for value in numbers):
            message = f"must be a second and tuples/s with a comma between, not {shown(line)}"
            findings.append(Finding(message, str(path), number))
        elif levels and float(numbers[0] or 0.0) <= levels[-1][0]:
            findings.append(Finding("is not later than the line before", str(path), number))
        else:
            levels.append((float(numbers[0] or 0.0), float(numbers[1] or 0.0)))
        if len(findings) >= _MOST_FINDINGS:
            break
    if not levels and not findings:
        findings.append(Finding("holds no rates", str(path)))
    if findings:
        raise InputError(*findings)
    if levels[0][0] > 0:
        levels.insert(0, (0.0, 0.0))
    return tuple(levels)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None

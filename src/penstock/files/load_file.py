"""A recorded load: CSV lines of a time and a rate, at even distances."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from penstock.errors import Finding, InputError, shown
from penstock.files.document import read_plain_text
from penstock.model.arrays import FloatVector

_MOST_FINDINGS = 10
_SECONDS = {"s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
#: A heading such as ``events_per_5min`` says what the numbers are.
_HEADING = re.compile(r".*?per_?(?P<number>[0-9]*)(?P<unit>s|second|min|minute|h|hour)$")
#: Times may be so far off the grid, as a part of the step.
_OFF = 0.01
_LONGEST_STEP_S = 86_400.0
_SHORTEST_STEP_S = 1e-3
#: As with dates, the year 9999.
_LATEST_S = 253_402_300_800.0
#: Lines may be missing, but not so many that what stands for them fills the memory.
_MOST_STEPS = 10_000_000
_HIGHEST, _MOST_DIGITS = 1e15, 6


def read_load(path: Path) -> tuple[FloatVector, float]:
    """Rates in tuples/s and the seconds between two of them.

    Times are seconds or dates (``2019-07-01 00:05:00``). Where lines are missing, the rate before
    goes on: what is missing is not zero; of two lines
    for one time the later counts. A heading such as ``events_per_5min`` says the unit;
    without one, rates are per second.
    """
    times: list[float] = []
    values: list[float] = []
    findings: list[Finding] = []
    unit_s = 1.0
    for number, line in enumerate(read_plain_text(path).splitlines(), start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip():
            continue
        if number == 1 and len(cells) == 2 and _value(cells[1]) is None:
            unit_s = _unit_s(cells[1])
            if unit_s <= 0:
                message = f"no rate is counted in such a time: {shown(cells[1])}"
                findings.append(Finding(message, str(path), number))
                unit_s = 1.0
            continue
        time_s = _time_s(cells[0])
        value = _value(cells[1]) if len(cells) == 2 else None
        if time_s is None or value is None:
            message = f"must be a time and a rate with a comma between, not {shown(line)}"
            findings.append(Finding(message, str(path), number))
        elif times and time_s == times[-1]:
            values[-1] = value / unit_s
        elif times and time_s < times[-1]:
            findings.append(Finding("is earlier than the line before", str(path), number))
        else:
            times.append(time_s)
            values.append(value / unit_s)
        if len(findings) >= _MOST_FINDINGS:
            break
    if len(times) < 2 and not findings:
        findings.append(Finding("holds fewer than two rates", str(path)))
    if findings:
        raise InputError(*findings)
    return _on_grid(np.array(times), np.array(values), path)


def _on_grid(times: FloatVector, values: FloatVector, path: Path) -> tuple[FloatVector, float]:
    """The rates at even distances, that of most lines."""
    step_s = float(np.median(np.diff(times)))
    at = (times - times[0]) / max(step_s, _SHORTEST_STEP_S)
    is_even = np.abs(at - np.round(at)).max() <= _OFF
    if not (_SHORTEST_STEP_S <= step_s <= _LONGEST_STEP_S and is_even):
        message = f"times must be at even distances; most are {step_s:g} s apart, not all"
        raise InputError(Finding(message, str(path)))
    if at[-1] > _MOST_STEPS:
        message = f"covers {at[-1]:,.0f} steps of {step_s:g} s; at most {_MOST_STEPS:,} are read"
        raise InputError(Finding(message, str(path)))
    place = np.round(at).astype(np.int64)
    rates = values[np.searchsorted(place, np.arange(place[-1] + 1), side="right") - 1]
    if not rates.max() > 0:
        raise InputError(Finding("no rate is above zero", str(path)))
    return rates, step_s


def _unit_s(heading: str) -> float:
    unit = _HEADING.match(heading.lower())
    if unit is None:
        return 1.0
    number = unit["number"] or "1"
    return int(number) * _SECONDS[unit["unit"]] if len(number) <= _MOST_DIGITS else 0.0


def _time_s(text: str) -> float | None:
    value = _value(text)
    if value is not None:
        return value if value < _LATEST_S else None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= _HIGHEST else None

"""Why a record is set aside. The quarantine table carries one of these and the field concerned."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    # The line itself.
    TOO_LONG = "line too long"
    NOT_UTF8 = "not UTF-8"
    NOT_JSON = "not JSON"
    NOT_AN_OBJECT = "not an object"
    NOT_METRICS = "not a line of metrics"
    CUT_OFF = "cut off by the end of the file"
    # The file: one record stands for all that could not be read.
    UNREADABLE_FILE = "file cannot be read"
    # Its fields.
    UNKNOWN_VERSION = "unknown version"
    MISSING_FIELD = "missing field"
    NO_MACHINE_TYPE = "no machine type"
    WRONG_TYPE = "wrong type"
    EMPTY_NAME = "empty name"
    NOT_FINITE = "not a finite number"
    NEGATIVE = "negative number"
    OUT_OF_RANGE = "out of range"
    BAD_ENTRY = "bad input or output entry"
    UNKNOWN_COUNTERS = "unknown kind of counters"
    # Its time.
    TIME_UNIT = "time not in milliseconds"
    TOO_OLD = "before the year 2000"
    EXPIRED = "older than the retention"
    FUTURE = "in the future"
    BAD_WINDOW = "impossible window"
    # Against other figures and records.
    IMPOSSIBLE_CPU = "impossible CPU"
    DUPLICATE = "duplicate"
    CONFLICT = "contradicts another record"


#: A line beyond this is noise or an attack, not a sample.
LONGEST_LINE = 1_000_000
#: No window is longer than a day.
LONGEST_WINDOW_MS = 86_400_000
#: 2000-01-01; a time in seconds lies before it when read as milliseconds.
EARLIEST_MS = 946_684_800_000
#: Year 2200 in milliseconds; beyond it the unit is micro- or nanoseconds.
LATEST_MS = 7_258_118_400_000
#: 10,000 cores; more is a broken counter.
MOST_CPU_POINTS = 1_000_000.0
#: Numbers from here on do not fit into 64 bits, and no counter counts that far.
TOO_LARGE = 2.0**63
#: Clocks differ, and hosts may stand in a wrong time zone.
AHEAD_MS = 86_400_000
#: More tasks in one executor are a broken record.
MOST_TASKS = 10_000
#: Largest values of numbers that have one.
LARGEST = {
    "queue_fill": 1.0,
    "held_back": 1.0,
    "sample_rate": 1.0,
    "cpu_points": MOST_CPU_POINTS,
    "worker_cpu_points": MOST_CPU_POINTS,
}

"""Machine records that nobody's agent wrote: left out and counted, whatever they hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.files.machine_records import read_machine_records

SOUND = {
    "record": "machine", "version": 1, "time_ms": 1_700_000_000_000, "window_ms": 60_000,
    "machine": "m1", "host": "m1", "cores": 4, "ghz": 3.0, "busy_points": 12.5,
    "round_trips": [{"machine": "m2", "sent": 6, "lost": 0, "median_ms": 0.2}],
}  # fmt: skip
#: As they stand in JSON: beyond 64 bits, beyond floats, none at all, other types.
NUMBERS = (
    "1" + "0" * 25, "-1" + "0" * 25, "1" + "0" * 400, "9" * 4300, "9" * 5000, "1e30", "1e999",
    "-1e999", "NaN", "Infinity", "true", '"1"', "[1]", "{}",
)  # fmt: skip


@pytest.mark.parametrize("field", ["time_ms", "window_ms", "cores", "ghz", "busy_points"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: n[:12])
def test_a_number_that_is_none_or_beyond_all_is_left_out(tmp_path: Path, field, number):
    wrong = json.dumps({**SOUND, field: "HERE"}).replace('"HERE"', number)
    path = tmp_path / "_machine-m1.jsonl"
    path.write_text(f"{wrong}\n{json.dumps(SOUND)}\n")
    found = read_machine_records([tmp_path])
    assert ([r.time_ms for r in found.records], found.unreadable) == ([SOUND["time_ms"]], 1)


@pytest.mark.parametrize("field", ["sent", "lost", "median_ms"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: n[:12])
def test_of_round_trips_too(tmp_path: Path, field, number):
    trip = {**SOUND["round_trips"][0], field: "HERE"}
    line = json.dumps({**SOUND, "round_trips": [trip]}).replace('"HERE"', number)
    (tmp_path / "_machine-m1.jsonl").write_text(f"{line}\n{json.dumps(SOUND)}\n")
    trips = [r.round_trips for r in read_machine_records([tmp_path]).records]
    # Without the trip, or without the record where the line is no JSON at all.
    assert trips in ([(), trips[-1]], [trips[-1]])
    assert len(trips[-1]) == 1

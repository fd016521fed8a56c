"""A table as one file: all rows, whole or not at all, in memory that does not grow."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.telemetry.stores import commit, samples, write_part

from penstock.app.stores import export_table
from penstock.errors import InputError, UsageError
from penstock.telemetry import store_export
from penstock.telemetry.slots.keys import hour_start
from penstock.telemetry.store_reader import read_table

HOURS = [f"2026-01-01-{hour:02d}" for hour in range(3)]
_PEAK = """
import sys
from pathlib import Path
import pyarrow as pa
from penstock.app.stores import export_table
export_table(sys.argv[1], "streams", Path(sys.argv[2]))
print(pa.default_memory_pool().max_memory())
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tables"
    parts = {f"{h}/b": write_part(root, "samples", h, samples(n), h) for n, h in enumerate(HOURS)}
    rows = [{"raw": b"\xff{\n", "reason": "not UTF-8"}, {"raw": "größe".encode(), "reason": "x"}]
    aside = write_part(root, "quarantine", "aside", rows, "b")
    odd = write_part(root, "streams", HOURS[0], [{"bytes": float("nan")}, {"bytes": 2.5}], "1")
    commit(
        root,
        {"samples": parts, "quarantine": {"aside/b": aside}, "streams": {HOURS[0]: odd}},
    )
    return root


def test_parquet_holds_the_table_as_a_reader_has_it(root, tmp_path):
    assert export_table(root, "samples", tmp_path / "s.parquet") == 3
    assert pq.read_table(tmp_path / "s.parquet").equals(read_table(root, "samples"))


def test_json_lines_are_one_object_to_a_row(root, tmp_path):
    export_table(root, "samples", tmp_path / "s.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text("utf-8").splitlines()]
    assert rows == read_table(root, "samples").to_pylist()
    export_table(root, "quarantine", tmp_path / "q.ndjson")
    lines = (tmp_path / "q.ndjson").read_text("utf-8").splitlines()
    assert [json.loads(line)["raw"] for line in lines] == ["\\xff{\n", "größe"]


def test_what_json_has_no_number_for_is_null(root, tmp_path):
    export_table(root, "streams", tmp_path / "r.jsonl")
    lines = (tmp_path / "r.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["bytes"] for line in lines] == [None, 2.5]


def test_csv_has_a_line_of_names_and_lists_as_json(root, tmp_path):
    export_table(root, "samples", tmp_path / "s.csv")
    with (tmp_path / "s.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["task"], row["topology"], row["time_ms"]) for row in rows] == [
        (str(n), "größe", str(hour_start(hour))) for n, hour in enumerate(HOURS)
    ]
    assert json.loads(rows[0]["inputs"])[0]["component"] == "a"
    assert rows[0]["outputs"] == ""


def test_a_table_without_rows_is_a_file_with_its_columns(root, tmp_path):
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        assert export_table(root, "traffic", tmp_path / name) == 0
    assert "source_task" in (tmp_path / "t.csv").read_text()
    assert pq.read_table(tmp_path / "t.parquet").num_rows == 0
    assert (tmp_path / "t.jsonl").read_bytes() == b""


def test_progress_is_in_rows(root, tmp_path, monkeypatch):
    monkeypatch.setattr(store_export, "_BATCH_ROWS", 1)
    seen = []
    export_table(root, "samples", tmp_path / "s.csv", lambda done, total: seen.append(done / total))
    assert seen == pytest.approx([1 / 3, 2 / 3, 1])


def test_what_fails_leaves_the_file_that_was_there(root, tmp_path, monkeypatch):
    target = tmp_path / "s.csv"
    target.write_text("as it was")
    monkeypatch.setattr(store_export, "_text", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_table(root, "samples", target)
    assert target.read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_where_and_as_what_it_cannot_be_written_is_said(root, tmp_path):
    with pytest.raises(UsageError, match=r"end it in \.parquet, \.csv, \.jsonl, \.ndjson"):
        export_table(root, "samples", tmp_path / "s.xlsx")
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        export_table(root, "samples", tmp_path / "nowhere" / "s.csv")


@pytest.mark.slow
def test_ten_times_the_table_takes_the_same_memory(tmp_path):
    def peak(hours: int) -> int:
        root = tmp_path / str(hours)
        rows = [{"task": n, "component": f"c{n}", "rate": n / 7} for n in range(20_000)]
        days = [f"2026-01-01-{hour:02d}" for hour in range(hours)]
        commit(root, {"streams": {h: write_part(root, "streams", h, rows, h) for h in days}})
        command = [sys.executable, "-c", _PEAK, str(root), str(tmp_path / f"{hours}.csv")]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    # Held at once would be 10 times as much.
    assert peak(20) < 2 * peak(2)

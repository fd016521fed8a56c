"""Tables read without Spark: one commit, each row once, whole however long it takes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from tests.telemetry.stores import (
    commit,
    files_below,
    samples,
    tasks_in,
    write_file,
    write_part,
)

from penstock.errors import InputError, UnknownNameError
from penstock.telemetry.local_store import LocalStore
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.store_reader import open_store, read_table, table_files
from penstock.telemetry.writer_lock import StoreBusyError

H0, H1 = "2026-01-01-00", "2026-01-01-01"
_READER = """
import sys
from penstock.telemetry.store_reader import open_store
with open_store(sys.argv[1]) as store:
    print(store.manifest.number, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two hours of streams; the second was computed again, with a late task."""
    root = tmp_path / "tables"
    first = write_part(root, "streams", H0, [{"task": 1}], "1")
    old = write_part(root, "streams", H1, [{"task": 1}], "1")
    commit(root, {"streams": {H0: first, H1: old}})
    new = write_part(root, "streams", H1, [{"task": 1}, {"task": 2}], "2")
    commit(root, {"streams": {H1: new}})
    return root


def again(root: Path, number: int) -> Manifest:
    """A commit in which the second hour is computed once more, to other tasks."""
    return commit(
        root,
        {"streams": {H1: write_part(root, "streams", H1, [{"task": number}], f"again{number}")}},
    )


def test_an_hour_that_was_computed_again_counts_once(root):
    # In the folders there are 4 rows: the hour as it was first is kept for readers of that commit.
    assert pads.dataset(root / "streams", format="parquet").count_rows() == 4
    assert tasks_in(root, "streams") == [(H0, 1), (H1, 1), (H1, 2)]
    frame = read_table(root, "streams").to_pandas()
    assert list(frame["hour"]) == [H0, H1, H1]


def test_duckdb_reads_the_same_rows_from_the_list_of_files(root):
    assert len(table_files(root, "streams")) == 2
    files = duckdb.read_parquet(table_files(root, "streams"), hive_partitioning=True)
    assert files.project("hour, task").order("hour, task").fetchall() == tasks_in(root, "streams")


def test_a_part_may_be_one_file_and_have_its_hour_inside(root):
    commit(root, {"streams": {f"{H1}-10": write_file(root, "streams", H1, [{"task": 9}], "9")}})
    assert sorted(tasks_in(root, "streams")) == [(H0, 1), (H1, 1), (H1, 2), (H1, 9)]


def test_from_within_its_folder_a_store_is_the_same(root, monkeypatch):
    before = tasks_in(root, "streams")
    monkeypatch.chdir(root)
    assert tasks_in(Path(), "streams") == before


def test_a_file_that_two_keys_share_is_read_once(root):
    path = write_file(root, "streams", H1, [{"task": 9}], "9")
    commit(root, {"streams": {f"{H1}-10": path, f"{H1}-20": path}})
    assert [task for _, task in tasks_in(root, "streams")].count(9) == 1


def test_columns_and_rows_can_be_chosen(root):
    some = read_table(root, "streams", ["task"], pc.field("hour") == H1)
    assert some.to_pydict() == {"task": [1, 2]}


def test_lists_of_inputs_and_bytes_come_as_they_are(root):
    taken = write_part(root, "samples", H0, samples(7), "b")
    aside = write_part(root, "quarantine", "aside", [{"raw": b"\xff{", "reason": "not JSON"}], "b")
    commit(root, {"samples": {f"{H0}/b": taken}, "quarantine": {"aside/b": aside}})
    (row,) = read_table(root, "samples").to_pylist()
    assert (row["topology"], row["inputs"][0]["tuples"], row["task"]) == ("größe", 3.0, 7)
    (row,) = read_table(root, "quarantine").to_pylist()
    assert (row["raw"], row["hour"]) == (b"\xff{", "aside")


def test_a_table_without_rows_has_its_columns(root):
    assert read_table(root, "traffic").num_rows == 0
    assert "tuples_per_s" in read_table(root, "traffic").column_names
    assert table_files(root, "traffic") == []


# -- readers at work ---------------------------------------------------------------------------


def test_a_reader_sees_its_commit_however_many_follow(root):
    with open_store(root) as store:
        for number in range(10, 15):
            again(root, number)
        assert store.read("streams", ["task"]).to_pydict() == {"task": [1, 1, 2]}
        assert store.manifest.number == 2
    assert tasks_in(root, "streams") == [(H0, 1), (H1, 14)]
    again(root, 15)
    # Nobody reads it any more. The first hour still counts.
    assert not (root / "streams" / "part=2").exists()
    assert (root / "streams" / "part=1").exists()
    assert not (root / "manifest" / "00000002.json").exists()


def test_a_list_of_files_is_good_until_the_third_commit_from_then(root):
    files = [Path(name) for name in table_files(root, "streams")]
    for number in (10, 11):
        again(root, number)
        assert all(file.exists() for file in files)
    again(root, 12)
    assert [file.exists() for file in files] == [True, False]


def test_a_reader_that_was_killed_holds_nothing(root):
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _READER, str(root)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "2\n"
        for number in range(10, 14):
            again(root, number)
        assert (root / "streams" / "part=2").exists()
        reader.send_signal(signal.SIGKILL)
        reader.wait(60)
    again(root, 14)
    assert not (root / "streams" / "part=2").exists()


def test_a_run_that_crashed_leaves_nothing_after_the_next_commit(root):
    write_part(root, "streams", H0, [{"task": 99}], "crashed")
    write_part(root, "traffic", H0, [], "crashed")
    before = tasks_in(root, "streams")
    again(root, 10)
    assert not (root / "streams" / "part=crashed").exists()
    assert not (root / "traffic" / "part=crashed").exists()
    assert before == [(H0, 1), (H1, 1), (H1, 2)]


def test_of_two_that_commit_at_once_the_second_is_refused_and_changes_nothing(root):
    mine, theirs = LocalStore(root).manifest(), LocalStore(root).manifest()
    LocalStore(root).commit(mine.with_facts(of="mine"))
    with pytest.raises(StoreBusyError, match="another run wrote to"):
        LocalStore(root).commit(theirs.with_facts(of="theirs"))
    assert LocalStore(root).manifest().facts == {"of": "mine"}
    assert not list((root / "manifest").glob(".draft*"))


def test_a_checksum_of_an_earlier_file_of_that_name_goes(root):
    # Hadoop would hold the new manifest against it, and call it broken.
    stale = root / "manifest" / ".00000003.json.crc"
    stale.write_bytes(b"crc\0")
    commit(root, {})
    assert not stale.exists()


# -- what is no store --------------------------------------------------------------------------


def test_what_is_no_store_is_said(root, tmp_path):
    with pytest.raises(InputError, match="is not a telemetry store: it has no commit"):
        read_table(tmp_path, "streams")
    with pytest.raises(InputError, match="nowhere: no such folder"):
        read_table(tmp_path / "nowhere", "streams")
    with pytest.raises(InputError, match="is not in a folder of this machine; Spark reads such"):
        read_table("s3a://bucket/tables", "streams")
    with pytest.raises(UnknownNameError, match='no table in the store "trafic"; did you mean "tra'):
        read_table(root, "trafic")
    assert read_table(f"file://{root}", "streams").num_rows == 3


def test_a_part_that_somebody_deleted_is_named(root):
    (file,) = files_below(root, "streams/part=2")
    (root / file).unlink()
    (root / file).parent.rmdir()
    with pytest.raises(InputError, match="hour=2026-01-01-01: is named by a commit of the store"):
        read_table(root, "streams")


def test_a_store_of_a_newer_version_is_refused(root):
    path = root / "manifest" / "00000002.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    with pytest.raises(InputError, match="99 is newer than this Penstock"):
        read_table(root, "streams")


def test_a_broken_manifest_says_how_to_go_back(root):
    path = root / "manifest" / "00000002.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(InputError, match="is cut or broken; delete it to go back"):
        read_table(root, "streams")
    path.unlink()
    assert tasks_in(root, "streams") == [(H0, 1), (H1, 1)]

"""Small files become one: the same rows, whatever happens in between, nobody disturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.telemetry.stores import (
    commit,
    files_below,
    samples,
    tasks_in,
    write_file,
    write_part,
)

from penstock.app.stores import compact_store
from penstock.telemetry import compaction
from penstock.telemetry.compaction import MergedFiles
from penstock.telemetry.local_store import LocalStore
from penstock.telemetry.part_files import PartFile
from penstock.telemetry.store_reader import open_store, read_table

H0, H1 = "2026-01-01-00", "2026-01-01-01"
_COMPACT = """
import sys
from penstock.app.stores import compact_store
print("begun", flush=True)
compact_store(sys.argv[1])
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three batches over two hours, and rates of each hour in three files."""
    root = tmp_path / "tables"
    parts: dict[str, dict[str, str]] = {"samples": {}, "streams": {}}
    for batch in range(3):
        for hour in (H0, H1):
            rows = samples(10 * batch, 10 * batch + 1)
            path = write_part(root, "samples", hour, rows, f"b{batch}", files=2)
            parts["samples"][f"{hour}/b{batch}"] = path
            (root / "samples" / f"part=b{batch}" / f"hour={hour}" / "_SUCCESS").touch()
    for hour in (H0, H1):
        rates = [{"task": task} for task in range(6)]
        parts["streams"][hour] = write_part(root, "streams", hour, rates, "1", files=3)
    commit(root, parts, pending=[H1])
    return root


def test_batches_of_an_hour_become_one_file_with_the_same_rows(root):
    before, streams = read_table(root, "samples"), read_table(root, "streams")
    result = compact_store(root)
    assert result.tables == {"samples": MergedFiles(12, 2), "streams": MergedFiles(6, 2)}
    assert (result.files_before, result.files_after, result.commit) == (18, 4, 2)
    order = [("time_ms", "ascending"), ("task", "ascending")]
    by_hour = [("hour", "ascending"), ("task", "ascending")]
    assert read_table(root, "samples").sort_by(order).equals(before.sort_by(order))
    assert read_table(root, "streams").sort_by(by_hour).equals(streams.sort_by(by_hour))
    manifest = LocalStore(root).manifest()
    assert [key.partition("/")[0] for key in sorted(manifest.parts["samples"])] == [H0, H1]
    # What is computed again is replaced by its key: that stays.
    assert sorted(manifest.parts["streams"]) == [H0, H1]
    assert manifest.facts == {"pending": [H1]}


def test_the_old_files_go_when_nobody_reads_them(root):
    with open_store(root) as store:
        compact_store(root, delete_now=True)
        assert store.read("samples").num_rows == 12
    commit(root, {})
    LocalStore(root).clean_up(keep=1)
    assert len(files_below(root, "samples")) == 2
    assert len(files_below(root, "streams")) == 2


def test_what_is_one_file_already_stays(root):
    compact_store(root)
    manifest = LocalStore(root).manifest()
    assert compact_store(root).commit is None
    assert LocalStore(root).manifest() == manifest
    # A batch more, and only its hour is written anew.
    path = write_part(root, "samples", H1, samples(99), "b9")
    commit(root, {"samples": {f"{H1}/b9": path}})
    assert compact_store(root).tables == {"samples": MergedFiles(2, 1)}
    assert tasks_in(root).count((H1, 99)) == 1
    assert len(tasks_in(root)) == 13


def test_slots_of_an_hour_stay_apart(root):
    for slot in ("10", "20"):
        for batch in ("x", "y"):
            path = write_file(root, "samples", H0, samples(int(slot)), f"{slot}{batch}")
            commit(root, {"samples": {f"{H0}-{slot}/{batch}": path}})
    before = sorted(tasks_in(root))
    compact_store(root)
    keys = LocalStore(root).manifest().parts["samples"]
    assert sorted(key.partition("/")[0] for key in keys) == [H0, f"{H0}-10", f"{H0}-20", H1]
    assert sorted(tasks_in(root)) == before


def test_what_was_set_aside_keeps_its_age(root):
    at_s = {"old": 1_000_000, "old2": 1_000_700, "new": 5_000_000}
    for name, written_s in at_s.items():
        path = write_part(root, "quarantine", "aside", [{"reason": "r"}], name)
        (file,) = (root / path).iterdir()
        os.utime(file, (written_s, written_s))
        commit(root, {"quarantine": {f"aside/{name}": path}})
    compact_store(root)
    parts = LocalStore(root).manifest().parts["quarantine"]
    written = [file.stat().st_mtime for part in parts.values() for file in (root / part).iterdir()]
    # Those of one hour became one; what came in weeks later will expire weeks later.
    assert sorted(written) == [1_000_700, 5_000_000]
    assert all(key.startswith("aside/") for key in parts)
    assert read_table(root, "quarantine", ["hour"]).to_pydict() == {"hour": ["aside"] * 3}


def test_a_file_that_two_keys_share_is_left_alone(root):
    path = write_file(root, "samples", H0, samples(50), "shared")
    commit(root, {"samples": {f"{H0}/s": path, f"{H0}-50/s": path}})
    before = sorted(tasks_in(root))
    compact_store(root)
    assert LocalStore(root).manifest().parts["samples"][f"{H0}/s"] == path
    assert sorted(tasks_in(root)) == before


def test_files_of_several_row_groups_keep_all_rows(root, monkeypatch):
    monkeypatch.setattr(compaction, "_ROW_GROUP_BYTES", 1)
    before = sorted(tasks_in(root))
    compact_store(root)
    assert sorted(tasks_in(root)) == before


def test_a_merge_that_lost_a_row_is_not_committed(root, monkeypatch):
    whole = compaction.row_groups

    def short(files: tuple[PartFile, ...], schema):
        for table in whole(files, schema):
            yield table.slice(1)

    monkeypatch.setattr(compaction, "row_groups", short)
    with pytest.raises(Exception, match="the store is as it was"):
        compact_store(root)
    assert LocalStore(root).manifest().number == 1


def test_progress_is_in_bytes_and_ends_with_all_of_them(root):
    seen = []
    compact_store(root, lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] > 0


def test_killed_anywhere_it_has_done_all_or_nothing(root):
    rng = random.Random(1)
    before = sorted(tasks_in(root))
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", _COMPACT, str(root)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(rng.uniform(0, 0.3))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait(60)
        process.stdout.close()
        assert sorted(tasks_in(root)) == before
    compact_store(root, delete_now=True)
    assert sorted(tasks_in(root)) == before
    assert len(files_below(root, "samples")) == 2


def test_cut_off_before_the_commit_nothing_has_changed(root, monkeypatch):
    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = LocalStore(root).manifest()
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "commit", cut)
        with pytest.raises(KeyboardInterrupt):
            compact_store(root)
    assert LocalStore(root).manifest() == before
    compact_store(root)
    assert len(tasks_in(root)) == 12

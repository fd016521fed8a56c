"""The run that writes to a store keeps it small, once an hour."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.telemetry.stores import commit, samples, tasks_in, write_part

from penstock.app.store_upkeep import upkeep_of
from penstock.errors import UsageError
from penstock.telemetry.local_store import LocalStore

OLD, NEW = "2026-01-01-00", "2026-01-01-05"
#: 06:00; what is older than three hours is of before 03:00.
NOW_S = datetime(2026, 1, 1, 6, tzinfo=UTC).timestamp()


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "tables"
    for number, hour in enumerate((OLD, NEW, NEW)):
        path = write_part(root, "samples", hour, samples(number), f"b{number}")
        commit(root, {"samples": {f"{hour}/b{number}": path}})
    return root


def test_old_hours_go_small_files_are_merged_and_both_are_told(root):
    told: list[str] = []
    upkeep = upkeep_of(str(root), 3 * 3600, None, told.append)
    upkeep.clock = lambda: NOW_S
    upkeep()
    assert tasks_in(root) == [(NEW, 1), (NEW, 2)]
    assert len(LocalStore(root).manifest().parts["samples"]) == 1
    assert told == ["the store: 1 part expired", "the store: 2 files became 1"]


def test_once_an_hour_is_enough(root):
    told: list[str] = []
    now_s = [NOW_S]
    upkeep = upkeep_of(str(root), 30 * 3600, 3 * 3600, told.append)
    upkeep.clock = lambda: now_s[0]
    upkeep()
    first = LocalStore(root).manifest().number
    path = write_part(root, "samples", NEW, samples(9), "b9")
    commit(root, {"samples": {f"{NEW}/b9": path}})
    now_s[0] += 3599
    upkeep()
    assert LocalStore(root).manifest().number == first + 1
    now_s[0] += 1
    upkeep()
    assert len(LocalStore(root).manifest().parts["samples"]) == 1


def test_a_store_that_is_kept_for_ever_is_left_alone(root):
    upkeep_of(str(root), None, None, print)()
    assert LocalStore(root).manifest().number == 3


@pytest.mark.parametrize(
    ("store", "keep_s", "keep_raw_s", "said"),
    [
        (None, 9.0, None, "--keep goes with --store, in a folder of this machine"),
        ("hdfs://n/tables", 9.0, None, "--keep goes with --store, in a folder of this machine"),
        ("tables", None, 9.0, "--keep-raw goes with --keep"),
        ("tables", 5.0, 9.0, "raw records cannot stay longer"),
    ],
)
def test_what_cannot_be_kept_so_is_said(store, keep_s, keep_raw_s, said):
    with pytest.raises(UsageError, match=said):
        upkeep_of(store, keep_s, keep_raw_s, print)

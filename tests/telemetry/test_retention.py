"""What is too old goes by whole hours, raw records first, and what is gone is remembered."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.telemetry.stores import commit, files_below, samples, tasks_in, write_part

from penstock.app.stores import expire_store
from penstock.errors import UsageError
from penstock.telemetry.local_store import LocalStore
from penstock.telemetry.store_reader import open_store
from penstock.telemetry.writer_lock import StoreBusyError, writing_to

HOUR_S = 3600
HOURS = [f"2026-01-01-{hour:02d}" for hour in range(6)]
#: 06:30, half an hour after the last hour.
NOW_S = datetime(2026, 1, 1, 6, 30, tzinfo=UTC).timestamp()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six hours of samples and rates, one record set aside in the first and in the last."""
    root = tmp_path / "tables"
    parts: dict[str, dict[str, str]] = {"samples": {}, "streams": {}, "quarantine": {}}
    for number, hour in enumerate(HOURS):
        parts["samples"][f"{hour}/b"] = write_part(root, "samples", hour, samples(number), hour)
        parts["streams"][hour] = write_part(root, "streams", hour, [{"task": number}], "1")
    for number, age_h in (("early", 6), ("late", 1)):
        rows = [{"raw": b"{", "reason": "not JSON"}]
        path = write_part(root, "quarantine", "aside", rows, number)
        parts["quarantine"][f"aside/{number}"] = path
        for file in (root / path).iterdir():
            os.utime(file, (NOW_S - age_h * HOUR_S,) * 2)
    parts["profile"] = {"00000009": write_part(root, "profile", "x", [], "9")}
    commit(root, parts, batches={"b": {"records": 8, "aside": 2}})
    return root


def expire(root: Path, older_h: float, raw_h: float | None = None, **options: bool):
    raw_s = None if raw_h is None else raw_h * HOUR_S
    return expire_store(root, older_h * HOUR_S, raw_s, clock=lambda: NOW_S, **options)


def hours(root: Path, table: str) -> list[str]:
    return [hour for hour, _ in tasks_in(root, table)]


def test_raw_records_go_before_the_tables_made_of_them(root):
    # 2 h before 06:30 is in the hour of 04: that is the first to stay. 4 h before: 02.
    result = expire(root, 4, 2)
    assert hours(root, "samples") == HOURS[4:]
    assert hours(root, "streams") == HOURS[2:]
    expected = [("quarantine", 1, "", ""), ("samples", 4, HOURS[0], HOURS[3]),
                ("streams", 2, HOURS[0], HOURS[1])]  # fmt: skip
    assert expected == sorted((t.table, t.parts, t.first_hour, t.last_hour) for t in result.tables)
    assert "profile" in LocalStore(root).manifest().parts


def test_the_horizon_is_of_raw_records_and_only_goes_forward(root):
    four = datetime(2026, 1, 1, 4, tzinfo=UTC).timestamp() * 1000
    assert expire(root, 4, 2).horizon_ms == four
    assert LocalStore(root).manifest().facts["expired_before_ms"] == four
    assert expire(root, 3, 3).horizon_ms == four
    assert LocalStore(root).manifest().facts["expired_before_ms"] == four


def test_what_was_set_aside_is_as_old_as_its_files_and_stays_in_the_count(root):
    result = expire(root, 4, 2)
    assert result.set_aside == {"not JSON": 1}
    manifest = LocalStore(root).manifest()
    assert list(manifest.parts["quarantine"]) == ["aside/late"]
    assert manifest.facts["expired_aside"] == {"not JSON": 1}
    for file in (root / manifest.parts["quarantine"]["aside/late"]).iterdir():
        os.utime(file, (0, 0))
    expire(root, 4, 2)
    assert LocalStore(root).manifest().facts["expired_aside"] == {"not JSON": 2}


def test_what_is_young_leaves_the_store_as_it_is(root):
    result = expire(root, 24)
    assert (result.tables, result.commit, result.horizon_ms) == ((), None, None)
    assert LocalStore(root).manifest().number == 1


def test_a_dry_run_says_the_same_and_changes_nothing(root):
    before = files_below(root, "samples")
    with writing_to(root):
        would = expire(root, 4, 2, dry_run=True)
    assert LocalStore(root).manifest().number == 1
    assert files_below(root, "samples") == before
    did = expire(root, 4, 2)
    assert (would.tables, would.horizon_ms) == (did.tables, did.horizon_ms)
    assert (would.commit, did.commit) == (None, 2)


def test_records_that_no_table_was_made_of_yet_stay(root):
    commit(root, {}, pending=[HOURS[0]])
    result = expire(root, 4, 2)
    assert result.waiting == (HOURS[0],)
    assert hours(root, "samples") == [HOURS[0], *HOURS[4:]]
    # As with slots of ten minutes.
    commit(root, {}, pending=[f"{HOURS[4]}-10"])
    slot = write_part(root, "samples", HOURS[4], samples(9), "slot")
    commit(root, {"samples": {f"{HOURS[4]}-10/b": slot}})
    assert expire(root, 1).waiting == (HOURS[4],)


def test_totals_keep_the_hour_before_the_first_that_may_be_computed_again(root):
    commit(root, {}, totals=True)
    result = expire(root, 4, 2)
    assert hours(root, "samples") == HOURS[3:]
    assert result.horizon_ms == datetime(2026, 1, 1, 4, tzinfo=UTC).timestamp() * 1000


def test_files_go_with_the_second_commit_after_or_at_once(root):
    expire(root, 4, 2)
    assert len(files_below(root, "samples")) == 6
    commit(root, {})
    assert len(files_below(root, "samples")) == 6
    commit(root, {})
    assert len(files_below(root, "samples")) == 2
    expire(root, 1, delete_now=True)
    assert len(files_below(root, "samples")) == 1


def test_at_once_still_means_after_whoever_reads_it(root):
    with open_store(root) as store:
        expire(root, 4, 2, delete_now=True)
        assert store.read("samples").num_rows == 6
    # Nothing is old any more, and what was waited for goes.
    assert expire(root, 4, 2, delete_now=True).commit is None
    assert len(files_below(root, "samples")) == 2


def test_somebody_who_writes_is_not_disturbed(root):
    with writing_to(root), pytest.raises(StoreBusyError, match="writes to"):
        expire(root, 4, 2)
    assert LocalStore(root).manifest().number == 1


def test_raw_records_that_outlive_their_tables_make_no_sense(root):
    with pytest.raises(UsageError, match="raw records cannot stay longer"):
        expire(root, 2, 4)

"""``penstock store``: what a store holds, its tables for others, and its upkeep."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from tests.telemetry.stores import commit, samples, tasks_in, write_part

from penstock.telemetry.writer_lock import writing_to


@pytest.fixture
def tables(tmp_path):
    """``tables``: an hour of two days ago in two batches, an hour of now, one record set aside."""
    root = tmp_path / "tables"
    parts = {"samples": {}, "streams": {}}
    for age_s, tasks in ((2 * 86_400, (1, 2)), (0, (3,))):
        hour = datetime.fromtimestamp(time.time() - age_s, UTC).strftime("%Y-%m-%d-%H")
        for task in tasks:
            path = write_part(root, "samples", hour, samples(task), f"b{task}")
            parts["samples"][f"{hour}/b{task}"] = path
        parts["streams"][hour] = write_part(
            root, "streams", hour, [{"task": t} for t in tasks], "9"
        )
    aside = write_part(root, "quarantine", "aside", [{"reason": "not JSON"}], "b")
    parts["quarantine"] = {"aside/b": aside}
    commit(root, parts, records=4)
    return root


def test_the_list_has_rows_hours_and_what_was_set_aside(run, tables):
    code, out, _ = run("store list tables")
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines()[1:4]] == [
        ["quarantine", "1", "1"], ["samples", "3", "3"], ["streams", "3", "2"],
    ]  # fmt: skip
    assert "4 taken in, 1 set aside" in out
    assert "1 not JSON" in out


def test_the_list_as_json(run, tables):
    code, out, _ = run("store list tables --json")
    listed = json.loads(out)
    assert (code, listed["format"], listed["commit"]) == (0, "penstock/store", 1)
    assert (listed["records"], listed["set_aside"]) == (4, {"not JSON": 1})
    by_name = {table["name"]: table for table in listed["tables"]}
    assert (by_name["samples"]["rows"], by_name["samples"]["files"]) == (3, 3)
    assert by_name["samples"]["size_bytes"] > 0
    assert by_name["samples"]["first_hour"] < by_name["samples"]["last_hour"]
    assert by_name["quarantine"]["first_hour"] is None
    assert listed["expired_before_ms"] is None


def test_files_are_printed_one_to_a_line(run, tables):
    code, out, _ = run("store files tables streams")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert all(line.endswith(".parquet") for line in out.splitlines())


def test_a_table_is_exported(run, tables, tmp_path):
    code, _, err = run("store export tables streams -o streams.csv")
    assert (code, err) == (0, "wrote 3 rows to streams.csv\n")
    assert len((tmp_path / "streams.csv").read_text().splitlines()) == 4


def test_old_hours_go_and_a_dry_run_shows_which(run, tables):
    code, out, _ = run("store expire tables --older-than 30d --raw-older-than 1d --dry-run")
    assert code == 0
    assert "would go" in out
    assert len(tasks_in(tables)) == 3
    code, out, err = run("store expire tables --older-than 30d --raw-older-than 1d --json")
    answer = json.loads(out)
    assert (code, answer["format"], answer["commit"]) == (0, "penstock/store-expiry", 2)
    assert [(t["table"], t["parts"]) for t in answer["tables"]] == [("samples", 2)]
    assert "commit 2; the files it replaces go with the second commit from now" in err
    assert len(tasks_in(tables)) == 1
    assert len(tasks_in(tables, "streams")) == 3
    code, out, _ = run("store list tables")
    assert "expired" in out
    code, out, _ = run("store expire tables --older-than 30d")
    assert (code, out) == (0, "Nothing is that old.\n")


def test_small_files_are_merged(run, tables):
    code, out, err = run("store compact tables --delete-now")
    assert code == 0
    assert ["samples", "2", "1"] in [line.split() for line in out.splitlines()]
    assert "the files it replaces are deleted" in err
    assert len(tasks_in(tables)) == 3
    assert run("store compact tables")[1] == "Nothing to merge.\n"
    assert json.loads(run("store compact tables --json")[1])["commit"] is None


def test_what_was_merged_as_json(run, tables):
    code, out, _ = run("store compact tables --json")
    answer = json.loads(out)
    assert (code, answer["format"], answer["commit"]) == (0, "penstock/store-compaction", 2)
    assert answer["tables"] == {"samples": {"files_before": 2, "files_after": 1}}
    assert answer["bytes_before"] > 0


@pytest.mark.parametrize(
    ("command", "exit_code", "said"),
    [
        ("store list nowhere", 1, "error: nowhere: no such folder"),
        ("store list .", 1, "error: .: is not a telemetry store: it has no commit"),
        ("store list hdfs://n/t", 1, "is not in a folder of this machine; Spark reads such"),
        ("store files tables trafic", 1, 'did you mean "traffic"?'),
        ("store export tables streams -o streams.txt", 2, "cannot tell by its name"),
        ("store expire tables --older-than month", 2, "--older-than takes a time such as 90s"),
        ("store expire tables --older-than 1d --raw-older-than 2d", 2, "cannot stay longer"),
        ("store expire tables --older-than 1d --dry-run --delete-now", 2, "deletes nothing"),
        ("store expire tables", 2, "--older-than"),
        ("store compact nowhere", 1, "error: nowhere: no such folder"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(run, tables, command, exit_code, said):
    code, _, err = run(command)
    assert code == exit_code
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "verb", ["expire tables --older-than 1d", "compact tables", "migrate tables"]
)
def test_a_store_somebody_writes_to_is_busy_and_can_still_be_read(run, tables, verb):
    with writing_to(tables):
        code, _, err = run(f"store {verb}")
        assert code == 1
        assert "writes to tables; run this one again when it has ended" in err.replace(
            str(tables), "tables"
        )
        assert run("store list tables")[0] == 0

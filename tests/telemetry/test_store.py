"""The store: commits by number, nothing half-written ever read, one writer at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.telemetry.frames import START_MS, accepted, took, windows

from penstock.app.stores import compact_store, expire_store
from penstock.errors import InputError
from penstock.telemetry.schemas import DRIFT
from penstock.telemetry.store import Manifest, Store
from penstock.telemetry.store_reader import open_store, read_table
from penstock.telemetry.tables import Tables
from penstock.telemetry.writer_lock import StoreBusyError

pytestmark = pytest.mark.spark


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(spark, str(tmp_path / "store"))


def drift(spark: SparkSession, *rows: str) -> DataFrame:
    return spark.createDataFrame(
        [(row, "M1", "e", 1.0, 2.0, 1.0, 1.0, True) for row in rows], DRIFT
    ).coalesce(1)


def rows(store: Store, manifest: Manifest | None = None) -> list[str]:
    frame = store.read(manifest or store.manifest(), "drift")
    return sorted(row["row"] for row in frame.collect())


def added(store: Store, part: str, *names: str) -> Manifest:
    """The newest commit with one part more, or written anew; not committed."""
    folders = store.write("drift", drift(store.spark, *names), part, by_hour=False)
    return store.manifest().with_parts("drift", folders)


def folders(store: Store, table: str) -> list[str]:
    return sorted(p.name for p in Path(store.root, table).iterdir())


def test_a_new_store_is_empty_and_commits_count_up(store: Store) -> None:
    assert store.manifest() == Manifest()
    assert rows(store) == []
    assert store.commit(added(store, "one", "a")).number == 1
    assert store.commit(added(store, "two", "b").with_facts(pending=["h"])).number == 2
    newest = store.manifest()
    assert (newest.number, newest.facts) == (2, {"pending": ["h"]})
    assert rows(store) == ["a", "b"]
    assert Path(store.root, "manifest", "00000002.json").is_file()


def test_what_a_crashed_run_left_is_not_read_and_goes_with_the_next_commit(store: Store) -> None:
    store.commit(added(store, "one", "a"))
    added(store, "two", "lost in a crash")
    # Half a manifest, too.
    Path(store.root, "manifest", ".draft-2").write_text('{"format": ')
    assert rows(store) == ["a"]
    assert folders(store, "drift") == ["part=one", "part=two"]
    store.commit(store.manifest())
    assert folders(store, "drift") == ["part=one"]
    assert (store.manifest().number, rows(store)) == (2, ["a"])


def test_a_broken_manifest_can_be_deleted_by_hand(store: Store) -> None:
    """As its message says; the checksum beside it starts with a dot, and stays."""
    for number in range(3):
        store.commit(store.manifest().with_facts(seen=number))
    newest = max((Path(store.root) / "manifest").glob("*.json"))
    newest.write_text(newest.read_text()[:30])
    with pytest.raises(InputError, match="delete it to go back to the commit before it"):
        store.manifest()
    newest.unlink()
    assert store.manifest().facts == {"seen": 1}
    assert store.commit(store.manifest().with_facts(seen=9)).number == 3
    assert store.manifest().facts == {"seen": 9}


def test_a_second_writer_is_refused_and_changes_nothing(store: Store) -> None:
    other = Store(store.spark, store.root)
    store.commit(added(store, "one", "a"))
    mine, theirs = added(store, "two", "mine"), added(other, "three", "theirs")
    store.commit(mine)
    with pytest.raises(StoreBusyError, match=r"another run wrote to .* at the same time"):
        other.commit(theirs)
    assert (store.manifest().number, rows(store)) == (2, ["a", "mine"])


def test_old_folders_stay_while_one_of_the_newest_two_commits_has_them(store: Store) -> None:
    commits = [
        store.commit(
            store.manifest().with_parts(
                "drift",
                store.write("drift", drift(store.spark, f"v{n}"), f"{n}", by_hour=False),
                replacing=store.manifest().parts.get("drift", {}),
            )
        )
        for n in range(1, 6)
    ]
    # A reader that opened the commit before still finds all of it.
    assert rows(store, commits[-1]) == ["v5"]
    assert rows(store, commits[-2]) == ["v4"]
    left = folders(store, "drift")
    assert {"part=4", "part=5"} <= set(left)
    assert not {"part=1", "part=2"} & set(left)
    kept = sorted(p.name for p in Path(store.root, "manifest").glob("*.json"))
    assert kept[-2:] == ["00000004.json", "00000005.json"]
    assert len(kept) <= 3


def test_hours_are_replaced_one_by_one(spark: SparkSession, store: Store) -> None:
    def hours(**components: str) -> DataFrame:
        return windows(spark, [{"component": c, "hour": h} for h, c in components.items()])

    def found() -> list[tuple[str, str]]:
        frame = store.read(store.manifest(), "rates")
        return sorted((row["hour"], row["component"]) for row in frame.collect())

    first = store.write("rates", hours(h1="old", h2="old"), "1", by_hour=True)
    assert first == {"h1": "rates/part=1/hour=h1", "h2": "rates/part=1/hour=h2"}
    store.commit(store.manifest().with_parts("rates", first))
    second = store.write("rates", hours(h2="new", h3="new"), "2", by_hour=True)
    store.commit(store.manifest().with_parts("rates", second, replacing=["h2", "h3"]))
    assert found() == [("h1", "old"), ("h2", "new"), ("h3", "new")]
    for _ in range(3):
        store.commit(store.manifest())
    # Of the first part, only the hour that still counts is left.
    assert folders(store, "rates") == ["part=1", "part=2"]
    assert folders(store, "rates/part=1") == ["hour=h1"]
    assert found() == [("h1", "old"), ("h2", "new"), ("h3", "new")]


def test_stores_of_another_version_are_refused(store: Store) -> None:
    store.commit(Manifest())
    path = Path(store.root, "manifest", "00000001.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    path.with_name(f".{path.name}.crc").unlink()  # or Hadoop says that the file was tampered with
    newer = r"00000001\.json.* version: 99 is newer than this Penstock, which knows version 1;"
    with pytest.raises(InputError, match=newer):
        store.manifest()


# -- batches -----------------------------------------------------------------------------------


def judged(spark: SparkSession, *tasks: int, aside: int = 0) -> DataFrame:
    """Good records of these tasks, and some that failed a check."""
    made: list[dict[str, Any]] = [
        {"task": t, "inputs": [took("a", 10)], "time_ms": START_MS + 10_000} for t in tasks
    ]
    made += [{"task": 1000 + n, "file": "bad"} for n in range(aside)]
    reason = F.when(F.col("file") == "bad", F.lit("not JSON"))
    return (
        accepted(spark, made)
        .drop("hour")
        .withColumns({"reason": reason, "field": F.lit(""), "raw": F.lit(b"x")})
    )


def test_a_batch_taken_in_again_adds_nothing(spark: SparkSession, store: Store) -> None:
    tables = Tables(store)
    # A run that was killed while it wrote the batch: its folder is there, and too full.
    store.write(
        "samples", judged(spark, 1, 2, 3, 4).withColumn("hour", F.lit("h")), "b1", by_hour=True
    )
    assert not tables.is_taken_in("b1")
    tables.take_in(judged(spark, 1, 2, aside=1), "b1")
    tables.take_in(judged(spark, 3), "b2")
    number = store.manifest().number
    tables.take_in(judged(spark, 1, 2, aside=1), "b1")
    manifest = store.manifest()
    assert manifest.number == number
    assert tables.is_taken_in("b1")
    assert tables.records_in(manifest) == 4
    assert tables.set_aside(manifest) == {"not JSON": 1}
    # Repeats found later lie elsewhere, and are read with the others.
    repeats = windows(spark, [{}]).selectExpr(
        "cast('y' as binary) raw", "'duplicate' reason", "'' field", "'f' file", "'h1' hour"
    )
    folders = store.write("quarantine", repeats, "later", by_hour=True)
    assert tables.set_aside(manifest.with_parts("quarantine", folders)) == {
        "duplicate": 1, "not JSON": 1,
    }  # fmt: skip
    samples = store.read(manifest, "samples").collect()
    assert sorted(row["task"] for row in samples) == [1, 2, 3]
    assert manifest.facts["pending"] == ["2026-01-01-00"]


# -- beside what is done without Spark ---------------------------------------------------------


def test_what_was_merged_without_spark_is_read_and_written_on_by_spark(
    spark: SparkSession, store: Store
) -> None:
    tables = Tables(store)
    tables.take_in(judged(spark, 1, 2, aside=1), "b1")
    tables.take_in(judged(spark, 3), "b2")

    def seen() -> list[tuple[Any, ...]]:
        rows = store.read(store.manifest(), "samples").collect()
        return sorted((r["task"], r["hour"], r["inputs"][0]["tuples"], r["time_ms"]) for r in rows)

    before = seen()
    assert compact_store(store.root).tables["samples"].files_after == 1
    assert seen() == before
    assert store.manifest().number == 3
    tables.take_in(judged(spark, 4, aside=2), "b3")
    assert [row[0] for row in seen()] == [1, 2, 3, 4]
    assert tables.set_aside(store.manifest()) == {"not JSON": 3}
    assert read_table(store.root, "samples", ["task"]).num_rows == 4
    # The hour was not computed yet; then the retention takes it. What was set aside is young.
    at_s = START_MS / 1000 + 7 * 3600
    assert expire_store(store.root, 3600, clock=lambda: at_s).waiting == ("2026-01-01-00",)
    store.commit(store.manifest().with_facts(pending=[]))
    assert [t.table for t in expire_store(store.root, 3600, clock=lambda: at_s).tables] == [
        "samples"
    ]
    assert seen() == []
    assert tables.set_aside(store.manifest()) == {"not JSON": 3}
    assert tables.records_in(store.manifest()) == 7


def test_a_reader_without_spark_keeps_its_commit_from_spark_too(store: Store) -> None:
    store.commit(added(store, "one", "a"))
    with open_store(store.root) as reader:
        for n in range(5):
            part = store.write("drift", drift(store.spark, f"v{n}"), f"{n}", by_hour=False)
            newest = store.manifest()
            store.commit(newest.with_parts("drift", part, replacing=newest.parts["drift"]))
        assert reader.read("drift", ["row"]).to_pydict() == {"row": ["a"]}
    assert rows(store) == ["v4"]
    store.commit(store.manifest())
    assert "part=one" not in folders(store, "drift")

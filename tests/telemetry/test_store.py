"""The store: commits by number, nothing half-written ever read, one writer at a time."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from tests.telemetry.frames import START_MS, Row, accepted_frame, took

from penstock.app.stores import compact_store, expire_store
from penstock.errors import InputError
from penstock.telemetry.cost_fits import rates_view
from penstock.telemetry.intake import Intake
from penstock.telemetry.manifest import manifest_name
from penstock.telemetry.schemas import DRIFT, QUARANTINE, SAMPLES, UTILISATION
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.take_in import TakeIn, TaskReport
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
    folders = store.write("drift", drift(store.spark, *names), part)
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
    following = Store(store.spark, store.root)
    following.commit(following.manifest())
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


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_only_has_the_name_of_a_commit_is_refused_before_java_waits_at_it(
    store: Store, make: Callable[[Path], None]
) -> None:
    store.commit(store.manifest())
    make(Path(store.root) / manifest_name(2))
    with pytest.raises(InputError, match=r"00000002\.json"):
        store.manifest()


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
                store.write("drift", drift(store.spark, f"v{n}"), f"{n}"),
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
    def hours(**reasons: str) -> DataFrame:
        rows = [(b"", reason, "", "f", hour) for hour, reason in reasons.items()]
        return spark.createDataFrame(rows, QUARANTINE)

    def found() -> list[tuple[str, str]]:
        frame = store.read(store.manifest(), "quarantine")
        return sorted((row["hour"], row["reason"]) for row in frame.collect())

    first = store.write_by("hour", "quarantine", hours(h1="old", h2="old"), "1")
    assert first == {"h1": "quarantine/part=1/hour=h1", "h2": "quarantine/part=1/hour=h2"}
    store.commit(store.manifest().with_parts("quarantine", first))
    second = store.write_by("hour", "quarantine", hours(h2="new", h3="new"), "2")
    store.commit(store.manifest().with_parts("quarantine", second, replacing=["h2", "h3"]))
    assert found() == [("h1", "old"), ("h2", "new"), ("h3", "new")]
    for _ in range(3):
        store.commit(store.manifest())
    # Of the first part, only the hour that still counts is left.
    assert folders(store, "quarantine") == ["part=1", "part=2"]
    assert folders(store, "quarantine/part=1") == ["hour=h1"]
    assert found() == [("h1", "old"), ("h2", "new"), ("h3", "new")]


def test_files_that_tasks_wrote_are_replaced_and_read_one_by_one(store: Store) -> None:
    """Beside folders that Spark wrote, as a store without Arrow's reach has them."""
    schema = to_arrow_schema(UTILISATION)

    def written(part: str, hour: str, host: str) -> str:
        row = {"host": host, "machine_type": "M1", "minutes": 1, "workers": 1, "hour": hour}
        table = pa.Table.from_pylist([row], schema=schema)
        return StoreFiles(store.root).write(f"utilisation/part={part}", hour, table, ["host"])

    def found(*hours: str) -> list[tuple[str, str]]:
        frame = store.read(store.manifest(), "utilisation", hours or None)
        return sorted((row["hour"], row["host"]) for row in frame.collect())

    first = {hour: written("1", hour, "old") for hour in ("h1", "h2")}
    store.commit(store.manifest().with_parts("utilisation", first))
    second = {"h2": written("2", "h2", "new")}
    store.commit(store.manifest().with_parts("utilisation", second, replacing=["h2"]))
    assert found() == [("h1", "old"), ("h2", "new")]
    assert found("h2") == [("h2", "new")]
    assert found("h3") == []
    frame = store.read(store.manifest(), "utilisation")
    whole = store.write("utilisation", frame.where("hour = 'h1'"), "3")
    store.commit(store.manifest().with_parts("utilisation", whole))
    assert found() == [("h1", "old"), ("h1", "old"), ("h2", "new")]
    for _ in range(3):
        store.commit(store.manifest())
    # Of the first part, only the file that still counts is left.
    assert [Path(first["h1"]).name] == [
        name for name in folders(store, "utilisation/part=1") if not name.startswith(".")
    ]
    assert found() == [("h1", "old"), ("h1", "old"), ("h2", "new")]


def test_stores_of_another_version_are_refused(store: Store) -> None:
    store.commit(Manifest())
    path = Path(store.root, "manifest", "00000001.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    newer = r"00000001\.json.* version: 99 is newer than this Penstock, which knows version 2;"
    with pytest.raises(InputError, match=newer):
        store.manifest()


# -- batches -----------------------------------------------------------------------------------


def batch(spark: SparkSession, *tasks: int, aside: int = 0) -> DataFrame:
    """Good records of these tasks, and some that failed a check."""
    made: list[Row] = [
        {"task": t, "inputs": [took("a", 10)], "time_ms": START_MS + 10_000} for t in tasks
    ]
    made += [{"task": 1000 + n, "file": "bad"} for n in range(aside)]
    reason = F.when(F.col("file") == "bad", F.lit("not JSON"))
    return accepted_frame(spark, made).withColumns(
        {"reason": reason, "field": F.lit(""), "raw": F.lit(b"x")}
    )


def take_in(tables: Tables, key: str, judged: DataFrame) -> int:
    def take(folder: str) -> tuple[TaskReport, Counter[str]]:
        taking = TakeIn(tables.store.root, folder, now_ms=START_MS)
        return Intake(taking, unused, unused, tables.write_aside(key)).judged(judged)

    return tables.take_in(key, take)


def unused(frame: DataFrame) -> DataFrame:
    raise AssertionError("these records are judged already")


def test_a_batch_taken_in_again_adds_nothing(spark: SparkSession, store: Store) -> None:
    tables = Tables(store)
    # A run that was killed while it wrote the batch: its folders are there, and too full.
    lost = TakeIn(store.root, "samples/part=b1", now_ms=START_MS)
    plain = batch(spark, 1, 2, 3, 4).select(*SAMPLES.names)
    plain.mapInArrow(lost.accepted, "report string").collect()
    tables.write_aside("b1")(batch(spark, aside=5).where("reason is not null"))
    assert not tables.is_taken_in("b1")
    assert take_in(tables, "b1", batch(spark, 1, 2, aside=1)) == 3
    assert take_in(tables, "b2", batch(spark, 3)) == 1
    number = store.manifest().number
    assert take_in(tables, "b1", batch(spark, 1, 2, aside=1)) == 0
    manifest = store.manifest()
    assert manifest.number == number
    assert tables.is_taken_in("b1")
    assert tables.records_in(manifest) == 4
    assert tables.set_aside(manifest) == {"not JSON": 1}
    reasons = [row["reason"] for row in store.read(manifest, "quarantine").collect()]
    assert reasons == ["not JSON"]
    samples = store.read(manifest, "samples").collect()
    assert sorted(row["task"] for row in samples) == [1, 2, 3]
    assert manifest.facts["pending"] == ["2026-01-01-00-00"]


def test_repeats_of_one_slot_stay_set_aside_when_another_of_the_hour_is_computed(
    spark: SparkSession, store: Store
) -> None:
    tables = Tables(store)

    def records(*minutes: int) -> DataFrame:
        rows = [{"time_ms": START_MS + 60_000 * m, "inputs": [took("a", 10)]} for m in minutes]
        return accepted_frame(spark, rows).withColumns(
            {"reason": F.lit(None).cast("string"), "field": F.lit(""), "raw": F.lit(b"x")}
        )

    def found() -> list[str]:
        """As the manifest counts them, which is how many there are in the table."""
        manifest = store.manifest()
        reasons = [row["reason"] for row in store.read(manifest, "quarantine").collect()]
        assert Counter(reasons) == tables.set_aside(manifest)
        return sorted(reasons)

    take_in(tables, "b1", records(1, 1))
    tables.compute()
    assert found() == ["duplicate"]
    take_in(tables, "b2", records(15, 15, 16))
    tables.compute()
    # Those of the first slot lie elsewhere, and are read with the others.
    assert found() == ["duplicate"] * 2
    # Late, and another repeat of what was repeated before.
    take_in(tables, "b3", records(1))
    tables.compute()
    assert found() == ["duplicate"] * 3


def test_contradictions_that_are_alone_in_their_slot_are_not_in_the_rates(
    spark: SparkSession, store: Store
) -> None:
    tables = Tables(store)
    rows = [{"time_ms": START_MS + 60_000 * minute, "inputs": []} for minute in (1, 1, 15)]
    rows[0]["inputs"] = [took("a", 10)]
    judged = accepted_frame(spark, rows).withColumns(
        {"reason": F.lit(None).cast("string"), "field": F.lit(""), "raw": F.lit(b"x")}
    )
    take_in(tables, "b1", judged)
    manifest, records = tables.compute()
    assert records == 3
    assert tables.set_aside(manifest) == {"contradicts another record": 2}
    (row,) = rates_view(tables, manifest).collect()
    assert row["time_ms"] == START_MS + 15 * 60_000


# -- beside what is done without Spark ---------------------------------------------------------


def test_what_was_merged_without_spark_is_read_and_written_on_by_spark(
    spark: SparkSession, store: Store
) -> None:
    tables = Tables(store)
    take_in(tables, "b1", batch(spark, 1, 2, aside=1))
    take_in(tables, "b2", batch(spark, 3))

    def seen() -> list[tuple[Any, ...]]:
        rows = store.read(store.manifest(), "samples").collect()
        return sorted((r["task"], r["inputs"][0]["tuples"], r["time_ms"]) for r in rows)

    before = seen()
    assert compact_store(store.root).tables["samples"].files_after == 1
    assert seen() == before
    assert store.manifest().number == 3
    take_in(tables, "b3", batch(spark, 4, aside=2))
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
            part = store.write("drift", drift(store.spark, f"v{n}"), f"{n}")
            newest = store.manifest()
            store.commit(newest.with_parts("drift", part, replacing=newest.parts["drift"]))
        assert reader.read("drift", ["row"]).to_pydict() == {"row": ["a"]}
    assert rows(store) == ["v4"]
    store.commit(store.manifest())
    assert "part=one" not in folders(store, "drift")

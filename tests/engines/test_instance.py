"""One instance at work, without Spark: rows in, rows, state and a measurement out."""

import json

import pandas as pd
import pyarrow as pa
import pytest

from penstock.engines.spark.instance import FROM, ID, NOTE, SAMPLE, STATE, STREAM, Instances, _Run

SCHEMA = pa.schema(
    [
        (ID, pa.int64()), (STREAM, pa.string()), (NOTE, pa.string()), ("word", pa.string()),
        ("count", pa.int64()),
    ]
)  # fmt: skip


def counted(rows, state):
    came = rows.groupby("word").size().reset_index(name="count")
    total = pd.concat([state, came]).groupby("word", as_index=False)["count"].sum()
    return total[total["word"].isin(came["word"])], total


def instances(function, state=True, **changes):
    made = {
        "component": "count", "function": function, "takes_arrow": False,
        "columns": {"default": ["word", "count"]},
        "state_columns": ["word", "count"] if state else [], "tasks": [4], "machine_type": "old",
        "schema": SCHEMA,
    }  # fmt: skip
    return Instances(**{**made, **changes})


def batch(words, sender="split/default", counts=None):
    return pa.RecordBatch.from_pydict(
        {
            ID: list(range(len(words))),
            FROM: [sender] * len(words),
            "word": words,
            "count": counts or [None] * len(words),
        },
        schema=pa.schema(
            [(ID, pa.int64()), (FROM, pa.string()), ("word", pa.string()), ("count", pa.int64())]
        ),
    )


def worked(made, *batches):
    rows = pa.Table.from_batches(list(_Run(made, 4).work(iter(batches)))).to_pandas()
    note = json.loads(rows[rows[STREAM] == SAMPLE][NOTE].iloc[0])
    return rows, note


def of(rows, stream):
    mine = rows[rows[STREAM] == stream]
    return dict(zip(mine["word"], mine["count"], strict=True))


def test_what_was_remembered_is_counted_on_and_remembered_again():
    rows, note = worked(
        instances(counted), batch(["a", "c"], STATE, [5, 1]), batch(["a", "b", "a"])
    )
    assert of(rows, "default") == {"a": 7, "b": 1}
    assert of(rows, STATE) == {"a": 7, "b": 1, "c": 1}
    assert note["inputs"]["split/default"][0] == 3
    assert note["outputs"]["default"][0] == 2


def test_state_and_rows_may_come_in_one_batch():
    mixed = pa.Table.from_batches([batch(["a"], STATE, [5]), batch(["a"])]).combine_chunks()
    rows, note = worked(instances(counted), mixed.to_batches()[0])
    assert of(rows, STATE) == {"a": 6}
    assert note["inputs"] == {
        "split/default": [1, pytest.approx(note["inputs"]["split/default"][1])]
    }


def test_several_batches_go_on_from_each_others_state():
    rows, _ = worked(instances(counted), batch(["a"]), batch(["a", "b"]))
    assert of(rows, STATE) == {"a": 2, "b": 1}


def test_an_instance_without_rows_remembers_and_measures_all_the_same():
    rows, note = worked(instances(counted), batch(["a"], STATE, [3]))
    assert of(rows, STATE) == {"a": 3}
    assert (note["inputs"], note["outputs"]) == ({}, {})
    assert (note["task"], note["component"], note["machine_type"]) == (4, "count", "old")


def test_rows_are_told_apart_by_numbers_of_their_own():
    rows, _ = worked(instances(counted), batch(["a", "b"]))
    assert rows[ID].is_unique
    assert (rows[ID] >= 4 << 40).all()


def test_several_streams_come_as_a_mapping():
    def split(rows):
        return {"default": rows[["word", "count"]], "long": rows[rows["word"].str.len() > 1]}

    columns = {"default": ["word", "count"], "long": ["word"]}
    rows, note = worked(instances(split, state=False, columns=columns), batch(["a", "bb"]))
    assert set(of(rows, "long")) == {"bb"}
    assert {name: counts[0] for name, counts in note["outputs"].items()} == {
        "default": 2,
        "long": 1,
    }


def test_arrow_goes_in_and_out_as_it_is():
    def passed(rows):
        assert isinstance(rows, pa.RecordBatch)
        return rows

    rows, _ = worked(instances(passed, state=False, takes_arrow=True), batch(["a"], counts=[2]))
    assert of(rows, "default") == {"a": 2}


def test_work_is_measured_in_cpu():
    def busy(rows):
        sum(i * i for i in range(200_000))
        return rows

    _, note = worked(instances(busy, state=False), batch(["a"], counts=[1]))
    assert 0 < note["cpu_s"] <= note["wall_s"] * 1.5


def test_a_function_that_fails_is_told_in_one_line_with_its_place():
    def wrong(rows):
        return rows["wrod"]

    line = wrong.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError, match=f"count: KeyError: 'wrod' .*test_instance.py:{line}"):
        worked(instances(wrong, state=False), batch(["a"]))

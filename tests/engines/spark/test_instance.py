"""One task at work, without Spark: rows in, packets, files and measurements out."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.dealing import FROM_SOURCE, Deal
from penstock.engines.spark.instance import (
    ComponentInstances,
    Remembered,
    Stage,
    Subscriber,
    _InstanceRun,
)
from penstock.engines.spark.packets import NOTE, PACKET, TARGET, TO, Packer
from penstock.model.topology import Grouping

NUMBER = pa.schema([("value", pa.int64())])
WORD = pa.schema([("word", pa.string())])
COUNT = pa.schema([("word", pa.string()), ("count", pa.int64())])


def counted(rows, state):
    came = rows.groupby("word").size().reset_index(name="count")
    total = pd.concat([state, came]).groupby("word", as_index=False)["count"].sum()
    return total[total["word"].isin(came["word"])], total


def counter(files=None, alike=True, shares=(1.0,), hot=(), tasks=(4,), function=counted):
    known = Remembered(COUNT, files or {}, alike, shares, hot, is_global=False)
    return ComponentInstances("count", function, False, {"default": COUNT}, {}, tasks, known)


def worked(folder, components, batches, *, number=0):
    """All components of one segment, at work on batches; packets and notes."""
    names = tuple(made.name for made in components)
    stage = Stage(
        slots=((names, number),),
        components={made.name: made for made in components},
        schemas={"split/default": WORD, FROM_SOURCE: NUMBER},
        machine_type="old",
        folder=str(folder),
    )
    out = list(_InstanceRun(stage, names, number, attempt=0).work(iter(batches)))
    table = pa.Table.from_batches(out).to_pylist()
    notes = [json.loads(row[NOTE]) for row in table if row[NOTE]]
    return [row for row in table if row[PACKET] is not None], {n["component"]: n for n in notes}


def numbers(*values, to):
    """Source rows on their way to the one instance of a spout."""
    rows = pa.RecordBatch.from_pydict({"value": list(values)}, schema=NUMBER)
    return list(Deal(lambda read: [read], (to,), (0,), (1.0,)).dealt(iter([rows]), task=0))


def packets(*words, task=1):
    packer = Packer("split", "default", "count", task)
    for some in words:
        list(packer.add(0, pa.RecordBatch.from_pydict({"word": list(some)}, schema=WORD)))
    return list(packer.rest())


def table_of(file):
    rows = pq.read_table(file).to_pydict()
    return dict(zip(rows["word"], rows["count"], strict=True))


def test_what_was_remembered_is_counted_on_and_remembered_again(tmp_path):
    file = tmp_path / "before.parquet"
    pd.DataFrame({"word": ["a", "c"], "count": [5, 1]}).to_parquet(file)
    _, notes = worked(tmp_path, [counter({4: str(file)})], packets("aba"))
    note = notes["count"]
    assert table_of(note["state"]) == {"a": 7, "b": 1, "c": 1}
    results = tmp_path / "results" / "count" / "default" / "000004.parquet"
    assert table_of(results) == {"a": 7, "b": 1}
    assert note["inputs"]["split/default"][0] == 3
    assert note["outputs"]["default"][0] == 2
    assert (note["task"], note["machine_type"]) == (4, "old")


def test_under_other_shares_each_instance_finds_what_is_known_of_its_keys(tmp_path):
    words = [f"w{i}" for i in range(200)]
    files = {}
    for task, mine in ((0, words[:120]), (1, words[120:])):
        files[task] = str(tmp_path / f"{task}.parquet")
        pd.DataFrame({"word": mine, "count": 1}).to_parquet(files[task])
    shares, tasks = (0.6, 0.3, 0.1), (7, 8, 9)
    found = {}
    for number, task in enumerate(tasks):
        made = counter(files, alike=False, shares=shares, tasks=tasks)
        _, notes = worked(tmp_path / str(task), [made], [], number=number)
        found[task] = table_of(notes["count"]["state"])
    assert sorted(word for mine in found.values() for word in mine) == sorted(words)
    assert len(found[7]) > len(found[8]) > len(found[9]) > 0


def test_an_instance_without_rows_remembers_and_measures_all_the_same(tmp_path):
    file = tmp_path / "before.parquet"
    pd.DataFrame({"word": ["a"], "count": [3]}).to_parquet(file)
    _, notes = worked(tmp_path, [counter({4: str(file)})], [])
    assert table_of(notes["count"]["state"]) == {"a": 3}
    assert (notes["count"]["inputs"], notes["count"]["outputs"]) == ({}, {})


def test_small_packets_of_one_stream_make_one_call(tmp_path):
    calls = []

    def noted(rows, state):
        calls.append(len(rows))
        return counted(rows, state)

    batches = [*packets("ab", task=1), *packets("cde", task=2)]
    worked(tmp_path, [counter(function=noted)], batches)
    assert calls == [5]


def test_components_of_a_segment_work_one_after_the_other(tmp_path):
    def doubled(rows):
        return rows.assign(value=rows["value"] * 2)

    read = ComponentInstances("read", None, False, {"default": NUMBER},
                     {"default": (Subscriber("twice"),)}, (0,))  # fmt: skip
    to = Subscriber("next", (10, 11), Grouping.SHUFFLE, (), (0.75, 0.25))
    twice = ComponentInstances(
        "twice", doubled, False, {"default": NUMBER}, {"default": (to,)}, (1,)
    )
    sent, notes = worked(tmp_path, [read, twice], numbers(1, 2, 3, 4, to="read"))
    rows = {
        p[TO]: pa.ipc.read_record_batch(pa.py_buffer(p[PACKET]), NUMBER).to_pydict()["value"]
        for p in sent
    }
    assert rows == {10: [2, 4, 6], 11: [8]}
    assert {p[TARGET] for p in sent} == {"next"}
    assert notes["read"]["inputs"][FROM_SOURCE][0] == 4
    assert notes["twice"]["inputs"]["read/default"][0] == 4


def test_cpu_is_charged_to_the_component_that_used_it(tmp_path):
    def busy(rows):
        sum(i * i for i in range(2_000_000))
        return rows

    idle = ComponentInstances("idle", None, False, {"default": NUMBER},
                     {"default": (Subscriber("busy"),)}, (0,))  # fmt: skip
    made = ComponentInstances("busy", busy, False, {"default": NUMBER}, {}, (1,))
    _, notes = worked(tmp_path, [idle, made], numbers(1, to="idle"))
    assert notes["busy"]["cpu_s"] > 5 * notes["idle"]["cpu_s"]
    assert notes["busy"]["wall_s"] > 0


def test_several_streams_come_as_a_mapping(tmp_path):
    def split(rows):
        return {"default": rows, "long": rows[rows["word"].str.len() > 1]}

    made = ComponentInstances("count", split, False, {"default": WORD, "long": WORD}, {}, (4,))
    _, notes = worked(tmp_path, [made], packets(["a", "bb"]))
    outputs = {name: counts[0] for name, counts in notes["count"]["outputs"].items()}
    assert outputs == {"default": 2, "long": 1}
    assert pq.read_table(tmp_path / "results/count/long").to_pydict() == {"word": ["bb"]}


def test_arrow_goes_in_and_out_as_it_is(tmp_path):
    def passed(rows):
        assert isinstance(rows, pa.RecordBatch)
        return rows

    made = ComponentInstances("count", passed, True, {"default": WORD}, {}, (4,))
    _, notes = worked(tmp_path, [made], packets("a"))
    assert notes["count"]["outputs"]["default"][0] == 1


def test_two_attempts_at_a_task_leave_one_file(tmp_path):
    for _ in range(2):
        worked(tmp_path, [counter()], packets("a"))
    assert [p.name for p in (tmp_path / "state/count").iterdir()] == ["000004.parquet"]


def test_a_function_that_fails_is_told_in_one_line_with_its_place(tmp_path):
    def wrong(rows):
        return rows["wrod"]

    made = ComponentInstances("count", wrong, False, {"default": WORD}, {}, (4,))
    line = wrong.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError, match=f"count: KeyError: 'wrod' .*test_instance.py:{line}"):
        worked(tmp_path, [made], packets("a"))

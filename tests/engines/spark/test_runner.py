"""Topologies as PySpark streams: exact results, restarts, divisions, telemetry."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.builders import topology

from penstock.engines.spark.code import load_code, shipped_code
from penstock.engines.spark.deployment import Deployment, Instance
from penstock.engines.spark.hashing import hash_of_int
from penstock.engines.spark.runner import Runner
from penstock.engines.spark.sources import FileSource, RateSource
from penstock.files import examples
from penstock.model.topology import Grouping, Kind
from penstock.telemetry.spark_errors import SparkFailed

pytestmark = pytest.mark.spark

WORDS = ["a", "bb", "ccc", "dd", "e", "a-long-word"]


def run(spark, graph, code, source, folder, deployment, batches):
    """Run so many batches; what each of them did."""
    seen = []
    runner = Runner(spark, graph, code, source, folder, lambda: deployment, seen.append)
    runner.run(lambda: len(seen) >= batches)
    return seen


def text_files(folder: Path, number: int, seed: int) -> Counter:
    """Files of random sentences; how often each word is in them."""
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    total = Counter()
    for i in range(number):
        words = rng.choice(
            WORDS, size=int(rng.integers(50, 200)), p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]
        )
        total.update(words.tolist())
        lines = [" ".join(words[at : at + 7]) for at in range(0, len(words), 7)]
        (folder / f"{seed}-{i}.txt").write_text("\n".join(lines), encoding="utf-8")
    return total


def state_of(folder: Path, component: str) -> dict[str, int]:
    newest = max((folder / "commits").glob("*.json")).stem
    rows = pq.read_table(folder / "batches" / newest / "state" / component).to_pydict()
    assert len(set(rows["word"])) == len(rows["word"])  # a key is in one place only
    return dict(zip(rows["word"], rows["count"], strict=True))


@pytest.fixture
def wordcount():
    graph = examples.load_topology("wordcount")
    return graph, load_code(shipped_code("wordcount"), graph)


def test_words_are_counted_exactly_also_after_a_restart_under_another_plan(
    spark, wordcount, tmp_path
):
    graph, code = wordcount
    source = FileSource(tmp_path / "in", 1)
    first = text_files(source.folder, 2, seed=1)
    folder = tmp_path / "run"
    even = Deployment.evenly(graph, 2)
    run(spark, graph, code, source, folder, even, 2)
    assert state_of(folder, "count") == dict(first)
    # Another number of counters, with unequal shares: keys and what is known of them move.
    moved = Deployment(
        even.instances | {"count": (Instance(90, 0.7), Instance(91, 0.2), Instance(92, 0.1))}
    )
    second = text_files(source.folder, 1, seed=2)
    batches = run(spark, graph, code, source, folder, moved, 1)
    assert state_of(folder, "count") == dict(first + second)
    assert [batch.number for batch in batches] == [2]
    results = sorted(folder.glob("batches/000000002/results/count/default/*.parquet"))
    assert results
    # Telemetry counts each word once as well.
    words = sum(
        entry.tuples for s in batches[0].samples if s.component == "count" for entry in s.inputs
    )
    assert words == second.total()


def test_frequent_words_are_dealt_by_weight_and_still_counted_exactly(spark, wordcount, tmp_path):
    graph, code = wordcount
    folder = tmp_path / "run"
    shares = (0.53, 0.29, 0.18)
    counters = tuple(Instance(4 + i, share) for i, share in enumerate(shares))
    instances = Deployment.evenly(graph, 1).instances | {"count": counters}
    # Sentences of eight words, as frequent as in a language.
    source = RateSource(4000)
    batches = run(spark, graph, code, source, folder, Deployment(instances, weighs_keys=True), 3)

    def got(batch):
        mine = {s.task: s.inputs[0].tuples for s in batch.samples if s.component == "count"}
        return [mine[i.task] / 32_000 for i in counters]

    # By their hash alone they are not as the plan has it; once they are counted, they are.
    assert max(abs(a - b) for a, b in zip(got(batches[0]), shares, strict=True)) > 0.05
    assert got(batches[2]) == pytest.approx(shares, abs=0.01)
    # A batch that was under way when it was told to stop counts as well.
    spouted = code.works["spout"].function(pd.DataFrame({"value": np.arange(4000 * len(batches))}))
    truth = Counter(word for sentence in spouted["sentence"] for word in sentence.split())
    assert state_of(folder, "count") == dict(truth)


def test_parts_made_at_several_places_meet_at_every_slot(spark, wordcount, tmp_path):
    graph, code = wordcount
    source = FileSource(tmp_path / "in", 1)
    total = text_files(source.folder, 2, seed=5)
    # Without resource profiles Spark runs these stages anywhere, but place by place all the same.
    both = (Instance(0, 0.7, "big", "big"), Instance(1, 0.3, "small", "small"))
    counters = (*both, Instance(2, 0.5, "big", "big"))
    deployment = Deployment(
        {
            "spout": both,
            "split": both,
            "count": tuple(replace(i, task=i.task + 4) for i in counters),
        }
    )
    batches = run(spark, graph, code, source, tmp_path / "run", deployment, 2)
    assert state_of(tmp_path / "run", "count") == dict(total)
    told = Counter((s.component, s.task) for s in batches[1].samples)
    assert told == Counter(
        (name, i.task) for name, mine in deployment.instances.items() for i in mine
    )


def test_a_batch_that_was_committed_is_not_run_again(spark, wordcount, tmp_path):
    graph, code = wordcount
    source = FileSource(tmp_path / "in", 1)
    total = text_files(source.folder, 1, seed=3)
    folder = tmp_path / "run"
    deployment = Deployment.evenly(graph, 1)
    run(spark, graph, code, source, folder, deployment, 1)
    # As if the driver had died between our commit and Spark's.
    (folder / "checkpoint" / "commits" / "0").unlink()
    for crc in (folder / "checkpoint" / "commits").glob(".0.crc"):
        crc.unlink()
    more = text_files(source.folder, 1, seed=4)
    run(spark, graph, code, source, folder, deployment, 1)
    assert state_of(folder, "count") == dict(total + more)


def test_rows_are_divided_by_shares_and_groupings(spark, tmp_path):
    graph = topology(
        "read>some read>everyone read>one",
        streams={"read>everyone": {"grouping": "all"}, "read>one": {"grouping": "global"}},
    )
    path = tmp_path / "mine.py"
    path.write_text(
        "streams = {'read': 'value bigint'}\ndef read(rows): return rows[['value']]\n",
        encoding="utf-8",
    )
    deployment = Deployment(
        {
            "read": (Instance(0, 1.0),),
            "some": (Instance(1, 0.75), Instance(2, 0.25)),
            "everyone": (Instance(3, 0.5), Instance(4, 0.5)),
            "one": (Instance(5, 0.5), Instance(6, 0.5)),
        }
    )
    # Another batch may have gone through before the run ends.
    batch, *_ = run(
        spark, graph, load_code(path, graph), RateSource(8000), tmp_path / "run", deployment, 1
    )
    taken = {s.task: sum(i.tuples for i in s.inputs or ()) for s in batch.samples}
    assert taken[1] + taken[2] == 8000
    assert (taken[1], taken[2]) == (6000, 2000)
    assert (taken[3], taken[4]) == (8000, 8000)
    assert (taken[5], taken[6]) == (8000, 0)
    assert next(s for s in batch.samples if s.task == 0).produced == 8000


def test_levels_let_a_part_of_each_batch_through(spark, tmp_path):
    graph = topology("read>out")
    path = tmp_path / "mine.py"
    path.write_text(
        "streams = {'read': 'value bigint'}\ndef read(rows): return rows\n", encoding="utf-8"
    )
    source = RateSource(1000, levels=(0.25, 1.0))
    seen = run(spark, graph, load_code(path, graph), source, tmp_path / "run",
               Deployment.evenly(graph, 1), 2)  # fmt: skip
    produced = [sum(s.produced or 0 for s in batch.samples) for batch in seen]
    assert produced[:2] == [250, 1000]


def test_our_hash_of_a_whole_number_is_sparks(spark):
    rows = spark.range(-50, 2000).selectExpr("cast(id as int) as n", "hash(cast(id as int)) as h")
    assert all(hash_of_int(row.n) == row.h for row in rows.collect())


@pytest.mark.parametrize(
    "name", ["exclamation", "rollingcount", "uniquevisitor", "topn", "linear", "diamond", "star"]
)
def test_every_shipped_topology_runs_and_counts_what_it_takes_in(spark, name, tmp_path):
    graph = examples.load_topology(name)
    code = load_code(shipped_code(name), graph)
    batch, *_ = run(
        spark, graph, code, RateSource(200), tmp_path / "run", Deployment.evenly(graph, 1), 1
    )
    spouts = {c.name for c in graph.components if c.kind is Kind.SPOUT}
    taken = sum(s.produced for s in batch.samples if s.component in spouts)
    assert taken == 200
    put_out = {(s.component, o.stream): 0.0 for s in batch.samples for o in s.outputs}
    for sample in batch.samples:
        for out in sample.outputs:
            put_out[sample.component, out.stream] += out.tuples
    for stream in graph.streams:
        # What one component put out is what its subscriber took in, once per subscription.
        arrived = sum(
            entry.tuples
            for s in batch.samples
            if s.component == stream.target
            for entry in s.inputs or ()
            if (entry.component, entry.stream) == (stream.source, stream.name)
        )
        copies = 1
        if stream.grouping is Grouping.ALL:
            copies = sum(s.component == stream.target for s in batch.samples)
        assert arrived == copies * put_out.get((stream.source, stream.name), 0.0)


def test_what_ends_spark_is_told_in_one_line(spark, wordcount, tmp_path):
    graph, code = wordcount
    source = FileSource(tmp_path / "in", 1)
    text_files(source.folder, 1, seed=3)
    folder = tmp_path / "run"
    run(spark, graph, code, source, folder, Deployment.evenly(graph, 1), 1)
    (folder / "checkpoint" / "offsets" / "0").write_text("not an offset", encoding="utf-8")
    text_files(source.folder, 1, seed=4)
    with pytest.raises(SparkFailed, match="Spark ended the run: ") as told:
        run(spark, graph, code, source, folder, Deployment.evenly(graph, 1), 1)
    assert "\n" not in str(told.value)

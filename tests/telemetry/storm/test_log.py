"""Lines of LoggingMetricsConsumer: records of totals, and what the cut names still tell."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from penstock.model.telemetry import SAMPLE_FIELDS
from penstock.telemetry.ingest import from_columns
from penstock.telemetry.schemas import RECORD
from penstock.telemetry.storm.log import read_log

pytestmark = pytest.mark.spark

LOG = Path(__file__).parents[2] / "fixtures" / "storm-metrics" / "worker.log.metrics"
FIRST_S, SECOND_S = 1794729908, 1794729918
START_S = 1794700000


def line(second, who, name, value, *, host="h1", port=6700) -> str:
    """As LoggingMetricsConsumer writes it: names padded or cut to 23 characters."""
    stamp = f"2026-11-15 08:{second // 60:02}:{second % 60:02},000"
    task, component = who.split(":", 1)
    head = f"{START_S + second}\t{host:>15}:{port:<4}\t{task:>3}:{component:<11}"
    return f"{stamp} {head}\t{name:23.23}\t{value}"


def path(run: str, name: str = "worker.log.metrics") -> str:
    return f"file:///var/storm/workers-artifacts/{run}/6700/{name}"


def counts(second: int, who: str, *names_and_values: tuple[str, object]) -> list[str]:
    return [line(second, who, name, value) for name, value in names_and_values]


#: One made-up log per claim, told apart by the topology id in the path, read by one job.
MADE_UP = {
    # Two streams that begin alike and one that is whole, of a source that is not in the log.
    path("alike-1-1794700000"): [
        *counts(10, "2:b", ("__execute-count-a:default", 30), ("__execute-count-a:x", 5)),
        *counts(20, "2:b", ("__execute-count-a:default", 60), ("__execute-count-a:x", 6)),
        *counts(10, "3:c", ("__execute-count-src:defect", 7), ("__execute-count-src:default", 10)),
        *counts(20, "3:c", ("__execute-count-src:defect", 8), ("__execute-count-src:default", 20)),
        *counts(10, "4:d", ("__execute-count-kafka:default", 9)),
        *counts(20, "4:d", ("__execute-count-kafka:default", 9)),
        *counts(10, "9:src", ("__emit-count-default", 40), ("__emit-count-defect", 15)),
        *counts(20, "9:src", ("__emit-count-default", 80), ("__emit-count-defect", 16)),
    ],
    # Source names longer than the seven characters that are left.
    path("long-names-2-1794700000"): [
        *counts(10, "1:tokenizer", ("__emit-count-default", 4), ("__emit-count-clickevents", 3)),
        *counts(20, "1:tokenizer", ("__emit-count-default", 8), ("__emit-count-clickevents", 6)),
        *counts(10, "2:analyze-a", ("__emit-count-default", 5)),
        *counts(20, "2:analyze-a", ("__emit-count-default", 6)),
        *counts(10, "3:analyze-b", ("__emit-count-default", 5)),
        *counts(20, "3:analyze-b", ("__emit-count-default", 6)),
        *counts(10, "4:x", ("__execute-count-tokenizer:default", 4)),
        *counts(20, "4:x", ("__execute-count-tokenizer:default", 8)),
        *counts(10, "5:y", ("__execute-count-analyze-a:default", 5)),
        *counts(20, "5:y", ("__execute-count-analyze-a:default", 6)),
    ],
    # A gauge beside the counter; a restart at 25 s; one task of two streams and two latencies.
    path("times-3-1794700000"): [
        *counts(10, "2:b", ("__execute-count-a:b", 10), ("__execute-count-a:b.m1_rate", "2.0")),
        *counts(20, "2:b", ("__execute-count-a:b", 30), ("__execute-count-a:b.m1_rate", "2.0")),
        *counts(30, "2:b", ("__execute-count-a:b", 4), ("__execute-count-a:b.m1_rate", "1.0E-4")),
        *counts(9, "-1:__system", ("uptimeSecs", 100), ("workerCpuUsage", "0.25")),
        *counts(19, "-1:__system", ("uptimeSecs", 110), ("workerCpuUsage", "0.5")),
        *counts(29, "-1:__system", ("uptimeSecs", 4), ("workerCpuUsage", "0.75")),
        *counts(
            20,
            "7:z",
            ("__execute-count-a:b", 10),
            ("__execute-latency-a:b", "1.5"),
            ("__execute-latency-c:d", "2.5"),
            ("__process-latency-a:b", "0.0"),
            ("receive-queue-population", 8),
            ("receive-queue-capacity", 32),
        ),
    ],
    # A rotated log: its last moment goes on in the next file, and an old copy is still there.
    path("rotated-4-1794700000", "worker.log.metrics.1"): [
        *counts(10, "2:b", ("__execute-count-a:b", 1), ("__emit-count-s", 1)),
        *counts(20, "2:b", ("__execute-count-a:b", 2)),
    ],
    path("rotated-4-1794700000", "worker.log.metrics"): [
        *counts(20, "2:b", ("__emit-count-s", 2)),
        *counts(30, "2:b", ("__execute-count-a:b", 3), ("__emit-count-s", 3)),
    ],
    path("rotated-4-1794700000", "worker.log.metrics.bak"): [
        *counts(10, "2:b", ("__execute-count-a:b", 1), ("__emit-count-s", 1)),
    ],
    # Everything that is no metric, or no number where one is needed; and a task without counters.
    path("broken-5-1794700000"): [
        "",
        "2026-11-15 08:05:08,591 started",
        "\tat java.lang.Thread.run(Thread.java:840)",
        line(20, "2:b", "__execute-count-a:b", "many"),
        line(20, "2:b", "__emit-count-s", "-4"),
        line(20, "2:b", "__execute-latency-a:b", "NaN"),
        line(20, "2:b", "my-own-metric", "{anything=[]}"),
        line(20, "2:b", "__emit-count-ok", "4"),
        line(20, "5:c", "__emit-count-ok", "4"),
        line(20, "6:none", "my-own-metric", "3"),
    ],
    "file:///logs/worker.log.metrics": [
        *counts(10, "2:b", ("__execute-count-a:b", 10)),
        *counts(20, "2:b", ("__execute-count-a:b", 20)),
    ],
}


@pytest.fixture(scope="module")
def real(spark):
    lines = spark.read.text(str(LOG)).select("value", F.input_file_name().alias("file"))
    frames = read_log(lines, topology="lin3", sample_rate=1.0)
    return frames, frames.records.collect(), frames.set_aside.collect()


@pytest.fixture(scope="module")
def made_up(spark):
    rows = [(text, file) for file, texts in MADE_UP.items() for text in texts]
    lines = spark.createDataFrame(rows, "value string, file string")
    frames = read_log(lines, streams=[("kafka", "default")])
    return frames.records.collect(), frames.set_aside.collect()


def of_task(records, task, topology=None):
    found = [r for r in records if r.task == task and r.topology == topology]
    return sorted(found, key=lambda r: r.time_ms)


def named(entries):
    return [(e.component, e.stream, e.tuples) for e in entries]


# -- the log of a real worker ------------------------------------------------------------------


def test_the_frame_has_the_columns_of_the_record_and_the_file(real):
    frames, _, _ = real
    assert frames.records.columns == [*(f.name for f in SAMPLE_FIELDS), "file"]
    types = [field.dataType for field in frames.records.schema.fields[:-1]]
    assert types == [field.dataType for field in RECORD.fields]
    assert frames.set_aside.columns == ["raw", "reason", "field", "file"]


def test_a_record_per_task_and_moment_and_none_of_the_systems(real):
    _, records, _ = real
    seen = Counter((r.component, r.task) for r in records)
    # The acker's first moment is cut off by the file's beginning: see below.
    assert seen == {
        ("__acker", 1): 1,
        ("low", 11): 2,
        ("low", 12): 2,
        ("low", 13): 2,
        ("low", 14): 2,
        ("src", 27): 2,
    }
    assert {r.time_ms for r in records} == {FIRST_S * 1000, SECOND_S * 1000}
    assert {r.window_ms for r in records} == {10_000}
    assert {(r.topology, r.host, r.worker) for r in records} == {("lin3", "127.0.0.11", "6710")}
    assert {(r.counters, r.sample_rate) for r in records} == {("total", 1.0)}


def test_counters_are_told_from_rates_of_the_same_name(real):
    _, records, _ = real
    first, second = of_task(records, 11, "lin3")
    # __execute-count-src:def is there twice: 658, and 1.05 of its .m1_rate.
    assert named(first.inputs) == [("src", "default", 658.0)]
    assert [(o.stream, o.tuples) for o in first.outputs] == [("default", 658.0)]
    assert second.inputs == first.inputs  # totals, and nothing came in those ten seconds
    assert first.execute_ms == pytest.approx(2 / 3)


def test_streams_are_completed_from_what_their_source_emits(real):
    _, records, _ = real
    (acker,) = of_task(records, 1, "lin3")
    # low and src emit in this log; of mid and high it has nothing but the cut name.
    assert named(acker.inputs) == [
        ("high", "__…", 3266.0),
        ("low", "__ack_ack", 4143.0),
        ("mid", "__a…", 3269.0),
        ("src", "__ack_init", 5266.0),
    ]
    assert [(o.stream, o.tuples) for o in acker.outputs] == [("__ack_ack", 3266.0)]


def test_spouts_take_nothing_in(real):
    _, records, _ = real
    spout = of_task(records, 27, "lin3")[0]
    assert spout.inputs == []
    assert [(o.stream, o.tuples) for o in spout.outputs] == [("default", 5266.0)]
    assert spout.latency_ms == pytest.approx(899.6667, abs=1e-4)


def test_no_cpu_of_tasks_but_that_of_the_worker(real):
    _, records, _ = real
    assert {r.cpu_points for r in records} == {None}
    first, second = of_task(records, 12, "lin3")
    # workerCpuUsage 0.0714 and 0.0581 cores; memory.total.used 96007504 bytes; uptimeSecs 235.
    assert first.worker_cpu_points == pytest.approx(7.1446, abs=1e-4)
    assert second.worker_cpu_points == pytest.approx(5.8054, abs=1e-4)
    assert first.worker_memory_mb == pytest.approx(96007504 / 1024**2)
    assert (first.uptime_s, second.uptime_s) == (235.0, 245.0)
    assert first.queue_fill == 0.0


def test_a_moment_that_the_file_begins_inside_is_set_aside(real):
    _, _, set_aside = real
    # 19 lines of the acker at the top; ten seconds later it has 47.
    assert Counter(row.reason for row in set_aside) == {"cut off by the end of the file": 19}
    assert all(b"1:__acker" in row.raw for row in set_aside)


def test_the_pipeline_takes_the_records_as_they_are(spark, real):
    frames, records, _ = real
    read = spark.createDataFrame(records, frames.records.schema)
    judged = from_columns(read, {"127.0.0.11": "big"}, now_ms=SECOND_S * 1000).collect()
    assert len(judged) == len(records)
    assert {(r.machine_type, r.reason) for r in judged} == {("big", None)}


# -- made-up logs ------------------------------------------------------------------------------


def test_streams_alike_in_their_first_letters_are_summed_and_marked(made_up):
    records, _ = made_up
    first, second = of_task(records, 3, "alike")
    assert named(first.inputs) == [("src", "def…", 17.0)]  # 7 + 10
    assert named(second.inputs) == [("src", "def…", 28.0)]
    # Their source has room for three letters more, and they are whole.
    spout = of_task(records, 9, "alike")[0]
    assert [(o.stream, o.tuples) for o in spout.outputs] == [("default", 40.0), ("defect", 15.0)]


def test_a_source_that_is_not_in_the_log_keeps_what_its_name_shows(made_up):
    records, _ = made_up
    first, _ = of_task(records, 2, "alike")
    # a:default is cut to a:defau; a:x is whole.
    assert named(first.inputs) == [("a", "defau…", 30.0), ("a", "x", 5.0)]


def test_sources_longer_than_the_room_are_found_where_only_one_fits(made_up):
    records, _ = made_up
    # tokeniz: tokenizer emits two streams; clickevents is cut to ten letters.
    assert named(of_task(records, 4, "long-names")[0].inputs) == [("tokenizer", "…", 4.0)]
    outputs = of_task(records, 1, "long-names")[0].outputs
    assert [(o.stream, o.tuples) for o in outputs] == [("clickevent…", 3.0), ("default", 4.0)]
    # analyze: of analyze-a or of analyze-b.
    assert named(of_task(records, 5, "long-names")[0].inputs) == [("analyze…", "…", 5.0)]


def test_streams_known_from_elsewhere_complete_names(made_up):
    records, _ = made_up
    # kafka:d is cut from kafka:default, which nobody emits in this log.
    assert named(of_task(records, 4, "alike")[0].inputs) == [("kafka", "default", 9.0)]


def test_windows_end_with_the_process(made_up):
    records, _ = made_up
    found = of_task(records, 2, "times")
    # 10 s as the next one, 10 s since the last, and 4 s since the restart.
    assert [r.window_ms for r in found] == [10_000, 10_000, 4_000]
    assert [r.inputs[0].tuples for r in found] == [10.0, 30.0, 4.0]
    # __system reported a second earlier.
    assert [r.worker_cpu_points for r in found] == [25.0, 50.0, 75.0]
    # A task seen once has no other window than its worker's life.
    assert [r.window_ms for r in of_task(records, 7, "times")] == [110_000]


def test_means_that_cannot_be_weighed_are_absent(made_up):
    records, _ = made_up
    (seen,) = of_task(records, 7, "times")
    assert (seen.execute_ms, seen.process_ms) == (None, None)
    assert seen.queue_fill == 0.25


def test_a_rotated_log_is_read_as_one(made_up):
    records, _ = made_up
    found = of_task(records, 2, "rotated")
    assert [(r.inputs[0].tuples, r.outputs[0].tuples) for r in found] == [(1, 1), (2, 2), (3, 3)]
    assert {r.run for r in found} == {"rotated-4-1794700000"}


def test_bad_lines_are_set_aside_with_their_reason_and_the_rest_is_used(made_up):
    records, set_aside = made_up
    seen = sorted((row.reason, row.field, row.raw.decode().split()[-1]) for row in set_aside)
    assert seen == [
        ("negative number", "__emit-count-s", "-4"),
        ("not a finite number", "__execute-latency-a:b", "NaN"),
        ("not a line of metrics", "", "java.lang.Thread.run(Thread.java:840)"),
        ("not a line of metrics", "", "started"),
        ("wrong type", "__execute-count-a:b", "many"),
    ]
    # A counter that cannot be read leaves a sum that would be too small.
    (spoiled,) = of_task(records, 2, "broken")
    assert (spoiled.inputs, spoiled.outputs) == (None, None)
    # Counters, and none of them an input: nothing came in. No counters at all: not known.
    (kept,) = of_task(records, 5, "broken")
    assert (kept.inputs, [(o.stream, o.tuples) for o in kept.outputs]) == ([], [("ok", 4.0)])
    (bare,) = of_task(records, 6, "broken")
    assert (bare.inputs, bare.outputs, bare.window_ms) == (None, None, None)


def test_without_storms_folders_the_topology_must_be_given(made_up):
    records, _ = made_up
    assert [(r.topology, r.run) for r in of_task(records, 2)] == [(None, None)] * 2

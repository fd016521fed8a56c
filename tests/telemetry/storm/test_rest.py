"""Answers of Storm's UI: one sample per executor, totals since its start, and no CPU."""

import copy
import json
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.model.telemetry import Counters, Input, Output
from penstock.telemetry.storm.rest import dated_by_heartbeat, read_rest_folder, samples_of_answer

FOLDER = Path(__file__).parents[2] / "fixtures" / "storm-rest"
TYPES = {"127.0.0.11": "big", "127.0.0.12": "middle", "127.0.0.13": "small"}
NOW_MS = 1794730800000


def answer(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def samples() -> dict:
    found = read_rest_folder(FOLDER, TYPES)
    return {(s.topology, s.component, s.task): s for s in found}


def test_one_sample_per_executor_under_its_first_task(samples):
    # high has executors [2-3], [4-5], [6-7] and [8-9].
    assert sorted(samples) == [
        ("diamond", "store", 18),
        ("diamond", "store", 20),
        ("lin3", "__acker", 1),
        ("lin3", "high", 2),
        ("lin3", "high", 4),
        ("lin3", "high", 6),
        ("lin3", "high", 8),
        ("lin3", "src", 26),
    ]
    high = samples["lin3", "high", 6]
    assert (high.host, high.worker, high.machine_type) == ("127.0.0.13", "6730", "small")
    assert high.run == "lin3-3-1794729937"
    assert high.counters is Counters.TOTAL
    assert (high.window_ms, high.uptime_s) == (191_000, 191.0)
    assert (high.execute_ms, high.process_ms, high.latency_ms) == (11.44, 11.092, None)


def test_requests_are_never_taken_for_measurements(samples):
    # The answers say requestedCpu 10.0 and requestedMemOnHeap 128.0.
    for sample in samples.values():
        assert sample.cpu_points is sample.worker_cpu_points is None
        assert sample.memory_mb is sample.worker_memory_mb is None


def test_counts_by_stream_are_the_components_in_the_executors_share(samples):
    # 5288 emitted, half of them acks (8904 of 17808 at the component).
    assert samples["lin3", "high", 6].inputs == (Input("mid", "default", 2644.0),)
    assert samples["lin3", "high", 6].outputs == (Output("default", 2644.0),)
    # 28800 of 57600 executed, from count 9780, alert 38760 and geo 9060: half of each.
    store = samples["diamond", "store", 20]
    assert store.inputs == (
        Input("alert", "default", 19380.0),
        Input("count", "default", 4890.0),
        Input("geo", "default", 4530.0),
    )
    # 57620 emitted, 56900 of 115240 on default: 28450.
    assert store.outputs == (Output("default", 28450.0),)


def test_spouts_take_nothing_in_and_have_a_complete_latency(samples):
    spout = samples["lin3", "src", 26]
    assert spout.inputs == ()
    assert spout.outputs == (Output("default", 6949.0),)
    assert (spout.latency_ms, spout.execute_ms) == (272.11, None)


def test_ackers_keep_their_own_streams(samples):
    acker = samples["lin3", "__acker", 1]
    # 42314 executed in all, 5 of them ticks of __system, which are no tuples.
    assert sum(entry.tuples for entry in acker.inputs) == pytest.approx(42309)
    assert acker.inputs[0] == Input("high", "__ack_ack", 10573.0)
    assert acker.outputs == (Output("__ack_ack", 10572.0),)


def test_the_topologys_answer_gives_sample_rate_and_time(samples):
    assert samples["lin3", "high", 6].sample_rate == 1.0
    assert samples["diamond", "store", 20].sample_rate == 0.05
    # Submitted at 1794729937, 786 s old: asked at ...730723. Worker 6710 was 182 s old in both
    # answers; 6730 had aged from 130 to 191 s when the component was asked for, 61 s later.
    assert samples["lin3", "high", 2].time_ms == 1794730723_000
    assert samples["lin3", "high", 6].time_ms == (1794730723 + 61) * 1000


def test_a_parsed_answer_is_dated_by_whoever_asked():
    found = samples_of_answer(answer("topology-lin3-component-high"), time_ms=NOW_MS)
    assert {s.time_ms for s in found} == {NOW_MS}
    assert {s.machine_type for s in found} == {None}
    assert {s.sample_rate for s in found} == {None}


def test_an_answer_for_ten_minutes_counts_that_window_alone():
    changed = answer("topology-lin3-component-high") | {"window": "600"}
    changed["executorStats"][0]["uptimeSeconds"] = 5000
    found = {s.task: s for s in samples_of_answer(changed, time_ms=NOW_MS)}
    assert (found[6].window_ms, found[6].counters) == (600_000, Counters.DELTA)
    assert found[2].window_ms == 182_000  # younger than the window


def test_what_is_not_told_is_absent_and_not_zero():
    changed = answer("topology-lin3-component-high")
    first, second, third, fourth = changed["executorStats"]
    first["executed"] = None
    second |= {"executed": 0, "acked": 0, "executeLatency": "0.000"}
    third["uptimeSeconds"] = 0  # just started
    fourth["emitted"] = 0
    del changed["outputStats"]
    found = {s.task: s for s in samples_of_answer(changed, time_ms=NOW_MS)}
    assert sorted(found) == [4, 6, 8]
    assert found[6].inputs is None
    assert found[4].inputs == (Input("mid", "default", 0.0),)
    assert found[4].execute_ms is None
    assert found[6].outputs is None
    assert found[8].outputs == ()


def test_polls_are_dated_by_heartbeat_and_repeats_dropped():
    def poll(time_ms, uptime_s, executed):
        changed = answer("topology-lin3-component-high")
        changed["executorStats"] = changed["executorStats"][:1]
        changed["executorStats"][0] |= {"uptimeSeconds": uptime_s, "executed": executed}
        return samples_of_answer(changed, time_ms=time_ms)

    # Heartbeats at 100 and 160 s of age; seen 5, 35 (again) and 1 s later. Then a new process.
    found = dated_by_heartbeat(
        [
            *poll(1_000_105_000, 100, 500),
            *poll(1_000_135_000, 100, 500),
            *poll(1_000_161_000, 160, 800),
            *poll(1_000_300_000, 30, 90),
        ]
    )
    # The worker began at the latest at 161 - 160 = 1 s: the counts are of 101, 161 and 300 s.
    assert [s.time_ms - 1_000_000_000 for s in found] == [101_000, 161_000, 300_000]
    assert [s.inputs[0].tuples for s in found] == [500, 800, 90]


def test_everything_wrong_in_an_answer_is_said_at_once():
    changed = copy.deepcopy(answer("topology-lin3-component-high"))
    changed["window"] = "now"
    changed["executorStats"][0] |= {"id": "6-7", "executed": -1, "executeLatency": "fast"}
    del changed["executorStats"][1]["host"]
    with pytest.raises(InputError) as caught:
        samples_of_answer(changed, time_ms=NOW_MS, name="answer")
    assert [f.field for f in caught.value.findings] == [
        "window",
        "executorStats[0].id",
        "executorStats[0].executed",
        "executorStats[0].executeLatency",
        "executorStats[1].host",
    ]
    assert 'executorStats[0].id: must be a range of tasks such as [6-7], not "6-7"' in str(
        caught.value
    )


def test_all_files_of_a_folder_are_checked(tmp_path):
    for name in ("topology-lin3", "topology-lin3-component-high"):
        (tmp_path / f"{name}.json").write_text(json.dumps(answer(name), indent=1))
    (tmp_path / "topology-lin3-component-low.json").write_text('{"id": "low",\n "name": 3}')
    (tmp_path / "topology-other-component-x.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        read_rest_folder(tmp_path)
    text = str(caught.value)
    assert "topology-lin3-component-low.json:2 name: must be text" in text
    assert "topology-other-component-x.json: has no clock: record topology-other.json" in text


def test_a_given_time_needs_no_topology_answer(tmp_path):
    name = "topology-lin3-component-src.json"
    (tmp_path / name).write_text(json.dumps(answer("topology-lin3-component-src")))
    (sample,) = read_rest_folder(tmp_path, time_ms=NOW_MS)
    assert (sample.time_ms, sample.sample_rate) == (NOW_MS, None)


@pytest.mark.parametrize(
    ("make", "message"), [(True, "holds no topology-"), (False, "no such folder")]
)
def test_a_folder_without_answers_is_refused(tmp_path, make, message):
    folder = tmp_path / "answers"
    if make:
        folder.mkdir()
    with pytest.raises(InputError, match=message):
        read_rest_folder(folder)

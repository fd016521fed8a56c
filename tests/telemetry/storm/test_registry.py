"""Registry dumps: exact CPU and streams, from what changed between two moments."""

from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.model.telemetry import Counters, Input, Output
from penstock.telemetry.storm.registry import read_registry, samples_of_registry

DUMP = Path(__file__).parents[2] / "fixtures" / "storm-metrics" / "registry-and-threads.txt"
BEFORE, AFTER = 1794731749545, 1794731779545


@pytest.fixture(scope="module")
def samples() -> dict:
    return {s.component: s for s in read_registry(DUMP, {"localhost": "big"})}


def test_every_executor_but_the_systems_own_gives_one_sample(samples):
    assert sorted(samples) == ["__acker", "high", "low", "mid", "src"]
    high = samples["high"]
    assert (high.time_ms, high.window_ms) == (AFTER, AFTER - BEFORE) == (AFTER, 30_000)
    assert (high.topology, high.run) == ("rmax", "rmax-2-1794731337")
    assert (high.task, high.host, high.worker) == (2, "localhost", "6710")
    assert (high.machine_type, high.counters) == ("big", Counters.DELTA)


def test_tuples_are_what_the_counters_grew_by(samples):
    # __execute-count-mid:default 26502 -> 28523, __emit-count-default 26502 -> 28523.
    assert samples["high"].inputs == (Input("mid", "default", 2021.0),)
    assert samples["high"].outputs == (Output("default", 2021.0),)
    # 39763 -> 42800 in, 39763 -> 42801 out; the acks beside them are the acker's business.
    assert samples["mid"].inputs == (Input("low", "default", 3037.0),)
    assert samples["mid"].outputs == (Output("default", 3038.0),)
    # 79535 -> 85608; a spout takes nothing in.
    assert samples["src"].inputs == ()
    assert samples["src"].outputs == (Output("default", 6073.0),)


def test_ackers_are_measured_and_their_ticks_are_no_tuples(samples):
    acker = samples["__acker"]
    assert acker.inputs == (
        Input("high", "__ack_ack", 6073.0),  # 79475 -> 85548
        Input("low", "__ack_ack", 6075.0),  # 79527 -> 85602
        Input("mid", "__ack_ack", 6064.0),  # 79507 -> 85571
        Input("src", "__ack_init", 6072.0),  # 79535 -> 85607
    )
    assert acker.outputs == (Output("__ack_ack", 6073.0),)
    assert acker.cpu_points == pytest.approx(1.76, abs=0.01)


def test_cpu_points_are_the_threads_nanoseconds(samples):
    # 10 % of a core over 30 s are 3e9 ns. Of the process: 237560 - 221090 ms = 16470 ms in 30 s.
    assert samples["high"].worker_cpu_points == pytest.approx(16_470 / 30_000 * 100)
    assert samples["high"].cpu_points == pytest.approx(21.8269, abs=1e-4)
    assert samples["mid"].cpu_points == pytest.approx(16.9043, abs=1e-4)
    assert samples["low"].cpu_points == pytest.approx(8.9776, abs=1e-4)
    # The worker itself: 54.9 less the executors' 50.6; 3 to 6 points when warm.
    own = 54.9 - sum(s.cpu_points for s in samples.values())
    assert 3 < own < 6


@pytest.mark.parametrize(
    ("component", "points_per_tuple_s", "met"),
    [("high", 0.293, 1.7), ("mid", 0.143, 1.8), ("low", 0.0713, 1.5)],
)
def test_cpu_agrees_with_the_costs_measured_in_another_run(
    samples, component, points_per_tuple_s, met
):
    # high: 67.37/s * 0.293 + 1.7 = 21.44 against 21.83; the study itself spreads by 5 %.
    sample = samples[component]
    rate = sum(entry.tuples for entry in sample.inputs) / 30
    assert sample.cpu_points == pytest.approx(points_per_tuple_s * rate + met, rel=0.05)


def test_gauges_are_those_of_the_windows_end(samples):
    assert samples["high"].execute_ms == pytest.approx(20 / 3)
    assert samples["mid"].process_ms == 3.0
    assert samples["src"].latency_ms == 375.0
    assert samples["src"].execute_ms is None
    assert samples["__acker"].queue_fill == 2 / 32768
    assert samples["high"].queue_fill == 0.0
    assert samples["high"].worker_memory_mb == pytest.approx(85872824 / 1024**2)
    assert samples["high"].memory_mb is None
    # 423,731 - 393,806 = 29,925 ms of 30 s: recorded at its limit.
    assert samples["src"].held_back == pytest.approx(0.9975)
    assert samples["high"].held_back is None
    assert samples["high"].uptime_s == 438.0


def lines(time_ms: int, cpu_ns: int, *metrics: str) -> list[str]:
    head = "storm.worker.t-1-1794731337.h_example_org"
    return [
        f"{time_ms} thread Thread-7-word.count-executor[4,_5] {cpu_ns}",
        *[
            f"{time_ms} {m.split()[0]} {head}.word_count.{m.split()[1]} {m.split()[2]}"
            for m in metrics
        ],
    ]


def test_an_executor_of_two_tasks_is_one_sample_of_their_sum():
    (sample,) = samples_of_registry(
        [
            *lines(1794731700000, 0, "counter s.4.6700-__execute-count-a.b:x.y 100"),
            *lines(
                1794731710000,
                2_000_000_000,
                "counter s.4.6700-__execute-count-a.b:x.y 130",
                "counter s.5.6700-__execute-count-a.b:x.y 12",
                "gauge s.4.6700-__execute-latency-a.b:x.y 1.0",
                "gauge s.5.6700-__execute-latency-a.b:x.y 2.5",
            ),
        ],
        {"h.example.org": "small"},
        host="h.example.org",
    )
    # The thread and the metric have the true names, dots and all. 30 + 12 tuples; 2 s in 10 s.
    assert (sample.component, sample.task, sample.last_task) == ("word.count", 4, 5)
    assert sample.inputs == (Input("a.b", "x.y", 42.0),)
    assert sample.cpu_points == 20.0
    assert (sample.host, sample.machine_type) == ("h.example.org", "small")
    assert sample.worker_cpu_points is None


def test_a_window_with_a_restart_gives_no_sample():
    counter = "counter s.4.6700-__execute-count-a:b"
    dump = [
        *lines(1794731700000, 10, f"{counter} 100"),
        *lines(1794731710000, 5, f"{counter} 7"),
        *lines(1794731720000, 1_000_000_005, f"{counter} 9"),
    ]
    (sample,) = samples_of_registry(dump)
    assert (sample.time_ms, sample.cpu_points) == (1794731720000, 10.0)
    assert sample.inputs == (Input("a", "b", 2.0),)


def test_all_mistakes_come_at_once_with_their_lines():
    with pytest.raises(InputError) as caught:
        samples_of_registry(
            ["soon counter a 1", "1794731700000 thread a x", "1794731700000 process cpu -1"],
            name="dump.txt",
        )
    assert [f.line for f in caught.value.findings] == [1, 2, 3]
    assert "dump.txt:2: a must be a number" in str(caught.value)


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ([], "holds 0 moments"),
        (lines(1794731700000, 1), "holds 1 moments"),
        (["1794731700000 process cpu 1", "1794731710000 process cpu 2"], "no threads"),
        ([*lines(1794731700000, 1), *lines(1794731710000, 2)], "must hold one worker"),
    ],
)
def test_a_dump_without_a_rate_in_it_is_refused(dump, message):
    with pytest.raises(InputError, match=message):
        samples_of_registry(dump)


def test_no_such_file():
    with pytest.raises(InputError, match="cannot be read"):
        read_registry("/nowhere/dump.txt")

"""Synthetic telemetry says what the model says, and goes wrong just as asked."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.builders import cluster, place, profile, topology

from penstock.errors import InputError
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.telemetry import SAMPLE_FIELDS, Counters
from penstock.telemetry.arrow_record import record_schema
from penstock_bench.generate import Size, generate
from penstock_bench.synthetic import (
    Behaviour,
    InjectedDrift,
    InjectedFaults,
    Noise,
    Recording,
    batches,
    levels,
    random_walk,
    record_batches,
    streams_apart,
    truth,
    write_json_lines,
    write_parquet,
)
from penstock_bench.synthetic.counts import TupleCounters

START_MS = 1_767_225_600_000


def two_bolts(**options: Any) -> Recording:
    """a -> b with two tuples of 100 bytes out for each one in; b twice, 10 and 20 tuples/s."""
    problem = build(
        topology("a>b", streams={"a>b": {"selectivity": 2.0, "tuple_bytes": 100.0}}),
        cluster(M1=2),
        profile(met=1.5, a=0.1, b=0.2, memory_mb={"a": 64.0, "b": 128.0}),
    )
    placement = place(problem, "a M1-1", "b M1-1", "b M1-2/1")
    scale = options.pop("scale", np.array([10.0, 20.0]))
    return Recording(problem=problem, placement=placement, scale=scale, **options)


def generated(windows: int = 12, **options: Any) -> Recording:
    """Twelve components of all groupings, two instances each, on five machines."""
    made = generate(Size(components=12, machines=5, types=2, mixed_groupings=True), seed=3)
    apart = [streams_apart(t) for t in made.topologies]
    problem = build(apart, made.cluster, made.profile)
    component = np.repeat(np.arange(12), 2)
    rng = np.random.default_rng(0)
    placement = Placement.of(component, rng.integers(0, 5, 24), rng.integers(0, 2, 24))
    scale = levels(100.0, windows, rng)
    return Recording(problem=problem, placement=placement, scale=scale, **options)


def records(recording: Recording, seed: int = 1) -> list[dict[str, Any]]:
    made = record_batches(recording, np.random.default_rng(seed))
    return [_present(r) for batch in made for r in batch.to_pylist()]


def _present(value: Any) -> Any:
    """Without what is null, as a JSON line has it."""
    if isinstance(value, dict):
        return {k: _present(v) for k, v in value.items() if v is not None}
    return [_present(v) for v in value] if isinstance(value, list) else value


def column(recording: Recording, field: str, seed: int = 1) -> np.ndarray:
    """One field, a row per window and a column per instance."""
    values = [r[field] for r in records(recording, seed)]
    return np.array(values).reshape(recording.windows, -1)


# -- the model -------------------------------------------------------------------------------


def test_without_noise_a_record_is_what_eq_5_says() -> None:
    spout, first, second = records(two_bolts())[3:]  # the second window: 20 tuples/s
    assert spout == {
        "version": 1,
        "time_ms": START_MS + 20_000,
        "window_ms": 10_000,
        "topology": "t",
        "component": "a",
        "task": 1,
        "host": "M1-1",
        "machine_type": "M1",
        "worker": "6700",
        "run": "t-1-1767225600",
        "rack": "rack-1",
        "outputs": [{"stream": "default", "tuples": 400.0, "bytes": 40_000.0}],
        "produced": 200.0,  # 20 tuples/s for 10 s
        "cpu_points": 3.5,  # 0.1 * 20 + 1.5
        "worker_cpu_points": 9.0,  # with the 5.5 of the b beside it
        "memory_mb": 64.0,
        "worker_memory_mb": 192.0,
        "latency_ms": spout["latency_ms"],
        "uptime_s": 3620.0,
    }
    took = [{"component": "a", "stream": "default", "tuples": 200.0, "bytes": 20_000.0}]
    assert first["inputs"] == second["inputs"] == took
    assert first["cpu_points"] == 5.5  # 0.2 * 20 + 1.5
    assert (first["task"], second["task"]) == (2, 3)
    assert (second["host"], second["worker"]) == ("M1-2", "6701")
    assert second["worker_cpu_points"] == 5.5
    assert "produced" not in first
    assert "outputs" not in first
    assert "execute_ms" in first
    assert "execute_ms" not in spout


def test_a_worker_costs_what_its_machine_type_says_else_what_the_recording_says() -> None:
    plain = two_bolts(worker_cpu_points=4.0)
    assert column(plain, "worker_cpu_points")[1].tolist() == [13.0, 13.0, 9.5]
    typed = build(
        plain.problem.topologies,
        cluster(M1=2, every={"worker_cpu_points": 3.0}),
        plain.problem.profile,
    )
    told = column(replace(plain, problem=typed), "worker_cpu_points")
    assert told[1].tolist() == [12.0, 12.0, 8.5]


def test_what_goes_out_comes_in() -> None:
    sent: Counter[tuple[int, str, str]] = Counter()
    taken: Counter[tuple[int, str, str]] = Counter()
    for record in records(generated()):
        for out in record.get("outputs", []):
            sent[record["time_ms"], record["component"], out["stream"]] += out["tuples"]
        for entry in record.get("inputs", []):
            taken[record["time_ms"], entry["component"], entry["stream"]] += entry["tuples"]
    # One subscriber each once streams stand apart, but for streams that were alike by chance.
    assert taken == pytest.approx(sent)


def test_cpu_follows_the_tuples_counted_even_when_they_come_at_random() -> None:
    made = two_bolts(noise=Noise(poisson=True), scale=np.full(500, 10.0))
    taken = np.array([r["inputs"][0]["tuples"] for r in records(made) if r["component"] == "b"])
    cpu = np.array([r["cpu_points"] for r in records(made) if r["component"] == "b"])
    assert cpu == pytest.approx(0.2 * taken / 10.0 + 1.5)
    # 1,000 Poisson counts of mean 100: the mean's error is 10 / sqrt(1000) = 0.32.
    assert taken.mean() == pytest.approx(100.0, abs=4 * 0.32)
    assert taken.var() == pytest.approx(100.0, rel=0.2)


def test_inputs_by_task_add_up_to_inputs_by_component_and_to_the_true_traffic() -> None:
    made = generated()
    told: Counter[tuple[Any, ...]] = Counter()
    for record in records(replace(made, by_task=True)):
        for entry in record.get("inputs", []):
            ends = (entry["component"], entry["task"], record["component"], record["task"])
            told[*ends, entry["stream"]] += entry["tuples"] / (made.windows * 10.0)
    real = truth(made.problem, made.placement, float(made.scale.mean()))
    assert {k: v for k, v in told.items() if v} == pytest.approx(
        {(e.source, e.source_task, e.target, e.target_task, e.name): e.tuples_per_s
         for e in real.traffic}
    )  # fmt: skip
    by_component = sum(e["tuples"] for r in records(made) for e in r.get("inputs", []))
    assert sum(told.values()) * made.windows * 10.0 == pytest.approx(by_component)


def test_the_truth_names_costs_streams_and_memory() -> None:
    made = two_bolts()
    real = truth(made.problem, made.placement, 15.0)
    assert {place: (c.e, c.met) for place, c in real.costs.items()} == {
        ("a", "M1"): (0.1, 1.5),
        ("b", "M1"): (0.2, 1.5),
    }
    assert real.memory_mb == {"a": 64.0, "b": 128.0}
    (stream,) = real.streams
    assert (stream.selectivity, stream.tuple_bytes, stream.tuples_per_s) == (2.0, 100.0, 30.0)
    assert [(e.source_task, e.target_task, e.bytes_per_s) for e in real.traffic] == [
        (1, 2, 1500.0),
        (1, 3, 1500.0),
    ]


def test_streams_of_one_name_must_be_the_same_tuples() -> None:
    contrary = topology("a>b a>c", streams={"a>b": {"selectivity": 2.0}})
    costs = profile(a=1.0, b=1.0, c=1.0, on=("M1",))

    def on_one_machine(problem: Problem) -> Recording:
        placement = place(problem, "a M1-1", "b M1-1", "c M1-1")
        return Recording(problem=problem, placement=placement, scale=np.ones(1))

    with pytest.raises(InputError, match=r"component a: streams named .default. have unlike"):
        records(on_one_machine(build(contrary, cluster(M1=1), costs)))
    spout, *_ = records(on_one_machine(build(streams_apart(contrary), cluster(M1=1), costs)))
    assert [(o["stream"], o["tuples"]) for o in spout["outputs"]] == [
        ("default-b", 20.0),
        ("default-c", 10.0),
    ]


# -- noise and counting ----------------------------------------------------------------------


def test_noise_has_the_spread_asked_for() -> None:
    made = two_bolts(scale=np.full(4000, 20.0), noise=Noise(cpu_relative=0.1, cpu_points=0.5))
    cpu = column(made, "cpu_points")[:, 1]
    # Of 5.5 points: sqrt(0.55^2 + 0.5^2) = 0.743.
    assert cpu.std() == pytest.approx(0.743, rel=0.05)
    assert cpu.mean() == pytest.approx(5.5, abs=4 * 0.743 / 63)


def test_the_even_sampler_is_never_off_by_a_block_never_falls_and_is_right_on_average() -> None:
    rng = np.random.default_rng(5)
    truly = rng.integers(0, 100, size=(50, 2000)).astype(float)
    counters = TupleCounters(np.zeros(2000), sample_rate=0.05, totals=False, salt=7)
    told = np.concatenate([counters.read(truly[:20], None), counters.read(truly[20:], None)])
    assert told.min() >= 0
    assert not (told % 20).any()
    off = np.cumsum(told, axis=0) - np.cumsum(truly, axis=0)
    assert np.abs(off).max() < 20
    # One block of 20 is in doubt at an edge: at most 10 off (sd), 0.22 for the mean of 2,000.
    assert np.abs(off.mean(axis=1)).max() < 4 * 0.22


@pytest.mark.parametrize("sample_rate", [1.0, 0.05])
@pytest.mark.parametrize("restarts", [0.0, 0.2])
def test_totals_differenced_are_the_deltas(sample_rate: float, restarts: float) -> None:
    noise = Noise(poisson=True, sample_rate=sample_rate)
    made = generated(40, noise=noise, faults=InjectedFaults(restarts=restarts))
    deltas = records(made)
    totals = records(replace(made, counters=Counters.TOTAL))
    before: dict[tuple[Any, ...], float] = {}
    restarted = 0
    for delta, total in zip(deltas, totals, strict=True):
        assert total["counters"] == "total"
        for field in ("inputs", "outputs"):
            for change, shown in zip(delta.get(field, []), total.get(field, []), strict=True):
                key = (total["task"], field, shown.get("component"), shown["stream"])
                new = total["uptime_s"] == 10.0
                restarted += new
                if new or key in before:
                    risen = shown["tuples"] - (0.0 if new else before[key])
                    assert risen == pytest.approx(change["tuples"], abs=1e-6)
                before[key] = shown["tuples"]
    assert (restarted > 0) == (restarts > 0)


# -- faults ----------------------------------------------------------------------------------


def test_a_restart_sets_back_all_tasks_of_the_worker_and_costs_double_for_a_minute() -> None:
    made = two_bolts(
        scale=np.full(200, 20.0), window_ms=40_000, faults=InjectedFaults(restarts=0.1)
    )
    uptime, cpu = column(made, "uptime_s"), column(made, "cpu_points")
    assert (uptime[:, 0] == uptime[:, 1]).all()  # one worker
    assert (uptime[:, 0] != uptime[:, 2]).any()  # another one
    # 5.5 points; 60 s of double cost are one window of 40 s and half of the next.
    assert (cpu[:, 1][uptime[:, 1] == 40.0] == 11.0).all()
    assert (cpu[:, 1][uptime[:, 1] == 80.0] == 8.25).all()
    assert (cpu[:, 1][uptime[:, 1] > 80.0] == 5.5).all()
    restarts = (uptime[:, [0, 2]] == 40.0).mean()
    assert restarts == pytest.approx(0.1, abs=4 * 0.015)  # of 400


@pytest.mark.slow
def test_outliers_are_readings_of_zero_or_several_times_too_high() -> None:
    made = two_bolts(scale=np.full(4000, 20.0), faults=InjectedFaults(outliers=0.08))
    ratio = column(made, "cpu_points") / column(two_bolts(scale=made.scale), "cpu_points")
    bad = ratio[np.abs(ratio - 1.0) > 1e-9]
    assert len(bad) / ratio.size == pytest.approx(0.08, abs=4 * 0.0025)
    assert (bad == 0).mean() == pytest.approx(0.25, abs=0.06)
    assert bad[bad > 0].min() >= 3.0
    assert bad.max() <= 10.0


def test_idle_executors_spin_and_stop_under_load() -> None:
    spin = Behaviour(spin_points=16.0, spin_ends_per_s=20.0)
    cpu = column(two_bolts(behaviour=spin), "cpu_points")
    # a at 10/s: 2.5 + 16 * (1 - 10/20); at 20/s the spin is over.
    assert cpu[:, 0].tolist() == [10.5, 3.5]


def test_drift_changes_one_component_from_a_moment_on() -> None:
    drift = InjectedDrift(component="b", factor=1.5, from_ms=START_MS + 10_000)
    cpu = column(two_bolts(behaviour=Behaviour(drifts=(drift,))), "cpu_points")
    # b: 0.2 * 10 + 1.5, then 0.3 * 20 + 1.5.
    assert cpu.ravel().tolist() == pytest.approx([2.5, 3.5, 3.5, 3.5, 7.5, 7.5])


def test_saturation_bends_cpu_near_the_machines_limit_only() -> None:
    bent = two_bolts(behaviour=Behaviour(saturation_order=8.0), scale=np.array([20.0, 300.0]))
    cpu = column(bent, "cpu_points")
    # M1-1 at 20/s: 9 of 100 points. At 300/s: 31.5 + 61.5 = 93, so all of it / (1 + 0.93^8)^(1/8).
    assert cpu[0].tolist() == pytest.approx([3.5, 5.5, 5.5])
    assert cpu[1, :2].tolist() == pytest.approx(
        [31.5 / (1 + 0.93**8) ** 0.125, 61.5 / (1 + 0.93**8) ** 0.125]
    )


def test_each_host_has_one_clock() -> None:
    made = generated(faults=InjectedFaults(clock_skew_ms=3000))
    right = column(generated(), "time_ms")
    skew = column(made, "time_ms") - right
    assert (skew == skew[0]).all()
    by_host: dict[int, set[int]] = {}
    for machine, ms in zip(made.placement.machine.tolist(), skew[0].tolist(), strict=True):
        by_host.setdefault(machine, set()).add(ms)
    assert all(len(offsets) == 1 for offsets in by_host.values())
    assert 0 < np.abs(skew).max() <= 3000


def test_one_fault_more_leaves_the_other_draws_as_they_were() -> None:
    noise = Noise(cpu_relative=0.1, poisson=True)
    plain, spoilt = (
        column(generated(noise=noise, faults=f), "worker_cpu_points")
        for f in (InjectedFaults(), InjectedFaults(outliers=0.5, clock_skew_ms=100))
    )
    assert (plain == spoilt).all()


# -- files -----------------------------------------------------------------------------------

EVERYTHING = {
    "noise": Noise(cpu_relative=0.05, cpu_points=0.2, poisson=True, sample_rate=0.05),
    "faults": InjectedFaults(
        outliers=0.02,
        restarts=0.02,
        duplicates=0.1,
        out_of_order=0.2,
        late=0.1,
        lost=0.05,
        clock_skew_ms=50,
    ),
}


def _lines(paths: tuple[Path, ...]) -> list[str]:
    return [line for path in paths for line in path.read_text().splitlines()]


def test_parquet_and_json_lines_hold_the_same_records(tmp_path: Path) -> None:
    made = generated(60, by_task=True, **EVERYTHING)
    text = write_json_lines(made, tmp_path / "json", np.random.default_rng(2), files=4)
    table = write_parquet(made, tmp_path / "parquet", np.random.default_rng(2), files=4)
    for lines, rows in zip(text.paths, table.paths, strict=True):
        read = pq.read_table(rows)
        assert read.schema.equals(record_schema())
        assert [_present(r) for r in read.to_pylist()] == [
            json.loads(line) for line in lines.read_text().splitlines()
        ]
    assert sorted(p.name for p in tmp_path.rglob("*.*")) == sorted(
        f"part-0000{n}.{kind}" for n in range(4) for kind in ("jsonl", "parquet")
    )


def test_the_schema_has_the_fields_of_the_record_in_their_order() -> None:
    assert record_schema().names == [f.name for f in SAMPLE_FIELDS]
    assert str(record_schema().field("time_ms").type) == "int64"
    assert str(record_schema().field("outputs").type) == (
        "list<item: struct<stream: string, tuples: double, bytes: double>>"
    )


def test_files_hold_each_record_that_was_not_lost_and_the_copies_told_of(tmp_path: Path) -> None:
    made = generated(60, **EVERYTHING)
    written = write_json_lines(made, tmp_path, np.random.default_rng(2), files=6)
    times = Counter(_lines(written.paths))
    assert len(times) == written.records == made.records - written.lost
    assert sum(times.values()) == written.records + written.duplicates
    assert set(times.values()) == {1, 2}
    # 1,440 records: 5 % lost, of the rest 10 % twice and, in five files of six, 10 % late.
    assert written.lost == pytest.approx(72, abs=4 * 8.3)
    assert written.duplicates == pytest.approx(137, abs=4 * 11.1)
    assert written.late == pytest.approx(114, abs=4 * 10.2)


def test_late_records_are_in_the_next_file(tmp_path: Path) -> None:
    made = generated(60, faults=InjectedFaults(late=0.1))
    written = write_json_lines(made, tmp_path, np.random.default_rng(2), files=6)
    late = 0
    for number, path in enumerate(written.paths):
        for line in path.read_text().splitlines():
            window = (json.loads(line)["time_ms"] - START_MS) // 10_000 - 1
            assert window // 10 in (number, number - 1)  # ten windows to a file
            late += window // 10 != number
    assert late == written.late > 0


def test_the_same_seed_gives_the_same_records_however_they_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = generated(60, **EVERYTHING)
    whole = records(made)
    assert records(made) == whole
    assert records(made, seed=9) != whole
    monkeypatch.setattr(batches, "_BATCH", 24 * 7)
    assert records(made) == whole


def test_names_with_quotes_and_umlauts_survive(tmp_path: Path) -> None:
    made = two_bolts(run='Größe "7" \\')
    written = write_json_lines(made, tmp_path, np.random.default_rng(2))
    assert {json.loads(line)["run"] for line in _lines(written.paths)} == {'Größe "7" \\'}


def test_each_file_needs_a_window(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 files for 2 windows"):
        write_json_lines(two_bolts(), tmp_path, np.random.default_rng(2), files=3)


# -- load ------------------------------------------------------------------------------------


def test_load_covers_its_range_and_stays_in_it() -> None:
    rng = np.random.default_rng(0)
    steps = levels(200.0, 100, rng)
    assert 20.0 <= steps.min() < 30.0
    assert 170.0 < steps.max() <= 180.0
    assert (steps.reshape(20, 5) == steps[::5, None]).all()
    walk = random_walk(200.0, 2000, rng)
    assert 20.0 <= walk.min() < 40.0
    assert 160.0 < walk.max() <= 180.0
    assert np.abs(np.diff(walk)).max() < 200.0 * 0.05 * 5


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="late"):
        two_bolts(faults=InjectedFaults(late=1.5))
    with pytest.raises(ValueError, match="sample_rate"):
        two_bolts(noise=Noise(sample_rate=0.0))
    with pytest.raises(ValueError, match="at least one window"):
        two_bolts(scale=np.zeros(0))

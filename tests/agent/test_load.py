"""CPU of a machine, split into the engine's workers and everybody else."""

from pathlib import Path

import pytest

from penstock.agent.load import CpuMeter

WORKER = "java\0-cp\0storm.jar\0org.apache.storm.daemon.worker.Worker\0wordcount-1"


def process(root: Path, number: int, line: str, ticks: int, started: int = 7) -> None:
    folder = root / f"proc/{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cmdline").write_text(line)
    # pid (name) state ppid … ; fields 14 to 17 are CPU, 22 is the start.
    rest = ["S", *["0"] * 10, str(ticks), "0", "0", "0", *["0"] * 4, str(started)]
    (folder / "stat").write_text(f"{number} (ja) va) {' '.join(rest)}\n")


def whole(root: Path, user: int, steal: int = 0) -> None:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/stat").write_text(f"cpu  {user} 0 0 5000 300 0 0 {steal} 0 0\ncpu0 1 2\n")


def points(root: Path, before: dict[int, tuple[str, int]], after: dict[int, tuple[str, int]]):
    """Points over ten seconds in which the machine used 800 of 100 ticks a second."""
    meter = CpuMeter(root, ticks_per_s=100.0)
    whole(root, 1000)
    for number, (line, ticks) in before.items():
        process(root, number, line, ticks)
    first = meter.read(0.0)
    whole(root, 1800, steal=50)
    for number, (line, ticks) in after.items():
        process(root, number, line, ticks)
    return meter.since(first, meter.read(10.0))


def test_what_workers_use_is_not_of_others(tmp_path):
    told = points(tmp_path, {9: (WORKER, 100), 8: ("sshd", 5)}, {9: (WORKER, 400), 8: ("sshd", 90)})
    # 8 s of CPU in 10 s are 80 points; the worker used 3 s of them. Waiting is not in use.
    assert told == {"busy_points": 80.0, "other_points": 50.0, "steal_points": 5.0}


def test_a_worker_that_started_in_between_counts_from_nothing(tmp_path):
    assert points(tmp_path, {}, {9: (WORKER, 200)})["other_points"] == 60.0


def test_a_number_that_another_process_has_now_is_another_process(tmp_path):
    meter = CpuMeter(tmp_path, ticks_per_s=100.0)
    whole(tmp_path, 0)
    process(tmp_path, 9, WORKER, 9000, started=1)
    before = meter.read(0.0)
    whole(tmp_path, 500)
    process(tmp_path, 9, WORKER, 100, started=2)
    # The new worker used 1 s of the 5 s.
    assert meter.since(before, meter.read(10.0))["other_points"] == 40.0


def test_this_machine_is_read():
    meter = CpuMeter()
    first = meter.read(0.0)
    assert meter.since(first, meter.read(1.0))["busy_points"] >= 0.0
    assert meter.since(first, first) == {}


def test_what_is_text_on_a_command_line_can_be_named(tmp_path):
    meter = CpuMeter(tmp_path, own_marks=("mine",), ticks_per_s=100.0)
    whole(tmp_path, 0)
    process(tmp_path, 9, "python\0mine.py", 0)
    before = meter.read(0.0)
    whole(tmp_path, 300)
    process(tmp_path, 9, "python\0mine.py", 300)
    assert meter.since(before, meter.read(10.0))["other_points"] == pytest.approx(0.0)

"""What ``penstock bench sweep`` measures: a sweep on a Spark cluster, killed and started again."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from penstock.app.sweep_cells import cells_of, run_cell
from penstock.app.sweep_store import TABLE
from penstock.engines.spark.standalone import standalone_cluster
from penstock.files.store import load
from penstock.files.sweep_file import Sweep
from penstock_bench.benchmarks.pipeline import BenchmarkFailed
from penstock_bench.benchmarks.process_tree import kill_tree

_PROBLEMS = (("linear", "nasiri-small"), ("star", "nasiri-small"))
_SCHEDULERS = ("default", "hetero")
_LONGEST_S = 3600.0


def _write_suite(path: Path, cells: int, simulated_s: float) -> None:
    seeds = cells // (len(_PROBLEMS) * len(_SCHEDULERS))
    suite = {
        "format": "penstock/sweep",
        "version": 1,
        "problems": [{"topology": t, "cluster": c} for t, c in _PROBLEMS],
        "schedulers": list(_SCHEDULERS),
        "seeds": seeds,
        "scenarios": [{"load": 0.9, "seconds": simulated_s}],
    }
    path.write_text(json.dumps(suite))


def _command(suite: Path, out: Path, master: str) -> list[str]:
    return [sys.executable, "-m", "penstock", "sweep", str(suite), "--out", str(out),
            "--master", master]  # fmt: skip


def _sweep(suite: Path, out: Path, master: str) -> float:
    """Run a sweep to its end; how long it took."""
    began = time.monotonic()
    done = subprocess.run(_command(suite, out, master), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchmarkFailed(f"penstock sweep ended with {done.returncode}: {done.stderr[-800:]}")
    return time.monotonic() - began


def _sweep_and_kill(suite: Path, out: Path, master: str, after_cells: int) -> int:
    """Kill a sweep with -9 once so many cells are finished; how many are."""
    process = subprocess.Popen(
        _command(suite, out, master),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + _LONGEST_S
    while len(list((out / "cells").glob("*.json"))) < after_cells:
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchmarkFailed("the sweep ended before it could be killed")
        time.sleep(0.2)
    kill_tree(process)
    return len(list((out / "cells").glob("*.json")))


@lru_cache(maxsize=2)
def _killed(cells: int, simulated_s: float) -> tuple[int, int, float]:
    """Rows that differ, cells that the second start ran, and the shortest cell in seconds."""
    import pyarrow.parquet as pq

    with (
        tempfile.TemporaryDirectory() as place,
        standalone_cluster(2, memory_mb=1500) as cluster,
    ):
        suite = Path(place) / "suite.json"
        _write_suite(suite, cells, simulated_s)
        calm, killed = Path(place) / "calm", Path(place) / "killed"
        _sweep(suite, calm, cluster.master)
        had = _sweep_and_kill(suite, killed, cluster.master, cells // 2)
        before = {path.name: path.stat().st_mtime_ns for path in (killed / "cells").glob("*.json")}
        _sweep(suite, killed, cluster.master)
        after = {path.name: path.stat().st_mtime_ns for path in (killed / "cells").glob("*.json")}
        again = sum(before[name] != after.get(name) for name in before)
        one, other = (pq.read_table(folder / TABLE).to_pylist() for folder in (calm, killed))
        differ = sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
        shortest = min(
            json.loads(path.read_text())["seconds"] for path in (calm / "cells").glob("*.json")
        )
        assert had < cells
        return differ + (0 if len(one) == cells else cells), again, shortest


def killed(cells: int, simulated_s: float, figure: str, repeats: int = 1) -> Iterator[float]:
    """Killed in the middle and started again: rows that differ, cells run again, least seconds."""
    for _ in range(repeats):
        differ, again, shortest = _killed(cells, simulated_s)
        yield {"differ": float(differ), "again": float(again), "shortest": shortest}[figure]


def _with_workers(suite: Path, out: Path, workers: int) -> float:
    with standalone_cluster(workers, memory_mb=1500) as cluster:
        return _sweep(suite, out / f"workers-{workers}", cluster.master)


def _without_spark(suite: Path, _out: Path, processes: int) -> float:
    """The same cells in so many plain processes, which is the most that the computer gives."""
    sweep = load(suite)
    assert isinstance(sweep, Sweep)  # we wrote it
    cells = cells_of(sweep)
    began = time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for _ in pool.map(run_cell, cells):
            pass
    return time.monotonic() - began


def second_worker(
    cells: int, simulated_s: float, *, spark: bool = True, repeats: int = 1
) -> Iterator[float]:
    """How many times as fast two workers are: there and back, as the computer's speed changes."""
    run = _with_workers if spark else _without_spark
    with tempfile.TemporaryDirectory() as place:
        suite = Path(place) / "suite.json"
        _write_suite(suite, cells, simulated_s)
        for number in range(repeats):
            took = [
                run(suite, Path(place) / f"{number}-{turn}", workers)
                for turn, workers in enumerate((1, 2, 2, 1))
            ]
            yield (took[0] + took[3]) / (took[1] + took[2])

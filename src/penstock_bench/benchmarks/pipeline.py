"""The telemetry pipeline: are its error bars true, is nothing lost or misjudged."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from penstock.engines.spark.session import spark_session
from penstock.errors import PenstockError
from penstock.evaluate.capacity import capacity
from penstock.telemetry.findings import Measurement
from penstock.telemetry.store_reader import RATES_VIEW, read_table
from penstock_bench.benchmarks.recordings import everywhere, random_problem, write_random_cases
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.synthetic import InjectedFaults, Noise, Recording, levels, write_json_lines
from penstock_bench.synthetic.breakage import break_file

#: ± this many standard errors is the interval the profile states.
_INTERVAL = 1.96
_TABLES = ("rates", "streams", "traffic", "places", "workers", "utilisation", "quarantine")


class BenchmarkFailed(PenstockError):
    """A run that the benchmark started ended badly."""


# -- are the intervals true ------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _coverage(cases: int, seed: int) -> tuple[dict[str, float], dict[str, float], int]:
    """Share of intervals that hold the truth, and their median width, by parameter."""
    with tempfile.TemporaryDirectory() as folder:
        truths = write_random_cases(Path(folder), cases, seed)
        profile = _build(folder)
    inside: dict[str, list[bool]] = {"e": [], "met": [], "selectivity": []}
    width: dict[str, list[float]] = {"e": [], "met": [], "selectivity": []}

    def compare(name: str, value: float, error: float, truth: float) -> None:
        inside[name].append(abs(value - truth) <= _INTERVAL * error)
        width[name].append(2 * _INTERVAL * error / truth)

    for fit in profile.findings.fits:
        if not fit.not_ready:
            cost = truths[fit.topology].costs[fit.component, fit.machine_type]
            compare("e", fit.e, fit.e_error, cost.e)
            compare("met", fit.met, fit.met_error, cost.met)
    real = {(t, s.source, s.target, s.name): s for t in truths for s in truths[t].streams}
    for stream in profile.findings.streams:
        known = real[stream.topology, stream.source, stream.target, stream.name]
        # An exact ratio without any scatter has an interval of no width; it counts when it is hit.
        error = max(stream.selectivity_error or 0.0, 1e-9)
        compare("selectivity", stream.selectivity or 0.0, error, known.selectivity)
    pooled = [hit for hits in inside.values() for hit in hits]
    shares = {name: float(np.mean(hits)) for name, hits in inside.items()}
    shares["all"] = float(np.mean(pooled))
    return shares, {name: float(np.median(w)) for name, w in width.items()}, len(pooled)


def _build(folder: str, **session: Any) -> Measurement:
    from penstock.telemetry.pipeline import build_profile
    from penstock.telemetry.source import open_source

    with spark_session(**session) as spark:
        return build_profile(spark, open_source(spark, folder))


def coverage_table(cases: int, seed: int) -> FigureTable:
    shares, widths, parameters = _coverage(cases, seed)
    rows = [[name, f"{100 * shares[name]:.1f} %", f"{100 * widths[name]:.2f} %"] for name in widths]
    title = f"95 % intervals over {cases} random cases, {parameters} parameters"
    return FigureTable(title, ["parameter", "hold the truth", "median width"], rows)


def coverage(cases: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Share of all stated 95 % intervals that hold the truth."""
    for _ in range(repeats):
        yield _coverage(cases, seed)[0]["all"]


def median_width(cases: int, seed: int, parameter: str, repeats: int = 1) -> Iterator[float]:
    for _ in range(repeats):
        yield 100 * _coverage(cases, seed)[1][parameter]


# -- the command ---------------------------------------------------------------------------------


def run_profile(folder: Path, *options: str) -> dict[str, Any]:
    """Run ``penstock profile`` as a user would, and give back what it prints."""
    command = [sys.executable, "-m", "penstock", "profile", str(folder), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchmarkFailed(
            f"penstock profile ended with {done.returncode}: {done.stderr[-800:]}"
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# -- nothing lost, nothing twice -------------------------------------------------------------------


def small_recording(windows: int, seed: int) -> Recording:
    problem = random_problem("killed", 5, 3, seed)
    placement = everywhere(problem)
    rng = np.random.default_rng(seed)
    return Recording(
        problem=problem,
        placement=placement,
        scale=levels(capacity(problem, placement).scale, windows, rng),
        noise=Noise(cpu_relative=0.05),
        faults=InjectedFaults(duplicates=0.02, out_of_order=0.05, late=0.05),
        worker_cpu_points=4.0,
    )


def deliver(path: Path, folder: Path) -> None:
    hidden = folder / f".{path.name}"
    hidden.write_bytes(path.read_bytes())
    hidden.rename(folder / path.name)


def different_rows(one: Path, other: Path) -> int:
    """Rows of all tables of two stores that are not in both, equally often, to nine digits."""
    total = 0
    for table in _TABLES:
        here, there = rows(one, table), rows(other, table)
        total += ((here - there) + (there - here)).total()
    return total


def rows(store: Path, table: str) -> Counter[str]:
    """The rows of a table as its newest commit has them; sums of floats rounded."""
    if table == RATES_VIEW:
        read = read_table(store, table).to_pylist()
        return Counter(json.dumps(_rounded(r), sort_keys=True, default=str) for r in read)
    newest = max((store / "manifest").glob("*.json"))
    parts: dict[str, str] = json.loads(newest.read_text())["parts"].get(table, {})
    paths = sorted({store / part for part in parts.values()})
    return rows_of(f for p in paths for f in ([p] if p.is_file() else sorted(p.rglob("*.parquet"))))


def rows_of(files: Iterable[Path]) -> Counter[str]:
    """The rows of Parquet files, as JSON; floats to nine digits."""
    import pyarrow.parquet as pq

    rows_seen: Counter[str] = Counter()
    for file in files:
        for row in pq.ParquetFile(file).read().to_pylist():
            rows_seen[json.dumps(_rounded(row), sort_keys=True, default=str)] += 1
    return rows_seen


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted((_rounded(inner) for inner in value), key=str)
    return value


# -- broken records --------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _broken(records: int, share: float, seed: int) -> tuple[int, int, int]:
    """Good records not used, bad ones not set aside for the right reason, ways of breaking."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place) / "telemetry", Path(place) / "tables"
        folder.mkdir()
        recording = small_recording(records // 15, seed)
        clean = Recording(**{**_fields(recording), "faults": InjectedFaults()})
        written = write_json_lines(clean, Path(place) / "good", rng)
        breakage = break_file(written.paths[0], folder / "some-broken.jsonl", share, rng)
        answer = run_profile(folder, "--store", str(store), "--partial", "--driver-memory", "4g")
        expected = breakage.expected
        reasons: Counter[tuple[str, str]] = Counter()
        for line, count in rows(store, "quarantine").items():
            row = json.loads(line)
            reasons[row["reason"], row["field"]] += count
        wrong = Counter({(r.value, f): n for (r, f), n in expected.items()})
        misjudged = ((wrong - reasons) + (reasons - wrong)).total()
        return breakage.good - answer["quality"]["kept"], misjudged, len(expected)


def _fields(recording: Recording) -> dict[str, Any]:
    return {name: getattr(recording, name) for name in recording.__dataclass_fields__}


def good_not_used(records: int, share: float, seed: int, repeats: int = 1) -> Iterator[float]:
    for _ in range(repeats):
        yield abs(_broken(records, share, seed)[0])


def bad_misjudged(records: int, share: float, seed: int, repeats: int = 1) -> Iterator[float]:
    """Broken records that are not in quarantine with the right reason and field."""
    for _ in range(repeats):
        yield _broken(records, share, seed)[1]

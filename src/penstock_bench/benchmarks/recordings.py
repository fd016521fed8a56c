"""Telemetry with known truth in the sizes the pipeline's benchmarks need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.evaluate.capacity import capacity
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock_bench.generate import Size, generate
from penstock_bench.synthetic import (
    InjectedFaults,
    Noise,
    Recording,
    Truth,
    levels,
    streams_apart,
    truth,
    write_parquet,
)

#: Fixed overheads alone must not fill a machine.
_COMPONENTS_PER_MACHINE = 10


def everywhere(problem: Problem) -> Placement:
    """One instance of each component on a machine of each type, dealt out in turn."""
    cluster = problem.cluster
    hosts = [np.flatnonzero(cluster.type_of == t) for t in range(len(cluster.types))]
    components = range(len(problem.components))
    machine = [int(of_type[c % len(of_type)]) for c in components for of_type in hosts]
    return Placement.of(np.repeat(components, len(hosts)), machine)


def random_problem(name: str, components: int, types: int, seed: int) -> Problem:
    """A random problem with one topology of that name."""
    machines = types * -(-components // _COMPONENTS_PER_MACHINE)
    generated = generate(Size(components=components, machines=machines, types=types), seed)
    topology = replace(streams_apart(generated.topologies[0]), name=name)
    return build([topology], generated.cluster, generated.profile)


def write_random_cases(folder: Path, cases: int, seed: int) -> dict[str, Truth]:
    """Telemetry of many random topologies, noisy and faulty in unlike ways; the truth by name."""
    truths = {}
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        name = f"case-{case:03d}"
        problem = random_problem(name, int(rng.integers(3, 6)), int(rng.integers(2, 4)), case)
        placement = everywhere(problem)
        windows = int(rng.integers(120, 480))
        recording = Recording(
            problem=problem,
            placement=placement,
            scale=levels(capacity(problem, placement).scale, windows, rng),
            # Every other case is counted as Storm counts: one tuple in twenty.
            noise=Noise(
                cpu_relative=float(rng.choice([0.01, 0.03, 0.1])),
                cpu_points=float(rng.choice([0.02, 0.1])),
                poisson=bool(rng.integers(2)),
                sample_rate=0.05 if case % 2 else 1.0,
            ),
            faults=InjectedFaults(
                outliers=float(rng.choice([0.0, 0.02, 0.05])),
                restarts=0.002,
                duplicates=0.01,
                out_of_order=0.02,
                lost=0.01,
                clock_skew_ms=int(rng.choice([0, 30_000])),
            ),
            worker_cpu_points=4.0,
        )
        write_parquet(recording, folder, rng, prefix=name)
        truths[name] = truth(problem, placement, float(recording.scale.mean()))
    return truths


def write_volume(
    folder: Path,
    records: int,
    components: int,
    types: int,
    seed: int = 1,
    *,
    files: int | None = None,
    after: int = 0,
    prefix: str = "part",
) -> int:
    """So many samples of components × types, a million to a file; the number written.

    ``after`` so many of the same workers, that is later by the time which these take.
    """
    problem = random_problem("volume", components, types, seed)
    placement = everywhere(problem)
    rng = np.random.default_rng([seed, after] if after else seed)
    windows, earlier = max(1, records // len(placement)), after // len(placement)
    begin = Recording(problem=problem, placement=placement, scale=np.ones(1))
    recording = replace(
        begin,
        start_ms=begin.start_ms + earlier * begin.window_ms,
        uptime_s=begin.uptime_s + earlier * begin.window_s,
        run="volume-1",
        scale=levels(capacity(problem, placement).scale, windows, rng, hold=30),
        noise=Noise(cpu_relative=0.05, cpu_points=0.1),
        faults=InjectedFaults(duplicates=0.001, outliers=0.01),
        worker_cpu_points=4.0,
    )
    number = max(1, min(windows, files or records // 1_000_000))
    return write_parquet(recording, folder, rng, files=number, prefix=prefix).records

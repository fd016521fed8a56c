"""Sick machines in recorded noise: how soon they are found, and how often healthy ones are accused.

The noise is that of the machines of measured Storm runs (``pdsp-storm``): for each machine of a run
that was steady, CPU in use over its mean, sample after sample of the steady minutes. Stretches of
runs, drawn at random, are strung together (a block bootstrap: what resembles its neighbour in the
recording does so here), four machines of a run at a time, as peers of one type: what the load did
to all of them at once it does here, too. Thresholds know nothing of these recordings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow.parquet as pq

from penstock.control.detectors.detector import BLOCK_S, Detection, TelemetryBlock
from penstock.control.detectors.sick_machine import SickMachine, SickMachineMemory
from penstock.errors import InputError
from penstock.model.arrays import FloatMatrix
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.topology import Component, Kind, Topology
from penstock_bench.data import VARIABLE, data_folder

_SAMPLE_S = 10.0
_PER_BLOCK = round(BLOCK_S / _SAMPLE_S)
_DAY_S = 86_400.0
#: Machines of one type: every run has four that were recorded.
_PEERS = 4
#: Blocks before anything is judged by: two hours.
_PAST = 240


@cache
def stretches() -> tuple[FloatMatrix, ...]:
    """CPU in use over its mean, for machines of each steady run, each (samples, 4)."""
    folder = data_folder() / "pdsp-storm"
    if not (folder / "node_samples.parquet").is_file():
        raise InputError(
            f"this benchmark needs the recorded runs pdsp-storm; set {VARIABLE} to the folder that "
            "has them in it"
        )
    runs = pq.read_table(
        folder / "runs.parquet",
        columns=["run_id", "steady", "rate_window_last_epoch_s", "steady_samples"],
    ).to_pylist()
    # Rates are means over the minute before each of their samples.
    steady = {
        r["run_id"]: r["rate_window_last_epoch_s"] - 60.0 * r["steady_samples"]
        for r in runs
        if r["steady"]
    }
    rows = pq.read_table(
        folder / "node_samples.parquet", columns=["run_id", "node", "epoch_s", "cpu_percent"]
    ).to_pylist()
    series: dict[str, dict[str, list[float]]] = {}
    for row in sorted(rows, key=lambda r: (r["run_id"], r["node"], r["epoch_s"])):
        begin_s = steady.get(row["run_id"])
        if begin_s is not None and row["epoch_s"] >= begin_s and row["cpu_percent"] is not None:
            nodes = series.setdefault(row["run_id"], {})
            nodes.setdefault(row["node"], []).append(row["cpu_percent"])
    return tuple(
        stretch
        for nodes in series.values()
        if (stretch := _together(list(nodes.values())[:_PEERS])) is not None
    )


def _together(nodes: list[list[float]]) -> FloatMatrix | None:
    """Machines of one run beside each other; ``None`` where too little was recorded of them."""
    length = min(len(values) for values in nodes)
    if len(nodes) < _PEERS or length < 2 * _PER_BLOCK:
        return None
    found = np.array([values[:length] for values in nodes]).T
    return found / found.mean(axis=0) if found.min() > 0 else None


def noise(machines: int, samples: int, rng: np.random.Generator) -> FloatMatrix:
    """Stretches strung together, for each group of peers, shape (samples, machines)."""
    pool = stretches()
    found = np.empty((samples, machines))
    for first in range(0, machines, _PEERS):
        filled = 0
        while filled < samples:
            piece = pool[int(rng.integers(len(pool)))]
            if not filled:  # not all groups begin a stretch together
                piece = piece[int(rng.integers(len(piece))) :]
            end = min(samples, filled + len(piece))
            found[filled:end, first : first + _PEERS] = piece[: end - filled]
            filled = end
    return found


@cache
def _cluster(machines: int) -> Problem:
    kinds = -(-machines // _PEERS)
    types = tuple(MachineType(f"type-{k}") for k in range(kinds))
    named = tuple(Machine(f"m-{i}", f"type-{i // _PEERS}") for i in range(machines))
    job = Topology("job", (Component("work", Kind.SPOUT, instances=1, cpu_points=1.0),), ())
    return build([job], Cluster("recorded", types, named))


def watched(
    cpu: FloatMatrix, detector: SickMachine
) -> Iterator[tuple[int, tuple[Detection, ...], SickMachineMemory]]:
    """The detector over CPU factors, (samples, machines), block by block."""
    machines = cpu.shape[1]
    problem = _cluster(machines)
    block = TelemetryBlock(
        0.0, BLOCK_S, Placement.of([0] * machines, range(machines)),
        np.ones(machines, dtype=np.bool_), np.zeros(machines), 0.0, np.zeros(1),
    )  # fmt: skip
    memory = detector.start(problem)
    whole = len(cpu) // _PER_BLOCK
    means = np.log(cpu[: whole * _PER_BLOCK].reshape(whole, _PER_BLOCK, machines).mean(axis=1))
    for b in range(whole):
        now = replace(block, time_s=(b + 1) * BLOCK_S, log_cpu=means[b])
        said, memory = detector.look(now, memory, problem)
        yield b, said, memory


def false_alarms(repeats: int, machines: int = 1000, days: float = 1.0) -> Iterator[float]:
    """Healthy machines accused, in 1,000 machine-days of recorded noise."""
    for seed in range(repeats):
        blocks = _PAST + round(days * _DAY_S / BLOCK_S)
        cpu = noise(machines, blocks * _PER_BLOCK, np.random.default_rng([seed, 1]))
        alarms = 0
        for _, said, _ in watched(cpu, SickMachine()):
            alarms += sum(not d.is_over and "planned with" in d.why for d in said)
        yield alarms / (machines * days) * 1000.0


def minutes_until_found(
    repeats: int, speed: float = 0.6, machines: int = 500, percentile: float = 95.0
) -> Iterator[float]:
    """Minutes of samples until a machine that was slowed is demoted; one of four is slowed."""
    for seed in range(repeats):
        samples = (_PAST + 120) * _PER_BLOCK
        cpu = noise(machines, samples, np.random.default_rng([seed, 2]))
        sick = np.arange(0, machines, _PEERS)
        cpu[_PAST * _PER_BLOCK :, sick] /= speed
        minutes = np.full(machines, np.inf)
        for b, _, memory in watched(cpu, SickMachine()):
            if b >= _PAST:
                new = memory.evidence.alarmed & np.isinf(minutes)
                minutes[new] = (b + 1 - _PAST) * BLOCK_S / 60.0
        yield float(np.percentile(minutes[sick], percentile, method="higher"))

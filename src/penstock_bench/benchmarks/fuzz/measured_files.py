"""Valid files of what was measured: telemetry, a store, a load, a journal, what agents tell."""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.app.journal import Journal
from penstock.control.decision import Decision, DecisionKind, Refusal
from penstock.control.detectors.detector import Detection
from penstock.control.observation import Observation
from penstock.evaluate.capacity import capacity
from penstock.model.machine_record import FINGERPRINT_KINDS, MachineRecord, RoundTrip
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.telemetry.manifest import FORMAT, manifest_name
from penstock.telemetry.slots.keys import hour_start
from penstock.telemetry.store_reader import arrow_schema
from penstock_bench.benchmarks.fuzz.original_file import EPOCH_S, File, Files

#: The name that an agent is given, and the key that it shares.
OWN_MACHINE, _KEY = "own", b"0123456789abcdef0123456789abcdef"


def telemetry_of(plan: Plan) -> Files:
    """A short recording of the plan, as lines and as Parquet."""
    from penstock_bench.synthetic import (
        Noise,
        Recording,
        levels,
        write_json_lines,
        write_parquet,
    )

    reached = capacity(plan.problem, plan.placement).scale
    if not (np.isfinite(reached) and reached > 0):
        return {}
    rng = np.random.default_rng(1)
    recording = Recording(
        problem=plan.problem, placement=plan.placement, scale=levels(reached, 20, rng),
        noise=Noise(cpu_relative=0.02),
    )  # fmt: skip
    with TemporaryDirectory() as place:
        lines = write_json_lines(recording, Path(place), rng).paths[0].read_text("utf-8")
        columns = write_parquet(recording, Path(place), rng).paths[0].read_bytes()
    records = [json.loads(line) for line in lines.splitlines()[:150]]
    return {
        "telemetry/part-0.jsonl": File("telemetry", records, is_lines=True),
        "columns/part-0.parquet": File("parquet", data=columns),
    }


def store_of(problem: Problem) -> Files:
    """Two hours of a store, as a run leaves them: samples in two parts, a table, some set aside."""
    topology = problem.topologies[0].name
    parts: dict[str, dict[str, str]] = {"samples": {}, "streams": {}}
    found: Files = {}

    def add(table: str, key: str, path: str, rows: list[dict[str, Any]]) -> None:
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, arrow_schema(table)), sink)
        found[f"tables/{path}/part-00000.parquet"] = File("parquet", data=sink.getvalue())
        parts.setdefault(table, {})[key] = path

    for hour in ("2026-01-01-00", "2026-01-01-01"):
        begin_ms = hour_start(hour)
        for task in (1, 2):
            row = {"task": task, "topology": topology, "time_ms": begin_ms, "hour": hour}
            add("samples", f"{hour}-00/b{task}", f"samples/part=b{task}-{hour}", [row])
        add("streams", hour, f"streams/part=9/hour={hour}", [{"task": 1, "hour": hour}])
    add("quarantine", "aside/b", "quarantine/part=b", [{"reason": "not JSON", "hour": "aside"}])
    commit = {
        **FORMAT.head,
        "number": 1,
        "parts": parts,
        "facts": {
            "aside": {"not JSON": 1},
            "batches": {"b1": {"records": 5, "aside": 1}},
            "pending": [],
            "records": 5,
            "repeats": {"2026-01-01-00-00": {"duplicate": 1}},
            "totals": False,
            "uptimes_s": [10.0, 900.0],
            "warm_up_s": 60.0,
            "window_s": 10.0,
            "workers": [["M1", 2]],
        },
    }
    return found | {f"tables/{manifest_name(1)}": File("commit", commit)}


def recorded_load() -> bytes:
    """Two hours, every five minutes."""
    rates = (10, 12, 15, 20, 30, 25, 20, 18, 15, 12, 11, 10) * 2
    lines = [f"2026-01-01 {n // 12:02d}:{5 * n % 60:02d}:00,{r}" for n, r in enumerate(rates)]
    return "\n".join(["time,events_per_5min", *lines, ""]).encode()


def journal_of(first: Plan, second: Plan) -> bytes:
    """A loop's journal: calm turns, one that changes the plan and detects something, calm again."""
    problem, machines = first.problem, len(first.problem.cluster.machines)
    rates = tuple([10.0] * len(problem.topologies))
    journal = Journal(problem)
    for turn in range(6):
        time_s, is_change = EPOCH_S + 10.0 * turn, turn == 3
        decision = Decision(time_s, DecisionKind.NOTHING, "nothing to do")
        if is_change:
            decision = Decision(
                time_s, DecisionKind.PLACEMENT, "carries too little", (("offered", 10.0),),
                second.placement, 9.0, 12.0, -0.1, 0.2, 1, 2, 3, 10.0, 0.01,
                (Refusal("more machines", "cool_down_s", "too soon"),),
            )  # fmt: skip
        seen = Observation(
            time_s, rates, rates, tuple([0.0] * len(rates)), tuple([0.1] * len(rates)),
            (second if turn > 3 else first).placement, np.ones(machines, dtype=np.bool_),
            np.full(machines, 0.5), stream_per_s=np.full(len(problem.streams), 4.0),
        )  # fmt: skip
        lost = Detection(time_s, "lost machine", problem.cluster.machines[0].name, 1.0, "is gone")
        journal.turn(seen, decision, (lost,) if is_change else ())
    try:
        return journal.content()
    finally:
        journal.close()


def agents_of(problem: Problem) -> Files:
    """What agents write and are told: two records of a machine each, who probes whom, a key."""
    names = [machine.name for machine in problem.cluster.machines[:3]]
    found = {
        f"machines/_machine-{name}.jsonl": File(
            "machine-records",
            [_machine_record(name, names, turn) for turn in (0, 1)],
            is_lines=True,
        )
        for name in names
    }
    agents = {name: f"127.0.0.1:{7373 + i}" for i, name in enumerate([OWN_MACHINE, *names])}
    return found | {"agents.yaml": File("agents", agents), "agents.key": File("key", data=_KEY)}


def _machine_record(name: str, names: list[str], turn: int) -> dict[str, object]:
    trips = tuple(RoundTrip(n, 6, 0, 0.1, 0.2) for n in names if n != name)
    facts = {"cores": 4, "ghz": 3.0, "ram_mb": 8000.0, "busy_points": 50.0, "other_points": 10.0}
    facts |= {f"{kind}_per_s": 1e6 for kind in FINGERPRINT_KINDS} if turn else {}
    time_ms = 1000 * (EPOCH_S + 60 * turn)
    return MachineRecord(name, name, time_ms, 60_000, facts, trips).to_dict()

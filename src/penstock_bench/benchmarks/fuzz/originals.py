"""Valid files of every format, which all damage starts from: shipped, generated, random problems.

A set of files is about one problem, so that they fit together, and has one name per kind.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import app
from penstock.app.journal import Journal
from penstock.control.decision import Decision, DecisionKind, Refusal
from penstock.control.detectors.detector import Detection
from penstock.control.observation import Observation
from penstock.errors import PenstockError
from penstock.evaluate.capacity import capacity
from penstock.files.receipt_file import ReceiptFile
from penstock.files.simulation_file import simulation_to_dict
from penstock.files.store import load, to_dict
from penstock.files.writer import fingerprint
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.report.pages.simulation_remarks import simulation_remarks
from penstock.schedulers.base import Budget
from penstock.telemetry.manifest import FORMAT, manifest_name
from penstock.telemetry.slots.keys import hour_start
from penstock.telemetry.store_reader import arrow_schema
from penstock_bench.benchmarks.fuzz.storm_files import (
    FLUX,
    LOG_LINE,
    RECORDED,
    REGISTRY,
    REST,
    STORM_YAML,
)
from penstock_bench.benchmarks.realistic import ProblemSetting, real_problem
from penstock_bench.contract.random_problems import FEATURES, Dice, random_problem
from penstock_bench.generate import Size, generate

#: Shipped topologies, each with the cluster and the profile that it is shipped with.
_SHIPPED = ("linear", "diamond", "pageload", "wordcount", "star")
_QUICK = ("default", "hetero", "rstorm", "proportional")
#: A second in the past that receipts and telemetry agree on.
EPOCH_S = 1_700_000_000


@dataclass(frozen=True)
class File:
    """A document, or bytes; which of the two decides how it is damaged."""

    kind: str
    document: Any = None
    data: bytes = b""
    #: Lines of JSON, each a document.
    is_lines: bool = False


Files = dict[str, File]

#: Guard rails, every kind of them.
_WATCH: dict[str, Any] = {
    "format": "penstock/watch",
    "version": 1,
    "policy": "penstock",
    "latency_target_s": 2.0,
    "stale_after_s": 60.0,
    "dead_band": 0.1,
    "cool_down_s": 120.0,
    "most_moves_per_hour": 50,
    "forbidden_hours": ["22:00-06:00"],
    "most_machines": 9,
    "must_keep": 0.9,
}


def sets_of_files(seed: int, random_problems: int) -> Iterator[Files]:
    """One set for each problem that can be planned at all."""
    for problem in _problems(seed, random_problems):
        rng = Random(f"{seed} {problem.topologies[0].name}")
        try:
            yield _files_of(problem, rng)
        except PenstockError:
            continue  # a random problem may have no plan


def _problems(seed: int, random_problems: int) -> Iterator[Problem]:
    for topology in _SHIPPED:
        yield app.problem(topology)
    for number in range(random_problems):
        rng = Random(f"{seed} problem {number}")
        features = frozenset(f for f in FEATURES if rng.random() < 0.4)
        yield random_problem(Dice(rng.randrange(2**32), features, 2, 4, 3, 5))
    made = generate(Size(5, 6, 2, topologies=2, mixed_groupings=True, memory=True), seed)
    yield build(made.topologies, made.cluster, made.profile)
    yield real_problem(ProblemSetting(machines=6, types=2, topologies=2, skew=0.9, keys=5000), seed)


def _files_of(problem: Problem, rng: Random) -> Files:
    first, second = rng.sample(_QUICK, 2)
    plans = [_plan(problem, name) for name in (first, second)]
    load(to_dict(plans[0]))  # not every problem can be written down
    topologies = problem.topologies
    assert problem.profile is not None
    found = {f"topology-{i}.yaml": File("topology", to_dict(t)) for i, t in enumerate(topologies)}
    found |= {
        "cluster.yaml": File("cluster", to_dict(problem.cluster)),
        "profile.yaml": File("profile", to_dict(problem.profile)),
        "plan.json": File("plan", to_dict(plans[0])),
        "before.json": File("plan", to_dict(plans[1])),
        "terms.yaml": File("terms", _terms(problem)),
        "scenario.yaml": File("scenario", _scenario(problem, rng)),
        "trace.csv": File("trace", data=b"second,rate\n0,10\n1,20.5\n2,0\n"),
        "sweep.yaml": File("sweep", _sweep(len(topologies))),
        "types.yaml": File("types", {m.name: m.type for m in problem.cluster.machines}),
        "simulation.json": File("simulation", _simulation(plans[0])),
        "history/receipts/kept.json": File("receipt", _receipt(plans[0])),
        "watch.yaml": File("watch", deepcopy(_WATCH)),
        "load.csv": File("load", data=_load()),
        "journal.sqlite": File("journal", data=journal_of(plans[0], plans[1])),
    }
    return found | _of_storm() | _telemetry(plans[0]) | _store(problem)


def _plan(problem: Problem, scheduler: str) -> Plan:
    made = app.plan(problem, scheduler, budget=lambda: Budget(iterations=200)).plan
    if made is None:
        raise PenstockError(f"{scheduler} has no plan for this problem")
    return made


def _of_storm() -> Files:
    """What Storm and its people write; the same for all problems."""
    return {
        "flux.yaml": File("flux", deepcopy(FLUX)),
        "storm.yaml": File("storm.yaml", deepcopy(STORM_YAML)),
        "recorded/cluster.json": File("recorded", deepcopy(RECORDED["cluster.json"])),
        "recorded/topologies.json": File("recorded", deepcopy(RECORDED["topologies.json"])),
        "worker.log.metrics": File("storm-log", data=LOG_LINE.encode() * 20),
        "registry.txt": File("storm-registry", data=REGISTRY.encode()),
        "rest/topology-flow.json": File("storm-rest", deepcopy(REST["topology"])),
        "rest/topology-flow-component-src.json": File("storm-rest", deepcopy(REST["component"])),
        "words/a.txt": File("words", data=b"the cat sat on the mat\nthe dog did not\n" * 20),
    }


def _terms(problem: Problem) -> dict[str, Any]:
    label, machine = problem.labels[0], problem.cluster.machines[-1].name
    return {
        "format": "penstock/terms",
        "version": 1,
        "carry_per_s": 1.5,
        "least": ["machines", "price"],
        "give_up": 0.05,
        "latency_ms": {problem.topologies[0].name: 5000},
        "avoid": [],
        "apart": [[label, problem.labels[-1]]],
        "fixed": [{"component": label, "machine": machine, "instances": 1}],
        "current": [{"component": label, "machine": machine, "instances": 1}],
        "most_moves": 9,
        "weights": {problem.topologies[0].name: 0.5},
    }


def _scenario(problem: Problem, rng: Random) -> dict[str, Any]:
    machine = problem.cluster.machines[0].name
    offered: list[dict[str, Any]] = [
        {"of_sustainable": 0.7, "steps": [{"at_s": 0, "factor": 1}, {"at_s": 2, "factor": 1.5}]},
        {"per_s": 20.0, "arrivals": "even", "wave": {"period_s": 2, "low": 0.1, "high": 2}},
        {"in_flight": 20},
        {"trace": "trace.csv"},
    ]
    return {
        "format": "penstock/scenario",
        "version": 1,
        "name": "bad day",
        "duration_s": 4,
        "warmup_s": 1,
        "sample_s": 0.5,
        "offered": rng.choice(offered),
        "service": {"shape": "lognormal", "variation": 2},
        "queue_limit": 1000,
        "when_full": "drop",
        "max_spout_pending": 500,
        "acking": True,
        "timeout_s": 2,
        "replay": False,
        "selectivity": "batch",
        "shuffle": "load-aware",
        "tuples_per_batch": 2,
        "changes": [
            {"at_s": 1, "slow": machine, "speed": 0.5, "until_s": 2},
            {"at_s": 2, "down": machine, "until_s": 3},
        ],
    }


def _sweep(topologies: int) -> dict[str, Any]:
    names = [f"topology-{i}.yaml" for i in range(topologies)]
    files = {"cluster": "cluster.yaml", "profile": "profile.yaml"}
    return {
        "format": "penstock/sweep",
        "version": 1,
        "name": "grid",
        "problems": [{"topology": names if len(names) > 1 else names[0], **files}],
        "schedulers": ["default"],
        "seeds": [0],
        "scenarios": [{"load": 0.5, "seconds": 1}],
        "runs": 1,
    }


def _simulation(plan: Plan) -> dict[str, Any]:
    short = {"duration_s": 2.0, "warmup_s": 0.5, "sample_s": 0.5}
    found = app.simulate(plan, {"format": "penstock/scenario", "version": 1, **short})
    written = simulation_to_dict(found, simulation_remarks(found))
    made: dict[str, Any] = json.loads(json.dumps(written))
    return made


def _receipt(plan: Plan) -> dict[str, Any]:
    document = to_dict(plan)
    key = fingerprint(document)[:12]
    return {
        **ReceiptFile.FORMAT.head,
        "plan": key,
        "engine": "storm",
        "outcome": "applied",
        "began_s": float(EPOCH_S),
        "ended_s": float(EPOCH_S + 30),
        "moves": 1,
        "topologies": [
            {"topology": t.name, "run": f"{t.name}-1-{EPOCH_S}", "workers": 2}
            for t in plan.problem.topologies
        ],
        "trouble": ["slow to start"],
        "document": document,
    }


def _load() -> bytes:
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


def _store(problem: Problem) -> Files:
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


def _telemetry(plan: Plan) -> Files:
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

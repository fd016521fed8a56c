"""Valid files of every format, which all damage starts from: shipped, generated, random problems.

A set of files is about one problem, so that they fit together, and has one name per kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from penstock import app
from penstock.errors import PenstockError
from penstock.files.receipt_file import ReceiptFile
from penstock.files.simulation_file import simulation_to_dict
from penstock.files.store import load, to_dict
from penstock.files.writer import fingerprint
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.report.pages.simulation_remarks import simulation_remarks
from penstock.schedulers.base import Budget
from penstock_bench.benchmarks.fuzz.measured_files import (
    agents_of,
    journal_of,
    recorded_load,
    store_of,
    telemetry_of,
)
from penstock_bench.benchmarks.fuzz.original_file import EPOCH_S, File, Files
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
        "load.csv": File("load", data=recorded_load()),
        "journal.sqlite": File("journal", data=journal_of(plans[0], plans[1])),
    }
    return found | agents_of(problem) | _of_storm() | telemetry_of(plans[0]) | store_of(problem)


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

"""What ``penstock bench simulator`` measures: is the simulator right, and is it fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from penstock import app
from penstock.files import examples
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.schedulers import SCHEDULERS
from penstock.simulate.engine import SimulationEngine
from penstock.simulate.intervals import Interval, interval
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import (
    Down,
    Offered,
    Scenario,
    ServiceTime,
    Shape,
    Sharing,
    Shuffle,
    WhenFull,
)
from penstock.simulate.simulate import simulate_placement
from penstock.simulate.variants import saturated
from penstock_bench.benchmarks.queue_theory import MODELS, SERVICE_PER_S, Model
from penstock_bench.benchmarks.simpy_peer import stations_with_simpy
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.generate import Size, generate

_LOADS = (0.3, 0.7, 0.9)
_RUNS = 10
_STEADY = ServiceTime(Shape.DETERMINISTIC)


# -- where theory knows the answer -----------------------------------------------------------------


@dataclass(frozen=True)
class _Answer:
    """One figure of one model at one load."""

    model: str
    load: float
    figure: str
    simulated: Interval
    theory: float

    @property
    def error_percent(self) -> float:
        return 100.0 * abs(self.simulated.mean / self.theory - 1.0)


@lru_cache(maxsize=2)
def _answers(tuples: tuple[float, ...], seed: int) -> tuple[_Answer, ...]:
    answers: list[_Answer] = []
    for number, (model, load) in enumerate((m, at) for m in MODELS.values() for at in _LOADS):
        scenario = model.scenario(load, tuples[_LOADS.index(load)] / _RUNS)
        result = simulate_placement(
            model.problem(), model.placement(), scenario, seed + number, runs=_RUNS
        )
        waits, queues = wait_and_queue(model, result)
        rate = model.arrival_per_s(load)
        answers.append(_Answer(model.name, load, "wait", interval(waits), model.wait_s(rate)))
        answers.append(_Answer(model.name, load, "queue", interval(queues), model.queue(rate)))
    return tuple(answers)


def wait_and_queue(model: Model, result: SimResult) -> tuple[list[float], list[float]]:
    """Seconds of wait and tuples present, all stations together, of each run."""
    waits, queues = [], []
    for measured in result.each:
        stations = measured.components[1:]
        waits.append(sum(s.stay_ms if model.sharing else s.wait_ms for s in stations) / 1e3)
        queues.append(sum(s.present for s in stations))
    return waits, queues


def theory_table(tuples: list[float], seed: int) -> FigureTable:
    rows = [
        [
            answer.model,
            f"{answer.load:g}",
            answer.figure,
            f"{answer.theory:.5g}",
            f"{answer.simulated.mean:.5g} ± {answer.simulated.half_width:.2g}",
            f"{100 * (answer.simulated.mean / answer.theory - 1):+.2f} %",
            "yes" if answer.simulated.covers(answer.theory) else "no",
        ]
        for answer in _answers(tuple(tuples), seed)
    ]
    columns = ["model", "load", "figure", "theory", "simulated", "difference", "covered"]
    title = f"Queueing theory (s, tuples): {_RUNS} runs, {tuples[-1]:.3g} tuples at load 0.9"
    return FigureTable(title, columns, rows)


def theory_error_percent(tuples: list[float], seed: int, repeats: int = 1) -> Iterator[float]:
    """How far every mean is from theory."""
    for repeat in range(repeats):
        for answer in _answers(tuple(tuples), seed + 1000 * repeat):
            yield answer.error_percent


def covered(tuples: list[float], seed: int, repeats: int = 1) -> Iterator[float]:
    """How many of the 30 intervals hold the truth."""
    for repeat in range(repeats):
        answers = _answers(tuple(tuples), seed + 1000 * repeat)
        yield float(sum(answer.simulated.covers(answer.theory) for answer in answers))


# -- against the cost model ------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _plans() -> tuple[app.PlanAnswer, ...]:
    names = list(SCHEDULERS.usable())
    plans = []
    for example in examples.topology_names():
        problem = app.problem(example)
        plans += [app.plan(problem, name) for name in names]
    return tuple(one for one in plans if one.plan is not None)


@lru_cache(maxsize=4)
def _saturation(sharing: str, turns: float) -> tuple[tuple[str, str, float], ...]:
    """Topology, scheduler and how far from the analytic rate, in percent."""
    shortfalls = []
    for planned in _plans():
        assert planned.plan is not None
        error = saturation_error_percent(planned.plan, Sharing(sharing), turns)
        shortfalls.append((planned.problem.title, planned.scheduler, error))
    return tuple(shortfalls)


def saturation_error_percent(plan: Plan, sharing: Sharing, turns: float) -> float:
    """What goes through a plan, over its sustainable rate.

    ``turns`` is how often all tuples in flight are replaced; the first half is not counted, in
    which queues in front of the bottleneck fill.
    """
    problem, placement = plan.problem, plan.placement
    base = Scenario(name="saturated", service=_STEADY, sharing=sharing)
    scenario = saturated(base, problem, placement)
    rate = sum(rate for _, rate in plan.predicted.rate_per_s)
    seconds = turns * (scenario.offered.in_flight or 0) / rate
    scenario = replace(scenario, duration_s=seconds, sample_s=seconds / 20, warmup_s=seconds / 2)
    result = simulate_placement(problem, placement, scenario, 1)
    return 100.0 * (result.measured.completed_per_s / rate - 1.0)


def saturation_worst(sharing: str, turns: float, repeats: int = 1) -> Iterator[float]:
    for _ in range(repeats):
        for _topology, _scheduler, error in _saturation(sharing, turns):
            yield abs(error)


def saturation_within(
    sharing: str, turns: float, percent: float, repeats: int = 1
) -> Iterator[float]:
    """How many plans are within so many percent."""
    for _ in range(repeats):
        yield float(sum(abs(error) <= percent for *_, error in _saturation(sharing, turns)))


def saturation_table(turns: float) -> FigureTable:
    """The plans that equal sharing does not serve well, beside sharing by plan."""
    by_plan = _saturation(Sharing.BY_PLAN.value, turns)
    equal = _saturation(Sharing.EQUAL.value, turns)
    rows = [
        [one[0], one[1], f"{one[2]:+.2f} %", f"{other[2]:+.2f} %"]
        for one, other in zip(equal, by_plan, strict=True)
        if abs(one[2]) > 1 or abs(other[2]) > 1
    ]
    title = f"Saturation against the analytic rate: more than 1 % off, of {len(equal)} plans"
    return FigureTable(title, ["topology", "scheduler", "CPU in equal parts", "CPU by plan"], rows)


# -- nothing created or lost -----------------------------------------------------------------------


def tuples_missing(cases: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Tuples that are neither completed, lost, in flight nor waiting, in random runs."""
    from penstock.simulate.census import take_census

    for repeat in range(repeats):
        missing = 0
        for case in range(cases):
            rng = np.random.default_rng([seed, repeat, case])
            problem, placement, scenario = _random_run(rng)
            result = simulate_placement(problem, placement, scenario, case)
            missing += abs(result.balance.missing)
            engine = SimulationEngine(problem, placement, scenario, case)
            while not engine.advance(scenario.duration_s / 2):
                pass
            census = take_census(engine.world)
            missing += abs(census.nodes - census.nodes_free - census.found)
        yield float(missing)


def _random_run(rng: np.random.Generator) -> tuple[Problem, Placement, Scenario]:
    size = Size(components=int(rng.integers(3, 9)), machines=int(rng.integers(2, 9)), types=2)
    generated = generate(size, int(rng.integers(1 << 30)))
    problem = build(generated.topologies, generated.cluster, generated.profile)
    plan = app.plan(problem, "hetero").plan
    assert plan is not None
    machine = problem.cluster.machines[int(plan.placement.machine[0])].name
    down = (Down(4.0, machine, 7.0),) if rng.random() < 0.5 else ()
    full = (WhenFull.WAIT, WhenFull.DROP)[int(rng.integers(2))]
    scenario = Scenario(
        duration_s=10.0,
        offered=Offered(float(rng.uniform(0.5, 1.6))),
        queue_limit=int(rng.integers(1, 200)),
        when_full=full,
        max_spout_pending=int(rng.integers(1, 500)) if rng.random() < 0.5 else None,
        acking=bool(rng.random() < 0.7),
        timeout_s=float(rng.uniform(0.2, 3.0)),
        replay=bool(rng.random() < 0.7),
        shuffle=(Shuffle.IN_TURN, Shuffle.LOAD_AWARE)[int(rng.integers(2))],
        changes=down,
    )
    # Enough tuples to matter, few enough to walk.
    rate = sum(rate for _, rate in plan.predicted.rate_per_s)
    batch = max(1, int(rate / 2000))
    return problem, plan.placement, replace(scenario, tuples_per_batch=batch)


# -- speed -----------------------------------------------------------------------------------------


def _engine_events_per_s(tuples: float, load: float, seed: int) -> float:
    model = MODELS["Jackson"]
    scenario = model.scenario(load, tuples)
    engine = SimulationEngine(model.problem(), model.placement(), scenario, seed)
    engine.advance(scenario.duration_s / 1000)  # compiled by now
    before, began = int(engine.world.record["events"]), time.perf_counter()
    while not engine.advance(scenario.duration_s):
        pass
    return (int(engine.world.record["events"]) - before) / (time.perf_counter() - began)


def events_per_s(tuples: float, load: float, repeats: int = 1) -> Iterator[float]:
    """Millions of events per second: tuples arrived and served at two stations in a row."""
    for repeat in range(repeats):
        yield _engine_events_per_s(tuples, load, repeat) / 1e6


def over_simpy(tuples: float, load: float, repeats: int = 1) -> Iterator[float]:
    """Events per second over those of the same stations written with SimPy, one after the other."""
    model = MODELS["Jackson"]
    for repeat in range(repeats):
        rate = model.arrival_per_s(load)
        # SimPy gets a hundredth of the tuples; its speed does not depend on their number.
        events, _, seconds = stations_with_simpy(
            rate, SERVICE_PER_S, model.stations, tuples / rate / 100, repeat
        )
        yield _engine_events_per_s(tuples, load, repeat) / (events / seconds)


@lru_cache(maxsize=4)
def _large(instances: int, seconds: float) -> tuple[float, float, float, int, int]:
    """Seconds of engine and fluid, difference in throughput in percent, instances, events."""
    problem = app.problem("linear", "nasiri-large")
    # Nasiri's own plan of this scenario has 698 instances (their Table 4).
    counts = (201, 156, instances - 201 - 156)
    plan = app.plan(problem.with_counts(counts), "tsstream").plan
    assert plan is not None
    scenario = saturated(
        Scenario(duration_s=seconds, warmup_s=seconds / 2), problem, plan.placement
    )
    simulate_placement(problem, plan.placement, replace(scenario, duration_s=1.0, warmup_s=0.0))
    began = time.perf_counter()
    engine = simulate_placement(problem, plan.placement, scenario)
    middle = time.perf_counter()
    fluid = simulate_placement(problem, plan.placement, scenario, fluid=True)
    ended = time.perf_counter()
    got, flowed = engine.measured.throughput_per_s, fluid.measured.throughput_per_s
    difference = 100.0 * abs(flowed / got - 1.0)
    return middle - began, ended - middle, difference, len(plan.placement), engine.events


def large(instances: int, seconds: float, figure: str, repeats: int = 1) -> Iterator[float]:
    """180 machines for a simulated minute at saturation."""
    for _ in range(repeats):
        engine_s, fluid_s, difference, _, _ = _large(instances, seconds)
        yield {"engine": engine_s, "fluid": fluid_s, "difference": difference}[figure]


# -- batches ---------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _batched(batch: int, seconds: float) -> tuple[float, float, float]:
    """Times as fast, throughput at saturation off by percent, mean latency times as long."""
    plan = app.plan(app.problem("diamond", "nasiri-medium"), "hetero").plan
    assert plan is not None
    calm = Scenario(duration_s=seconds, sample_s=seconds / 20)
    full = saturated(replace(calm, warmup_s=seconds / 2), plan.problem, plan.placement)
    took, latency, most = [], [], []
    for size in (1, batch):
        began = time.perf_counter()
        result = app.simulate(plan, replace(calm, tuples_per_batch=size))
        took.append(time.perf_counter() - began)
        latency.append(result.measured.topologies[0].latency_ms)
        # As many batches in flight, so that no instance runs dry.
        window = (full.offered.in_flight or 0) * size
        offered = replace(full.offered, in_flight=window)
        result = app.simulate(plan, replace(full, offered=offered, tuples_per_batch=size))
        most.append(result.measured.completed_per_s)
    return took[0] / took[1], 100.0 * abs(most[1] / most[0] - 1.0), latency[1] / latency[0]


def batched(batch: int, seconds: float, figure: str, repeats: int = 1) -> Iterator[float]:
    """What simulating so many tuples as one gains and costs, at 0.8 of the sustainable rate."""
    for _ in range(repeats):
        faster, off, longer = _batched(batch, seconds)
        yield {"faster": faster, "throughput": off, "latency": longer}[figure]

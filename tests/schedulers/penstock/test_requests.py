"""``penstock`` without a profile: few machines, then short distances, by requests alone."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from tests.builders import cluster, held_by_slot, solve, topology

from penstock.errors import InputError
from penstock.files.production import load_production
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem, build
from penstock.schedulers import Budget, get
from penstock.schedulers.penstock.requests.exchange import TopologyWorkers
from penstock.schedulers.penstock.requests.free_capacity import FreeCapacity
from penstock.schedulers.penstock.requests.pack import Packing, placement_of
from penstock.schedulers.penstock.requests.packing_orders import PackingOrder
from penstock.schedulers.penstock.requests.polish import polish
from penstock.schedulers.penstock.requests.search import mean_distance
from penstock.schedulers.penstock.requests.topology_requests import (
    fewest_machines,
    requests_by_topology,
)
from penstock_bench.data import data_folder


def asks(instances: int, cpu: float, memory: float | None = None, **more: float) -> dict:
    return {"instances": instances, "cpu_points": cpu, "memory_mb": memory, **more}


def machines(outcome: Outcome) -> int:
    return len(set(outcome.placement.machine.tolist()))


# -- a second check of limits and distance, from the nouns alone ------------------------------


def broken(problem: Problem, outcome: Outcome) -> list[str]:
    """Every limit a placement breaks, added up instance by instance."""
    cpu, memory, heap = defaultdict(float), defaultdict(float), defaultdict(float)
    owners, found = defaultdict(set), []
    placement, graphs = outcome.placement, problem.topologies
    for c, m, s in zip(placement.component, placement.machine, placement.slot, strict=True):
        component = problem.components[c]
        cpu[m, s] += component.cpu_points
        memory[m, s] += component.memory_mb or 0.0
        heap[m, s] += max((component.memory_mb or 0.0) - component.offheap_mb, 0.0)
        owners[m, s].add(int(problem.topology_of[c]))
    for (m, s), topologies in owners.items():
        kind = problem.cluster.types[problem.cluster.type_of[m]]
        most = [graphs[t].worker_max_heap_mb for t in topologies]
        if len(topologies) > 1 or s >= kind.slots:
            found.append(f"slot {m}/{s}")
        if most[0] is not None and heap[m, s] > most[0] + 1e-6:
            found.append(f"heap {m}/{s}")
    floor = problem.cluster.worker_min_cpu_points
    for m in {m for m, _ in owners}:
        kind = problem.cluster.types[problem.cluster.type_of[m]]
        own = [key for key in owners if key[0] == m]
        usable = kind.cpu_points * (1 - problem.cluster.headroom)
        if sum(max(cpu[key], floor) for key in own) > usable + 1e-6:
            found.append(f"cpu {m}")
        used = sum(memory[key] + kind.worker_memory_mb for key in own)
        if kind.memory_mb is not None and used > kind.memory_mb + 1e-6:
            found.append(f"memory {m}")
    return found


def distance(problem: Problem, outcome: Outcome) -> float:
    """Mean distance of connected pairs, by counting how many instances share each place."""
    placement = outcome.placement
    hosts = [problem.cluster.machines[m] for m in placement.machine]
    places = [
        list(zip(placement.machine, placement.slot, strict=True)),
        placement.machine.tolist(),
        [(host.region, host.rack) for host in hosts],
    ]
    held: list[dict[int, Counter]] = [defaultdict(Counter) for _ in places]
    for i, c in enumerate(placement.component.tolist()):
        for level, place in zip(held, places, strict=True):
            level[c][place[i]] += 1
    total = near = 0
    for a, b in {tuple(sorted((s.source, s.target))) for s in problem.streams}:
        total += sum(held[0][a].values()) * sum(held[0][b].values())
        near += sum(n * level[b][place] for level in held for place, n in level[a].items())
    return 3 - near / total


def random_problem(seed: int) -> Problem:
    """Up to three topologies on unlike machines; most of them fit."""
    rng = np.random.default_rng(seed)
    graphs = []
    for number in range(int(rng.integers(1, 4))):
        shape = ("a>b>c a>c", "a>b b>b", "a b>c")[int(rng.integers(3))]
        names = sorted(set(shape.replace(">", " ").split()))
        options = {
            name: asks(
                int(rng.integers(1, 9)),
                float(rng.choice([0.0, 7.5, 10.0, 30.0, 55.0])),
                float(rng.choice([0.0, 100.0, 333.3])),
                offheap_mb=float(rng.choice([0.0, 50.0])),
            )
            for name in names
        }
        heap = (None, 700.0)[int(rng.integers(2))]
        priority = int(rng.integers(3))
        graphs.append(
            topology(
                shape, name=f"t{number}", priority=priority, worker_max_heap_mb=heap, **options
            )
        )
    kinds = {
        "M1": {"memory_mb": 2000.0, "slots": 3, "worker_memory_mb": 20.0},
        "M2": {"cpu_points": 150.0, "memory_mb": (None, 900.0)[int(rng.integers(2))]},
    }
    names = [f"M1-{i + 1}" for i in range(5)] + [f"M2-{i + 1}" for i in range(4)]
    racks = {name: f"rack-{rng.integers(3)}" for name in names}
    floor = float(rng.choice([0.0, 15.0]))
    made = cluster(M1=5, M2=4, types=kinds, racks=racks, worker_min_cpu_points=floor)
    return build(graphs, made)


# -- claims -----------------------------------------------------------------------------------


def test_connected_executors_share_workers_machines_and_a_rack():
    # 2 + 2 executors of 50 points: two machines of 100. One a and one b on each, both machines in
    # one rack: two pairs at distance 0, two at 2.
    graph = topology("a>b", a=asks(2, 50.0), b=asks(2, 50.0))
    racks = {"M1-1": "r1", "M1-2": "r2", "M1-3": "r2"}
    problem = build(graph, cluster(M1=3, racks=racks))
    outcome = solve(problem, "penstock")
    assert held_by_slot(problem, outcome) == {"M1-2/0": "a b", "M1-3/0": "a b"}
    assert distance(problem, outcome) == mean_distance(problem, outcome.placement) == 1.0


def test_a_plan_with_the_fewest_machines_says_so():
    graph = topology("a>b", a=asks(2, 50.0), b=asks(2, 50.0))
    outcome = solve(build(graph, cluster(M1=3)), "penstock")
    assert (
        outcome.notes[0]
        == "at least 2 machines are needed by CPU requests; this plan uses no more than that"
    )


def test_a_plan_with_more_machines_says_how_many_are_needed_at_least():
    # Three executors of 60 points: 180 points are two machines' worth, but no two fit together.
    outcome = solve(build(topology("a", a=asks(3, 60.0)), cluster(M1=4)), "penstock")
    assert outcome.notes[0] == "at least 2 machines are needed by CPU requests; this plan uses 3"


def test_the_fewest_machines_are_the_largest_that_hold_the_requests():
    # 300 points: 150 + 100 < 300 <= 150 + 100 + 100. Memory: 30 x 100 MB in machines of 1000 MB.
    types = {"M1": {"memory_mb": 1000.0}, "M2": {"cpu_points": 150.0, "memory_mb": 1000.0}}
    problem = build(topology("a", a=asks(30, 10.0, 100.0)), cluster(M1=5, M2=1, types=types))
    found = fewest_machines(problem, requests_by_topology(problem, (30,)))
    assert (found.machines, found.by_cpu, found.by_memory) == (3, 3, 3)


def test_workers_are_filled_to_the_heap_limit_because_each_costs_the_floor():
    # Two executors of 500 MB fill a heap of 1000 MB: 4 workers at the floor of 50 points are two
    # machines; a worker for each executor would need four.
    graph = topology("a>b", a=asks(4, 20.0, 500.0), b=asks(4, 20.0, 500.0), worker_max_heap_mb=1e3)
    problem = build(graph, cluster(M1=4, worker_min_cpu_points=50.0))
    outcome = solve(problem, "penstock")
    assert held_by_slot(problem, outcome) == {
        "M1-1/0": "a b",
        "M1-1/1": "a b",
        "M1-2/0": "a b",
        "M1-2/1": "a b",
    }


def test_large_executors_go_where_they_fit_exactly_and_small_ones_fill_what_is_left():
    # 1800 twice in 3600 and once in 3500, where 17 executors of 100 fill the other 1700.
    types = {"M1": {"cpu_points": 3500.0}, "M2": {"cpu_points": 3600.0}}
    big = topology("a", name="big", a=asks(3, 1800.0))
    small = topology("b", name="small", b=asks(17, 100.0))
    problem = build([small, big], cluster(M1=2, M2=1, types=types))
    outcome = solve(problem, "penstock")
    assert machines(outcome) == 2
    assert held_by_slot(problem, outcome)["M2-1/0"] == "big/a big/a"


def test_nearness_trades_machines_for_distance():
    # Two large machines hold all 200 points, in two racks; the first rack holds them as well,
    # with two small machines beside its large one.
    types = {"M1": {"cpu_points": 100.0}, "M2": {"cpu_points": 50.0}}
    racks = {"M1-1": "r1", "M1-2": "r2", "M2-1": "r1", "M2-2": "r1"}
    graph = topology("a>b", a=asks(10, 10.0), b=asks(10, 10.0))
    problem = build(graph, cluster(M1=2, M2=2, types=types, racks=racks))
    few, near = (solve(problem, "penstock", nearness=value) for value in (0.0, 1.0))
    assert (machines(few), machines(near)) == (2, 3)
    # Half of the 100 pairs in a worker of 5 + 5, half three apart. In one rack, 25 are in the
    # worker of 5 + 5 and 6 in each of 2 + 3, the others two apart.
    assert distance(problem, few) == 1.5
    assert distance(problem, near) == pytest.approx(2 * (100 - 25 - 6 - 6) / 100)


def test_a_topology_stays_in_one_region():
    # Six machines' worth; each region has ten machines, in two racks of five, listed by turns.
    names = [f"M1-{i + 1}" for i in range(20)]
    regions = {name: f"region-{i % 2}" for i, name in enumerate(names)}
    racks = {name: f"rack-{i % 4}" for i, name in enumerate(names)}
    graph = topology("a>b", a=asks(15, 20.0), b=asks(15, 20.0))
    problem = build(graph, cluster(M1=20, regions=regions, racks=racks))
    outcome = solve(problem, "penstock")
    assert machines(outcome) == 6
    assert len({regions[problem.cluster.machines[m].name] for m in outcome.placement.machine}) == 1


def test_a_slot_serves_one_topology():
    graphs = [topology("a", name=name, a=asks(1, 10.0)) for name in ("x", "y", "z")]
    outcome = solve(build(graphs, cluster(M1=3, every={"slots": 2})), "penstock")
    assert outcome.feasible
    assert machines(outcome) == 2


def test_what_does_not_fit_is_refused_the_least_urgent_first():
    # 100 points hold one topology of 60; the most urgent is listed last.
    graphs = [
        topology("a", name=name, priority=priority, a=asks(2, 30.0))
        for name, priority in (("late", 9), ("later", 10), ("first", 0))
    ]
    problem = build(graphs, cluster(M1=1))
    outcome = solve(problem, "penstock")
    assert {problem.labels[c] for c in outcome.placement.component} == {"first/a"}
    assert {(s.topology, s.resource, s.needed, s.available) for s in outcome.shortfalls} == {
        ("late", "cpu_points", 30.0, 10.0),
        ("later", "cpu_points", 30.0, 10.0),
    }


def test_an_executor_larger_than_any_heap_is_refused_for_that():
    graph = topology("a", a=asks(1, 10.0, 500.0), worker_max_heap_mb=400.0)
    [shortfall] = solve(build(graph, cluster(M1=1)), "penstock").shortfalls
    assert (shortfall.resource, shortfall.needed) == ("MB worker heap", 500.0)


def test_a_spent_budget_returns_the_best_so_far():
    problem = random_problem(1)
    outcome = solve(problem, "penstock", iterations=1)
    assert outcome.interrupted
    assert outcome.placement is not None
    stopped = get("penstock")().solve(problem, Budget(stop=lambda: True), np.random.default_rng(0))
    assert stopped.placement == outcome.placement


def test_counts_must_be_given():
    graph = topology("a", a={"cpu_points": 10.0})
    with pytest.raises(InputError, match="no instance count"):
        solve(build(graph, cluster(M1=1)), "penstock")


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_nearness_is_a_part(value):
    with pytest.raises(InputError, match="nearness"):
        get("penstock")(nearness=value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_requests_are_placed_whole_within_all_limits(seed):
    problem = random_problem(seed)
    outcome = solve(problem, "penstock")
    refused = {shortfall.topology for shortfall in outcome.shortfalls}
    for shortfall in outcome.shortfalls:
        assert shortfall.needed > shortfall.available
    if outcome.placement is None:
        assert len(refused) == len(problem.topologies)
        return
    assert broken(problem, outcome) == []
    counts = outcome.placement.counts(len(problem.components)).tolist()
    for c, component in enumerate(problem.components):
        away = problem.topologies[problem.topology_of[c]].name in refused
        assert counts[c] == (0 if away else component.instances)
    assert solve(problem, "penstock") == outcome


@pytest.mark.parametrize("seed", range(20))
def test_a_step_gains_what_it_says(seed):
    problem = random_problem(seed)
    wanted = requests_by_topology(problem, tuple(c.instances for c in problem.components))
    packing = Packing(problem, FreeCapacity.of(problem), wanted, PackingOrder("value", 9)).run()
    for demand in wanted:
        own = [step for step in packing.filled if step.requests is demand]
        others = [step for step in packing.filled if step.requests is not demand]
        if not own or not demand.pairs:
            continue
        workers = TopologyWorkers(
            demand, own, [m for m in range(9) if packing.free.slots[m]], packing.free
        )
        for row, component in product(range(len(workers.held)), range(len(demand.counts))):
            if not workers.held[row, component]:
                continue
            before = mean_distance(problem, placement_of(others + workers.filled()))
            step = workers.best_step(row, component)
            if step.gain <= 0 or step.source == step.target:
                continue
            workers.apply(step)
            after = Outcome(placement_of(others + workers.filled()))
            total = sum(d.pairs for d in wanted if d not in packing.refused)
            gained = (before - mean_distance(problem, after.placement)) * total
            assert gained == pytest.approx(step.gain)
            assert broken(problem, after) == []
        packing.filled = others + workers.filled()


@pytest.mark.parametrize("seed", range(20))
def test_polishing_opens_no_machine_and_lengthens_nothing(seed):
    problem = random_problem(seed)
    wanted = requests_by_topology(problem, tuple(c.instances for c in problem.components))
    packing = Packing(problem, FreeCapacity.of(problem), wanted, PackingOrder("core", 5)).run()
    before = placement_of(packing.filled)
    if before is None:
        return
    rng = np.random.default_rng(seed)
    filled, _ = polish(packing.filled, packing.free, rng, 1e6, stop=lambda: False)
    after = placement_of(filled)
    assert set(after.machine.tolist()) <= set(before.machine.tolist())
    assert mean_distance(problem, after) <= mean_distance(problem, before) + 1e-12
    assert broken(problem, Outcome(after)) == []


@pytest.mark.slow
def test_a_production_cluster_needs_fewer_machines_than_with_storms_own_scheduler():
    # Storm's ResourceAwareScheduler: 80 machines at a mean distance of 2.109.
    folder = data_folder() / "production-clusters" / "largeCluster03"
    if not folder.exists():
        pytest.skip(f"no recorded cluster at {folder}; set PENSTOCK_DATA")
    problem = load_production(folder, "storm-test")
    outcome = solve(problem, "penstock")
    assert outcome.shortfalls == ()
    assert outcome.placement.counts(len(problem.components)).tolist() == [
        component.instances for component in problem.components
    ]
    assert broken(problem, outcome) == []
    assert machines(outcome) <= 78
    assert distance(problem, outcome) <= 2.11

"""A lost machine where only requests are known: its instances go where they fit best."""

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, place, profile, topology

from penstock import app
from penstock.cli.main import main
from penstock.evaluate.limits import violations
from penstock.files.store import load, save
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem, build
from penstock.model.terms import Terms
from penstock.planning.contingencies.by_requests import contingencies_by_requests


def asks(cpu: float, memory: float | None = None, **more: float) -> dict:
    return {"cpu_points": cpu, "memory_mb": memory, **more}


def first_lost(problem: Problem, *instances: str) -> Contingency:
    """What becomes of the first machine's instances."""
    return contingencies_by_requests(problem, place(problem, *instances))[0]


def test_every_machine_in_use_has_one_and_no_rate_is_claimed():
    problem = build(topology("a>b", a=asks(40), b=asks(30)), cluster(M1=3))
    found = contingencies_by_requests(problem, place(problem, "a M1-1", "b M1-2"))
    # The idle M1-3 has more left than the other one in use: 60 > 30, 70 > 30.
    assert found == (
        Contingency("M1-1", (("a", 0, "M1-3", 0),), None),
        Contingency("M1-2", (("b", 0, "M1-3", 0),), None),
    )


def test_the_largest_request_chooses_first():
    problem = build(topology("a>b>c", a=asks(20), b=asks(50), c=asks(20)), cluster(M1=3))
    # b: 50 left on M1-2, 30 beside c on M1-3. Then a: 30 left on M1-2, 60 on M1-3. In the order of
    # the topology a would have taken M1-2, and b been left with 30 on either.
    assert first_lost(problem, "a M1-1", "b M1-1", "c M1-3").moves == (
        ("a", 0, "M1-3", 0),
        ("b", 0, "M1-2", 0),
    )


def test_large_is_what_takes_most_of_a_machine_in_cpu_or_memory():
    problem = build(
        topology("a>b>c", a=asks(30, 100), b=asks(10, 600), c=asks(0, 300)),
        cluster(M1=3, every={"memory_mb": 1000.0}),
    )
    # b takes 0.6 of a machine's memory, a 0.3 of its CPU: b first, to M1-2 (90 left on both, one
    # instance on M1-3). a then has 60 left on M1-2, 70 on M1-3.
    assert first_lost(problem, "a M1-1", "b M1-1", "c M1-3").moves == (
        ("a", 0, "M1-3", 0),
        ("b", 0, "M1-2", 0),
    )


@pytest.mark.parametrize(("b", "to"), [(50, "M2-1"), (70, "M1-2")])
def test_what_is_left_counts_relative_to_the_machine(b, to):
    kinds = {"M2": {"cpu_points": 400.0}}
    problem = build(topology("a>b", a=asks(20), b=asks(b)), cluster(M1=2, M2=1, types=kinds))
    # M1-2 would have 80 of 100 left, 0.8; M2-1 beside b 330 of 400, 0.825, or 310, 0.775.
    assert first_lost(problem, "a M1-1", "b M2-1").moves == (("a", 0, to, 0),)


def test_memory_is_hard():
    problem = build(
        topology("a>b", a=asks(10, 300), b=asks(80, 700)),
        cluster(M1=2, M2=1, every={"memory_mb": 1000.0}, types={"M2": {"memory_mb": 299.0}}),
    )
    # M2-1 is idle but 1 MB too small; 300 beside 700 is exactly what M1-2 has.
    assert first_lost(problem, "a M1-1", "b M1-2").moves == (("a", 0, "M1-2", 0),)


def test_a_new_worker_needs_memory_of_its_own():
    every = {"memory_mb": 1000.0, "worker_memory_mb": 100.0}
    problem = build(
        topology("a>b", a=asks(10, 550), b=asks(80, 350)),
        cluster(M1=2, M2=1, every=every, types={"M2": {"memory_mb": 649.0}}),
    )
    # M2-1: 550 + 100 > 649. In b's worker on M1-2: 550 + 350 + 100 = 1,000.
    assert first_lost(problem, "a M1-1", "b M1-2").moves == (("a", 0, "M1-2", 0),)


def test_cpu_is_soft():
    problem = build(topology("a>b>c", a=asks(80), b=asks(90), c=asks(70)), cluster(M1=3))
    # 170 of 100 on M1-2, 150 on M1-3.
    assert first_lost(problem, "a M1-1", "b M1-2", "c M1-3").moves == (("a", 0, "M1-3", 0),)


def test_instances_that_ask_for_nothing_spread_by_number_and_size():
    kinds = {"M2": {"cpu_points": 200.0}}
    graph = topology("a>b", a=asks(0), b=asks(0))
    problem = build(graph, cluster(M1=2, M2=1, types=kinds))
    found = first_lost(problem, "a M1-1", "a M1-1", "a M1-1", "b M1-2")
    # The idle M2-1 takes one, and another: one per 200 points is less than one per 100 on M1-2.
    # Then both have one per 100, and the first of them takes it.
    assert [to for _, _, to, _ in found.moves] == ["M2-1", "M2-1", "M1-2"]


def test_it_joins_the_worker_of_its_own_topology_the_smallest_one():
    problem = build(topology("a>b", a=asks(10), b=asks(10)), cluster(M1=2))
    places = ("b M1-2/1", "b M1-2/1", "b M1-2/3")
    found = first_lost(problem, "a M1-1", "a M1-1", "a M1-1", *places)
    # Two against one; two each, the first; three against two.
    assert [slot for *_, slot in found.moves] == [3, 1, 3]


def test_of_another_topology_it_takes_the_first_free_slot():
    graphs = [topology("a", name="one", a=asks(10)), topology("b", name="two", b=asks(10))]
    problem = build(graphs, cluster(M1=2))
    found = first_lost(problem, "one/a M1-1", "two/b M1-2/0", "two/b M1-2/2")
    assert found.moves == (("one/a", 0, "M1-2", 1),)


def test_a_machine_without_a_free_slot_takes_only_its_own_topologies():
    graphs = [topology("a", name="one", a=asks(40)), topology("b", name="two", b=asks(5))]
    problem = build(graphs, cluster(M1=3, every={"slots": 1}))
    placement = place(problem, "one/a M1-1", "one/a M1-3", "two/b M1-2")
    # M1-2 has more CPU, 55 against 20, but b's worker has its only slot. b has no place at all.
    assert [lost.moves for lost in contingencies_by_requests(problem, placement)] == [
        (("one/a", 0, "M1-3", 0),),
        (),
        (("one/a", 1, "M1-1", 0),),
    ]


def test_a_worker_whose_heap_is_full_is_not_joined():
    graph = topology("a>b", worker_max_heap_mb=500.0, a=asks(10, 200), b=asks(10, 400))
    problem = build(graph, cluster(M1=2, every={"memory_mb": 1000.0}))
    # 400 + 200 > 500: a worker of its own, on a machine with the memory for it.
    assert first_lost(problem, "a M1-1", "b M1-2").moves == (("a", 0, "M1-2", 1),)


def test_an_instance_too_large_for_any_worker_is_left_out():
    graph = topology("a>b", worker_max_heap_mb=500.0, a=asks(10, 600), b=asks(10, 400))
    problem = build(graph, cluster(M1=2, every={"memory_mb": 2000.0}))
    assert first_lost(problem, "a M1-1", "b M1-2").moves == ()


def test_a_worker_below_the_floor_takes_more_at_no_cost():
    problem = build(
        topology("a>b", a=asks(10), b=asks(30)),
        cluster(M1=2, M2=1, types={"M2": {"cpu_points": 95.0}}, worker_min_cpu_points=45.0),
    )
    # b's worker is charged 45 with and without an a: 0.55 left. A new one is charged 45 as well:
    # 50 of 95 left on M2-1, 0.526, not 85. With a second a b's worker asks for 50: 0.5.
    assert first_lost(problem, "a M1-1", "a M1-1", "b M1-2").moves == (
        ("a", 0, "M1-2", 0),
        ("a", 1, "M2-1", 0),
    )


def test_machines_to_avoid_take_nothing():
    problem = build(topology("a>b", a=asks(40), b=asks(30)), cluster(M1=3))
    avoiding = problem.with_terms(Terms(avoid=("M1-3",)))
    assert first_lost(avoiding, "a M1-1", "b M1-2").moves == (("a", 0, "M1-2", 0),)


def test_an_instance_that_fits_nowhere_is_left_out_and_the_others_move():
    problem = build(
        topology("a>b>c", a=asks(10, 800), b=asks(10, 300), c=asks(10, 400)),
        cluster(M1=2, every={"memory_mb": 1000.0}),
    )
    # Beside c's 400 there is no room for 800, but for 300.
    assert first_lost(problem, "a M1-1", "b M1-1", "c M1-2").moves == (("b", 0, "M1-2", 0),)


def test_instances_are_numbered_within_their_component():
    problem = build(topology("a>b", a=asks(10), b=asks(10)), cluster(M1=2))
    found = first_lost(problem, "a M1-2", "a M1-1", "b M1-2", "b M1-2", "b M1-1")
    assert [move[:2] for move in found.moves] == [("a", 1), ("b", 2)]


def test_a_lone_machine_has_nowhere_to_go():
    problem = build(topology("a", a=asks(10)), cluster(M1=1))
    assert first_lost(problem, "a M1-1") == Contingency("M1-1", (), None)


def test_more_kinds_of_losses_than_allowed_are_not_worked_out():
    problem = build(topology("a>b", a=asks(10), b=asks(10)), cluster(M1=4))
    placement = place(problem, "a M1-1", "a M1-2", "b M1-3")  # two kinds: an a, a b
    assert contingencies_by_requests(problem, placement, most_kinds=1) == ()
    assert len(contingencies_by_requests(problem, placement, most_kinds=2)) == 3


# -- any problem ------------------------------------------------------------------------------


def random_problem(rng: np.random.Generator) -> Problem:
    def graph(name: str) -> object:
        options = {
            label: asks(
                rng.choice([0.0, 5.0, 20.0, 45.0]),
                rng.choice([None, 50.0, 120.0, 300.0]),
                offheap_mb=float(rng.choice([0.0, 40.0])),
            )
            for label in "abc"
        }
        return topology("a>b>c", name=name, worker_max_heap_mb=rng.choice([None, 350.0]), **options)

    memory = {"memory_mb": 700.0, "worker_memory_mb": float(rng.choice([0.0, 30.0]))}
    machines = cluster(
        M1=int(rng.integers(1, 4)),
        M2=int(rng.integers(1, 3)),
        types={"M1": {**memory, "slots": 2}, "M2": {"cpu_points": 200.0, "slots": 3}},
        worker_min_cpu_points=float(rng.choice([0.0, 15.0])),
    )
    return build([graph("one"), graph("two")], machines)


def hard(problem: Problem, placement: Placement) -> int:
    """Limits broken, CPU and the number of instances apart."""
    soft = ("CPU points", "instance at least")
    return sum(found.resource not in soft for found in violations(problem, placement))


def random_placement(problem: Problem, rng: np.random.Generator) -> Placement:
    """Instances where the dice put them, as long as no hard limit is broken."""
    placed: list[tuple[int, int, int]] = []
    for _ in range(14):
        machine = int(rng.integers(len(problem.cluster.machines)))
        one = (int(rng.integers(len(problem.components))), machine, int(rng.integers(3)))
        if not hard(problem, Placement.of(*zip(*placed, one, strict=True))):
            placed.append(one)
    return Placement.of(*zip(*placed, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_on_any_problem_limits_hold_and_what_is_left_out_fits_nowhere(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    placement = random_placement(problem, rng)
    avoided = problem.cluster.machines[-1].name
    if seed % 2:
        problem = problem.with_terms(Terms(avoid=(avoided,)))
    index, starts = problem.cluster.machine_index, placement.starts(len(problem.components))
    # An avoided machine that the plan uses all the same is not held against the contingency.
    free = replace(problem, terms=Terms())
    for lost in contingencies_by_requests(problem, placement):
        at = {starts[problem.labels.index(label)] + number: (index[to], slot)
              for label, number, to, slot in lost.moves}  # fmt: skip
        leaving = np.flatnonzero(placement.machine == index[lost.machine]).tolist()
        assert set(at) <= set(leaving)
        assert index[lost.machine] not in {machine for machine, _ in at.values()}
        assert not problem.terms.avoid or index[avoided] not in {m for m, _ in at.values()}
        rows = [
            (int(c), *at.get(i, (int(m), int(s))))
            for i, (c, m, s) in enumerate(
                zip(placement.component, placement.machine, placement.slot, strict=True)
            )
            if i in at or i not in leaving
        ]
        assert not rows or not hard(free, Placement.of(*zip(*rows, strict=True)))
        closed = {lost.machine, *problem.terms.avoid}
        for i in set(leaving) - set(at):
            for machine in (m for m in problem.cluster.machines if m.name not in closed):
                for slot in range(3):
                    one = (int(placement.component[i]), index[machine.name], slot)
                    assert hard(free, Placement.of(*zip(*rows, one, strict=True)))


def test_the_same_plan_has_the_same_contingencies():
    rng = np.random.default_rng(7)
    problem = random_problem(rng)
    placement = random_placement(problem, rng)
    before = (placement.machine.tolist(), placement.slot.tolist())
    found = contingencies_by_requests(problem, placement)
    assert contingencies_by_requests(problem, placement) == found
    assert (placement.machine.tolist(), placement.slot.tolist()) == before


# -- in a plan --------------------------------------------------------------------------------


def test_a_plan_by_requests_carries_them_whether_counts_may_change_or_not():
    graph = topology("a>b", a=asks(40, instances=2), b=asks(30, instances=2))
    problem = build(graph, cluster(M1=3))
    made = app.plan(problem, "penstock", if_lost=3).plan
    assert made.if_lost == contingencies_by_requests(problem, made.placement)
    assert [len(lost.moves) for lost in made.if_lost] == [
        int(np.sum(made.placement.machine == m)) for m in made.placement.machines_used
    ]
    assert app.plan(problem, "penstock", if_lost=3, same_counts=True).plan.if_lost == made.if_lost
    assert app.plan(problem, "penstock").plan.if_lost == ()


def test_a_plan_of_a_topology_with_a_cycle_carries_them():
    graph = topology("s>a>b>a", s={"instances": 1}, a={"instances": 2}, b={"instances": 2})
    problem = build(graph, cluster(M1=2), profile(s=1.0, a=1.0, b=1.0, on=("M1",)))
    made = app.plan(problem, "default", if_lost=10, same_counts=True).plan
    assert [lost.machine for lost in made.if_lost] == ["M1-1", "M1-2"]
    assert sum(len(lost.moves) for lost in made.if_lost) == 5


def test_the_command_keeps_them_and_says_what_has_no_room(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    big, small = asks(10, 600, instances=2), asks(10, 100, instances=1)
    save(topology("a>b", a=big, b=small), "t.yaml")
    save(cluster(M1=2, every={"memory_mb": 1000.0}), "c.yaml")
    with pytest.raises(SystemExit) as left:
        main(["plan", "t.yaml", "-c", "c.yaml", "-o", "plan.json"])
    assert not left.value.code
    # Each machine holds an a of 600 of 1,000 MB; the other a never fits beside it, b does.
    assert sum(len(lost.moves) for lost in load("plan.json").if_lost) == 1
    said = (
        "if M1-1 is lost, no room is left for 1 instance of it; the same is true of 1 other machine"
    )
    assert said in capsys.readouterr().err

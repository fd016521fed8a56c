"""``top``: TOP-Storm, with the vectors of the thesis, and what all four of its share."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import cluster, held_by_slot, machine_names, profile, topology

from penstock.errors import InputError
from penstock.files.examples import load_cluster
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.schedulers import Budget, Scheduler, parameters_of
from penstock.schedulers.executor_groups import (
    comparable,
    fill_slot,
    group_by_pairs,
    node_power,
    ranked_nodes,
)
from penstock.schedulers.executor_kinds import connected_pairs
from penstock.schedulers.top import TopScheduler
from penstock.schedulers.traffic import connected

#: Fig. 3.3 as Table 3.4 lists it, spouts before bolts.
TABLE_3_4 = "SA>BA SA>BB SA>BC SB>BC BA>BB BA>BD BB>BC BB>BD BC>BD"
FIG_3_3 = f"SA SB BA BB BC BD {TABLE_3_4}"

#: Tables 3.1 and 3.2: GHz, GB, FLOPs per cycle, cores.
TABLE_3_1 = {
    "D": (3.4, 12, 16, 4),
    "E": (3.2, 16, 8, 8),
    "C": (3.2, 10, 16, 2),
    "B": (2.8, 8, 4, 4),
    "A": (2.4, 4, 4, 4),
    "F": (2.8, 12, 4, 2),
}


def requested(shape: str, counts: dict[str, int] | None = None, **options):
    """A topology in requests mode, one instance of each component unless told otherwise."""
    names = dict.fromkeys(shape.replace(" ", ">").split(">"))
    asked = {n: {"cpu_points": 10.0, "instances": (counts or {}).get(n, 1)} for n in names}
    return topology(shape, **options, **asked)


def solve(problem: Problem, **settings) -> Outcome:
    return TopScheduler(**settings).solve(problem, Budget(), np.random.default_rng(0))


def table_3_1_cluster():
    kinds = {
        name: {"ghz": ghz, "memory_mb": gb * 1024, "flops_per_cycle": flops, "cores": cores}
        for name, (ghz, gb, flops, cores) in TABLE_3_1.items()
    }
    return cluster(types=kinds, A=1, B=1, C=1, D=1, E=1, F=1)


# -- grouping -----------------------------------------------------------------------------------


def test_it_is_a_scheduler_whose_parameters_are_explained():
    assert isinstance(TopScheduler(), Scheduler)
    assert [p.name for p in parameters_of(TopScheduler)] == ["alpha"]
    assert all(p.help for p in parameters_of(TopScheduler))


def test_the_pairs_of_the_figure_are_those_of_the_table():
    problem = build(requested(FIG_3_3), cluster(M1=1))
    pairs = [f"{problem.labels[a]}>{problem.labels[b]}" for a, b in connected_pairs(problem, 0)]
    assert " ".join(pairs) == TABLE_3_4


@pytest.mark.parametrize(("tied", "first"), [("BC BD", "BC"), ("BD BC", "BD")])
def test_the_figures_next_executor(tied, first):
    # SA, BA open; BB has two connections with them, BC and BD one each. Then BC has two (SA, BB)
    # and so has BD (BA, BB), SB none: the one that stands first in the topology is taken.
    problem = build(requested(f"SA SB BA BB {tied} {TABLE_3_4}"), cluster(M1=1))
    index = problem.labels.index
    bond = connected(problem)
    scores = bond[index("SA")] + bond[index("BA")] + bond[index("BB")]
    assert {label: scores[index(label)] for label in ("BC", "BD", "SB")} == {
        "BC": 2,
        "BD": 2,
        "SB": 0,
    }
    left = np.ones(6, dtype=np.int64)
    opening = connected_pairs(problem, 0)[0]
    taken = fill_slot(left, opening, bond, 4, whole_slot=True)
    assert [problem.labels[c] for c in taken] == ["SA", "BA", "BB", first]
    assert left.sum() == 2


def test_the_figure_on_two_workers():
    # Three to a slot: SA, BA and BB. Of the pairs, (SB, BC) is the first with neither end placed;
    # BD, joined to BC, is the third.
    problem = build(requested(FIG_3_3, workers=2), cluster(M1=1))
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "SA BA BB", "M1-1/1": "SB BC BD"}


def test_what_is_not_connected_is_dealt_out_from_slot_one():
    # a and b share slot 0, per_slot is 2. x, y, z have no connection: k = 1, 2, 3 to slots 1, 2, 0.
    problem = build(requested("a>b x y z", workers=3), cluster(M1=1))
    outcome = solve(problem)
    # By size: slot 0 (a b z), then slots 1 and 2.
    assert held_by_slot(problem, outcome) == {"M1-1/0": "a b z", "M1-1/1": "x", "M1-1/2": "y"}


def test_a_slot_without_anything_more_to_take_stays_short():
    # per_slot = ceil(6/2) = 3. a b take slot 0; nothing left is joined to them; c d e take slot 1.
    # f, with no pair of its own, is left over: k = 1 goes to slot 1, which is then the largest.
    problem = build(requested("a>b c>d>e f", workers=2), cluster(M1=1))
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "c d e f", "M1-1/1": "a b"}


def test_pairs_beyond_the_last_slot_are_left_over():
    # per_slot = 3, two slots: a b and c d open both and stay short; e, f go to slots 1 and 0.
    problem = build(requested("a>b c>d e>f", workers=2), cluster(M1=1))
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "a b f", "M1-1/1": "c d e"}


def test_a_pair_is_not_divided_even_with_a_worker_each():
    # per_slot = 1, yet a pair opens a slot together; the other two slots stay free.
    problem = build(requested("a>b c>d", workers=4), cluster(M1=1))
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "a b", "M1-1/1": "c d"}


def test_a_component_that_feeds_itself_is_joined_to_itself():
    # Two different executors make a pair, a lone one makes none: a and b are left, for 1 and 0.
    problem = build(requested("a>a b", {"a": 3}, workers=2), cluster(M1=1))
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "a a b", "M1-1/1": "a"}


def literal(counts, pairs, bond, workers, whole_slot):
    """Algorithm 2 (or 5, 7) word for word, executor by executor."""
    executors = [(c, i) for c, count in enumerate(counts) for i in range(count)]
    per_slot = -(-len(executors) // workers)
    slot_of: dict[tuple[int, int], int] = {}
    slot = 0
    walk = [
        (s, d) for a, b in pairs for s in executors for d in executors if (s[0], d[0]) == (a, b)
    ]
    for source, destination in walk:
        if source == destination or {source, destination} & {*slot_of} or slot == workers:
            continue
        inside = [source, destination]
        slot_of |= {source: slot, destination: slot}
        while len(inside) < per_slot:
            others = inside if whole_slot else inside[:2]
            free = [e for e in executors if e not in slot_of]
            score = {e: sum(bond[e[0]][o[0]] for o in others) for e in free}
            best = max(free, key=lambda e: score[e], default=None)
            if best is None or score[best] == 0:
                break
            slot_of[best] = slot
            inside.append(best)
        slot += 1
    for k, executor in enumerate((e for e in executors if e not in {**slot_of}), start=1):
        slot_of[executor] = k % workers
    groups = [[0] * len(counts) for _ in range(workers)]
    for (component, _), where in slot_of.items():
        groups[where][component] += 1
    return groups


@given(seed=st.integers(0, 2**32 - 1), whole_slot=st.booleans())
def test_counting_components_is_walking_the_executor_pairs(seed, whole_slot):
    random = Random(seed)
    size = random.randint(1, 5)
    counts = np.array([random.randint(1, 4) for _ in range(size)])
    bond = np.zeros((size, size))
    pairs = []
    for _ in range(random.randint(0, 7)):
        a, b = random.randrange(size), random.randrange(size)
        pairs.append((a, b))
        bond[a, b] = bond[b, a] = random.randint(1, 3)
    pairs = list(dict.fromkeys(pairs))
    workers = random.randint(1, 8)
    got = group_by_pairs(counts, pairs, bond, workers, whole_slot=whole_slot)
    assert got.tolist() == literal(counts.tolist(), pairs, bond.tolist(), workers, whole_slot)
    assert got.sum(axis=0).tolist() == counts.tolist()


def test_what_only_rounding_sets_apart_is_a_tie():
    values = comparable(np.array([0.1 + 0.2, 0.3, 0.3000001, 0.0, 1e-12]))
    assert values[0] == values[1] < values[2]
    assert values[3] == 0 < values[4]


# -- nodes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "order"), [(0.8, "DECBAF"), (0.2, "EDCBFA")])
def test_the_thesis_order_of_nodes(alpha, order):
    # D at 0.8: 0.8 * (3.4 * 16 * 4 = 217.6) + 0.2 * 12 = 176.48.
    machines = table_3_1_cluster()
    ranking = node_power(machines, cpu=alpha, memory=1 - alpha)
    names = [machines.machines[m].type for m in ranked_nodes(ranking.power, [4] * 6)]
    assert "".join(names) == order
    if alpha == 0.8:
        assert ranking.power[machines.machine_index["D-1"]] == pytest.approx(176.48)
    assert ranking.notes == ()


def test_the_thesis_cluster_has_its_printed_power():
    # Table 4.1.
    power = node_power(load_cluster("thesis"), cpu=0.8, memory=0.2).power
    assert np.rint(power).tolist() == [148317] * 3 + [65384] * 3 + [40918] * 3


def test_ties_go_to_more_free_slots_then_to_cluster_order():
    power = np.array([5.0, 9.0, 5.0, 5.0, 9.0])
    assert ranked_nodes(power, [1, 0, 3, 3, 2]) == [4, 2, 3, 0]


def test_alpha_decides_where_the_first_slot_is():
    problem = build(requested("a>b", workers=1), table_3_1_cluster())
    assert set(held_by_slot(problem, solve(problem))) == {"D-1/0"}
    assert set(held_by_slot(problem, solve(problem, alpha=0.2))) == {"E-1/0"}


def test_a_node_is_filled_before_the_next():
    # Six executors, three pairs, two slots a node: D-1 has two of them, E-1 the third.
    machines = table_3_1_cluster()
    two = tuple(replace(kind, slots=2) for kind in machines.types)
    problem = build(requested("a>b c>d e>f", workers=3), replace(machines, types=two))
    expected = {"D-1/0": "a b", "D-1/1": "c d", "E-1/0": "e f"}
    assert held_by_slot(problem, solve(problem)) == expected


def test_without_hardware_numbers_cpu_points_rank_all_machines():
    # M1 would have 1000 GFLOPS, but M2's are not known: 100 against 400 points decides.
    kinds = {
        "M1": {"cores": 10, "ghz": 10.0, "flops_per_cycle": 10.0, "memory_mb": 1024.0},
        "M2": {"cpu_points": 400.0, "memory_mb": 1024.0},
    }
    problem = build(requested("a>b", workers=1), cluster(types=kinds, M1=1, M2=1))
    outcome = solve(problem)
    assert machine_names(problem, outcome.placement, "a") == ["M2-1"]
    (note,) = outcome.notes
    assert "cpu_points" in note


def test_an_unknown_memory_is_said():
    kinds = {"M1": {"cores": 1, "ghz": 1.0, "flops_per_cycle": 1.0}}
    problem = build(requested("a"), cluster(types=kinds, M1=1))
    assert solve(problem).notes == ("node power counts memory_mb of M1 as 0: it is not known",)
    assert solve(problem, alpha=1.0).notes == ()


def test_types_without_machines_need_no_numbers():
    kinds = {"M1": {"cores": 1, "ghz": 1.0, "flops_per_cycle": 1.0, "memory_mb": 1.0}}
    problem = build(requested("a"), cluster(types=kinds, M1=1, M2=0))
    assert solve(problem).notes == ()


# -- several topologies, too few slots ----------------------------------------------------------


def test_several_topologies_share_the_slots_by_priority():
    # y is more urgent: both slots of M1-1. x asks for three workers and gets the two that are left.
    late = requested("a>b c>d e>f", name="x", workers=3, priority=2)
    urgent = requested("p>q r>s", name="y", workers=2, priority=1)
    problem = build((late, urgent), cluster(M1=2, every={"slots": 2}))
    assert held_by_slot(problem, solve(problem)) == {
        "M1-1/0": "y/p y/q",
        "M1-1/1": "y/r y/s",
        "M1-2/0": "x/a x/b x/f",  # pairs a-b and c-d open the slots; e, f: slots 1 and 0
        "M1-2/1": "x/c x/d x/e",
    }


def test_of_equal_nodes_the_second_topology_takes_the_emptier():
    first = requested("a>b", name="x", workers=1)
    second = requested("a>b", name="y", workers=1)
    problem = build((first, second), cluster(M1=2, every={"slots": 2}))
    expected = {"M1-1/0": "x/a x/b", "M1-2/0": "y/a y/b"}
    assert held_by_slot(problem, solve(problem)) == expected


def test_without_a_free_slot_a_topology_is_refused():
    first = requested("a>b c>d", name="x", workers=2)
    second = requested("a>b", name="y", workers=1)
    problem = build((first, second), cluster(M1=1, every={"slots": 2}))
    outcome = solve(problem)
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "y"),)
    assert outcome.placement.counts(6).tolist() == [1, 1, 1, 1, 0, 0]
    nothing = solve(build(first, cluster(M1=1, every={"slots": 0})))
    assert nothing.placement is None
    assert not nothing.feasible


def test_the_same_problem_gives_the_same_answer():
    graph = requested("a>b>c a>c>d", {"a": 3, "b": 5, "c": 2, "d": 4}, workers=4)
    problem = build(graph, cluster(M1=3, every={"slots": 2}))
    assert solve(problem) == solve(problem)


def test_counts_must_be_laid_down():
    problem = build(topology("a>b", a={"instances": 1}), cluster(M1=1), profile(a=1.0, b=1.0))
    with pytest.raises(InputError, match="component b"):
        solve(problem)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_alpha_is_a_weight(alpha):
    with pytest.raises(InputError, match="alpha must be between 0 and 1"):
        TopScheduler(alpha=alpha)

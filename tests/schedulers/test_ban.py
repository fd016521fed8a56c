"""``ban``: BAN-Storm, with the vectors of the thesis."""

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, machine_names, profile, topology

from penstock.errors import InputError
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.schedulers import Budget, Scheduler, parameters_of
from penstock.schedulers.a3 import A3Scheduler
from penstock.schedulers.ban import BanScheduler, weighted_power
from penstock.schedulers.executor_groups import ranked_nodes

#: Table 3.7: cores, GHz, FLOPs per cycle, GB; 100 Mb/s each.
TABLE_3_7 = {
    "A": (4, 2.8, 2, 12),
    "B": (4, 2.4, 2, 12),
    "C": (2, 2.2, 2, 16),
    "D": (2, 2.0, 1, 20),
    "E": (2, 1.8, 1, 24),
}


def table_3_7_cluster(**changed):
    kinds = {
        name: {
            "cores": cores,
            "ghz": ghz,
            "flops_per_cycle": flops,
            "memory_mb": gb * 1024,
            "nic_mbps": 100.0,
            **changed.get(name, {}),
        }
        for name, (cores, ghz, flops, gb) in TABLE_3_7.items()
    }
    return cluster(types=kinds, A=1, B=1, C=1, D=1, E=1)


def solve(problem: Problem, **settings) -> Outcome:
    return BanScheduler(**settings).solve(problem, Budget(), np.random.default_rng(0))


def chain(*counts: int, **options):
    names = "abcdef"[: len(counts)]
    asked = dict(zip(names, counts, strict=True))
    return topology(">".join(names), **options, **{n: {"instances": i} for n, i in asked.items()})


COSTS = profile(**dict.fromkeys("abcdef", 1.0), on=("A", "B", "C", "D", "E", "M1"))


def test_it_is_a_scheduler_whose_parameters_are_explained():
    assert isinstance(BanScheduler(), Scheduler)
    assert [p.name for p in parameters_of(BanScheduler)] == ["bound"]
    assert all(p.help for p in parameters_of(BanScheduler))


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        # Tables 3.8, 3.9 and 3.10. A by CPU: 0.5 * 22.4 + 0.25 * 12 + 0.25 * 100 = 39.2.
        ("cpu", "A39 B38 C33 E33 D32"),
        ("memory", "E38 A37 B36 D36 C35"),
        ("network", "A59 B58 E57 C56 D56"),
    ],
)
def test_the_thesis_order_of_nodes(bound, expected):
    machines = table_3_7_cluster()
    ranking = weighted_power(machines, bound)
    order = ranked_nodes(ranking.power, [4] * 5)
    assert " ".join(f"{machines.machines[m].type}{ranking.power[m]:.0f}" for m in order) == expected
    assert ranking.notes == ()


@pytest.mark.parametrize(
    ("bound", "first"), [("cpu", "A-1"), ("memory", "E-1"), ("network", "A-1")]
)
def test_what_topologies_are_bound_by_decides_where_they_go(bound, first):
    problem = build(chain(1, 1, workers=1), table_3_7_cluster(), COSTS)
    outcome = solve(problem, bound=bound)
    assert machine_names(problem, outcome.placement, "a") == [first]


def test_each_topology_goes_by_what_it_declares_unless_a_parameter_says_otherwise():
    """As above: E for what is bound by memory, A for the other, which declares nothing."""
    graphs = [chain(1, 1, workers=1, name="x"), chain(1, 1, workers=1, name="y")]
    graphs[0] = replace(graphs[0], bound_by="memory")
    problem = build(graphs, table_3_7_cluster(), COSTS)
    placed = solve(problem).placement
    assert [machine_names(problem, placed, f"{name}/a") for name in "xy"] == [["E-1"], ["A-1"]]
    # One thing for all: both want A, which has four slots.
    placed = solve(problem, bound="cpu").placement
    assert {*machine_names(problem, placed, "x/a"), *machine_names(problem, placed, "y/a")} == {
        "A-1"
    }


def test_bandwidth_can_outweigh_the_rest():
    # D with 1000 Mb/s: 2 + 5 + 250 = 257 even for a topology bound by CPU.
    problem = build(chain(1, 1, workers=1), table_3_7_cluster(D={"nic_mbps": 1000.0}), COSTS)
    assert machine_names(problem, solve(problem).placement, "a") == ["D-1"]


def test_equal_rounded_scores_go_to_more_free_slots():
    # By CPU, C has 33.4 and E 32.8, both 33: E, with five free slots, then comes before C.
    machines = table_3_7_cluster(E={"slots": 5})
    slots = [4, 4, 4, 4, 5]
    order = ranked_nodes(weighted_power(machines, "cpu").power, slots)
    assert "".join(machines.machines[m].type for m in order) == "ABECD"


def test_halves_are_rounded_up():
    kinds = {
        "M1": {"cores": 1, "ghz": 1.0, "flops_per_cycle": 5.0, "memory_mb": 0.0, "nic_mbps": 0}
    }
    # 0.5 * 5 = 2.5.
    assert weighted_power(cluster(types=kinds, M1=1), "cpu").power.tolist() == [3.0]


def test_grouping_is_that_of_a3():
    problem = build(chain(3, 5, 2, workers=3), cluster(M1=1), COSTS)
    of_a3 = A3Scheduler().solve(problem, Budget(), np.random.default_rng(0))
    assert solve(problem).placement == of_a3.placement


def test_without_the_special_case_a_pair_shares_a_slot():
    # Four workers for four executors: a-b and c-d still open a slot each.
    problem = build(chain(1, 1, 1, 1, workers=4), cluster(M1=1), COSTS)
    assert solve(problem).placement.workers == ((0, 0), (0, 1))


def test_one_worker_has_everything():
    problem = build(chain(2, 3, 4, workers=1), cluster(M1=1), COSTS)
    assert solve(problem).placement.workers == ((0, 0),)


def test_what_is_unknown_is_said():
    outcome = solve(build(chain(1, 2), cluster(M1=2), COSTS))
    assert outcome.notes == (
        "node power from cpu_points: cores, GHz or FLOPs per cycle of M1 are not known",
        "node power counts memory_mb of M1 as 0: it is not known",
        "node power counts nic_mbps of M1 as 0: it is not known",
        "traffic from the rate model, not measured",
    )


def test_requests_alone_will_do():
    asks = {"cpu_points": 10.0, "instances": 3}
    problem = build(topology("a>b", a=asks, b=asks, workers=2), cluster(M1=2))
    outcome = solve(problem)
    assert outcome.feasible
    assert outcome.placement.counts(2).tolist() == [3, 3]


def test_several_topologies_and_too_few_slots():
    graphs = tuple(
        chain(1, 1, name=name, workers=1, priority=p) for name, p in (("x", 1), ("y", 0))
    )
    problem = build(graphs, cluster(M1=1, every={"slots": 1}), COSTS)
    outcome = solve(problem)
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "x"),)
    assert outcome.placement.counts(4).tolist() == [0, 0, 1, 1]


def test_the_same_problem_gives_the_same_answer():
    problem = build(chain(4, 6, 3, 5, workers=5), table_3_7_cluster(), COSTS)
    assert solve(problem) == solve(problem)


def test_there_are_three_things_to_be_bound_by():
    with pytest.raises(InputError, match='cpu, memory, network or declared, not "disk"'):
        BanScheduler(bound="disk")

"""Random problems and random placements of them, for property tests.

Hypothesis draws the sizes and which features of the model are in play, so that a counterexample
shrinks to the few that matter; the numbers come from a generator seeded by one more draw, which
is a hundred times faster than drawing each. Numbers stay away from the extremes of floating
point, so that two correct evaluators agree to 1e-9. Zero comes often, on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from penstock.model.cluster import Cluster, Link, Machine, MachineType, Network
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.profile import Cost, Profile, StreamMeasure
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology, Trait

_WITHOUT_KEYS = Trait.EVEN | Trait.LOCAL | Trait.COPIED | Trait.SINGLE
#: Groupings that go by keys, with those that have a trait of their own.
_BY_KEYS = tuple(grouping for grouping in Grouping if not grouping.traits & _WITHOUT_KEYS)
_ROWS = ("low", "mid", "high", "own")
_MOST_INSTANCES = 5

FEATURES = (
    *("groupings", "keys", "selectivity", "two streams", "spouts", "ackers", "tasks"),
    *("max instances", "threads", "cores", "memory", "nic", "base cost", "worker cost"),
    *("remote cost", "free work", "free idling", "power", "racks", "regions", "links"),
    *("headroom", "measured", "demands", "shares", "slots", "unlike machines", "any order"),
)

_T = TypeVar("_T")


@dataclass
class Dice:
    """A seeded generator that knows which features are in play."""

    seed: int
    features: frozenset[str]
    most_topologies: int
    most_components: int
    most_types: int
    most_machines: int

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def upto(self, most: int) -> int:
        return self.random.randint(1, most)

    def number(self, low: float, high: float) -> float:
        return round(self.random.uniform(low, high), 3)

    def maybe(self, feature: str, value: _T, otherwise: Any) -> Any:
        """The value in half of the cases where the feature is in play."""
        return value if self.often(feature) else otherwise

    def often(self, feature: str) -> bool:
        return self.random.random() < 0.5 and feature in self.features


@st.composite
def dice(draw: DrawFn, most_topologies: int = 3, without: frozenset[str] = frozenset()) -> Dice:
    on = draw(_SWITCHES)
    features = frozenset(name for name, switch in zip(FEATURES, on, strict=True) if switch)
    graphs, components, types, machines = draw(_SIZES)
    graphs = min(graphs, most_topologies)
    return Dice(draw(_SEEDS), features - without, graphs, components, types, machines)


_SWITCHES = st.tuples(*[st.booleans()] * len(FEATURES))
_SIZES = st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 4), st.integers(1, 8))
_SEEDS = st.integers(0, 2**32)


def random_topology(dice: Dice, name: str, demand: float | None) -> Topology:
    """A DAG: spouts first, then bolts, perhaps an acker, perhaps declared in another order."""
    size = dice.upto(dice.most_components)
    spouts = dice.maybe("spouts", min(size, 2), 1)
    kinds = [Kind.SPOUT] * spouts + [Kind.BOLT] * (size - spouts)
    if size > spouts:
        kinds[-1] = dice.maybe("ackers", Kind.ACKER, Kind.BOLT)
    pairs = [(f"c{i}", f"c{j}") for j in range(spouts, size) for i in range(j)]
    streams = [_stream(dice, *pair) for pair in pairs if dice.random.random() < 0.6]
    if streams and dice.often("two streams"):
        streams.append(_stream(dice, streams[0].source, streams[0].target, "second"))
    components = [_component(dice, f"c{i}", kind) for i, kind in enumerate(kinds)]
    if dice.often("any order"):
        dice.random.shuffle(components)
        dice.random.shuffle(streams)
    return Topology(
        name,
        tuple(components),
        tuple(streams),
        workers=dice.maybe("slots", dice.upto(10), None),
        priority=dice.maybe("demands", dice.upto(2), 0),
        demand_per_s=demand,
    )


def _component(dice: Dice, name: str, kind: Kind) -> Component:
    return Component(
        name,
        kind,
        profile=dice.random.choice(_ROWS),
        max_instances=dice.maybe("max instances", dice.upto(6), None),
        tasks=dice.maybe("tasks", dice.upto(9), None),
        threads=dice.maybe("threads", 2.5, 1.0),
        share=dice.maybe("spouts", dice.number(0.5, 3), 1.0),
        memory_mb=dice.maybe("memory", dice.number(1, 200), None),
    )


def _stream(dice: Dice, source: str, target: str, name: str = "default") -> Stream:
    grouping = dice.maybe("groupings", dice.random.choice(list(Grouping)), Grouping.SHUFFLE)
    if dice.often("keys"):
        grouping = Random(source + target).choice(_BY_KEYS)
    by_key = grouping in _BY_KEYS
    factor = dice.random.choice([0.0, 0.5, dice.number(0, 10)])
    return Stream(
        source,
        target,
        name,
        grouping,
        selectivity=dice.maybe("selectivity", factor, 1.0),
        tuple_bytes=dice.maybe("nic", dice.number(1, 5000), 0.0),
        keys=dice.maybe("keys", dice.upto(40), 0) if by_key else 0,
        key_skew=dice.maybe("keys", dice.number(0, 2), 0.0) if by_key else 0.0,
    )


def random_cluster(dice: Dice, least_slots: int) -> Cluster:
    kinds = [_machine_type(dice, f"M{i + 1}", least_slots) for i in range(dice.most_types)]
    machines = tuple(
        Machine(
            f"m{i}",
            dice.random.choice(kinds).name,
            dice.maybe("racks", "r2", "r1"),
            dice.maybe("regions", dice.random.choice(["far", "farther"]), "near"),
        )
        for i in range(dice.upto(dice.most_machines))
    )
    links = [_link(dice) for _ in range(6)]
    between = (("far", "near", links[5]),) if dice.often("links") else ()
    network = Network((links[0], links[1], links[2], links[3], links[4]), between)
    return Cluster("random", tuple(kinds), machines, network, dice.maybe("headroom", 0.2, 0.0))


def _link(dice: Dice) -> Link:
    latency, bandwidth = dice.number(0, 20), dice.number(1, 1000)
    return Link(dice.maybe("links", latency, 0.0), dice.maybe("links", bandwidth, None))


def _machine_type(dice: Dice, name: str, least_slots: int) -> MachineType:
    watts = dice.often("power")
    return MachineType(
        name,
        cpu_points=dice.maybe("unlike machines", dice.random.choice([200.0, 800.0]), 100.0),
        core_points=dice.maybe("cores", dice.random.choice([40.0, 100.0]), None),
        memory_mb=dice.maybe("memory", dice.number(200, 3000), None),
        slots=least_slots + dice.maybe("slots", dice.upto(3), 0),
        nic_mbps=dice.maybe("nic", dice.random.choice([1.0, 10.0, 1000.0]), None),
        base_cpu_points=dice.maybe("base cost", dice.number(0, 10), 0.0),
        worker_cpu_points=dice.maybe("worker cost", dice.number(0, 6), 0.0),
        worker_memory_mb=dice.maybe("worker cost", dice.number(0, 100), 0.0),
        idle_watts=50.0 if watts else None,
        full_watts=180.0 if watts else None,
    )


def random_profile(dice: Dice, cluster: Cluster, graphs: tuple[Topology, ...]) -> Profile:
    costs = tuple(
        Cost(
            row,
            kind.name,
            e=dice.maybe("free work", 0.0, dice.number(0.01, 3)),
            met=dice.maybe("free idling", 0.0, dice.number(0.1, 8)),
            e_remote=dice.maybe("remote cost", dice.number(0.01, 1), 0.0),
        )
        for row in _ROWS
        for kind in cluster.types
    )
    # One per stream: whether for this topology or for any, two would contradict each other.
    measured = {
        (stream.source, stream.target, stream.name): StreamMeasure(
            stream.source,
            stream.target,
            stream.name,
            dice.random.choice(["", graph.name]),
            selectivity=dice.maybe("selectivity", dice.number(0, 2), None),
            tuple_bytes=dice.maybe("nic", dice.number(1, 100), None),
        )
        for graph in graphs
        for stream in graph.streams[:1]
        if dice.often("measured")
    }
    memory = dice.maybe("memory", (("low", 64.0),), ())
    return Profile("random", costs, memory, tuple(measured.values()))


def random_problem(dice: Dice) -> Problem:
    """A problem with rates. Every machine has at least a slot for each topology."""
    count = dice.upto(dice.most_topologies)
    demands = dice.often("demands")
    graphs = tuple(
        random_topology(dice, f"t{i}", dice.number(0.5, 50) if demands else None)
        for i in range(count)
    )
    cluster = random_cluster(dice, least_slots=count)
    return build(graphs, cluster, random_profile(dice, cluster, graphs))


def random_placement(dice: Dice, problem: Problem) -> Placement:
    """Any places and counts that slots and max_instances allow; memory is not looked at."""
    machines = problem.cluster.machines
    slots = {kind.name: kind.slots for kind in problem.cluster.types}
    topologies, instances = len(problem.topologies), []
    for c, most in enumerate(problem.most_instances.tolist()):
        shares: list[float] = [float("nan")] * dice.upto(min(most, _MOST_INSTANCES))
        if dice.often("shares"):
            weights = [dice.upto(9) for _ in shares]
            shares = [weight / sum(weights) for weight in weights]
        for share in shares:
            m = dice.random.randrange(len(machines))
            # A slot serves one topology: t has the slots t, t + topologies, ...
            own = range(int(problem.topology_of[c]), slots[machines[m].type], topologies)
            instances.append((c, m, dice.random.choice(own), share))
    component, machine, slot, share_of = zip(*instances, strict=True)
    return Placement.of(component, machine, slot, share_of)


def problems(most_topologies: int = 3, *without: str) -> SearchStrategy[Problem]:
    return dice(most_topologies, frozenset(without)).map(random_problem)


def placed(most_topologies: int = 3, *without: str) -> SearchStrategy[tuple[Problem, Placement]]:
    """A random problem and a random placement of it."""

    def make(drawn: Dice) -> tuple[Problem, Placement]:
        problem = random_problem(drawn)
        return problem, random_placement(drawn, problem)

    return dice(most_topologies, frozenset(without)).map(make)

"""Another plan takes over.

As when Storm rebalances: spouts stop, what is in flight has the pause to finish, then every process
starts anew where the new plan has it. What was still in flight is lost, and with acking sent again
when it times out. What waits at the sources is dealt to the new spout instances in its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import Finding, InputError
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.simulate.calendar import set_clock
from penstock.simulate.faults import lose_everything
from penstock.simulate.network import SimulatedNetwork, build_network
from penstock.simulate.queueing import start_free
from penstock.simulate.roots import set_timeout
from penstock.simulate.routing import REFRESH_S
from penstock.simulate.scenario import Shuffle
from penstock.simulate.world import World, make_room, placed_tables, set_needs

if TYPE_CHECKING:
    from penstock.simulate.engine import SimulationEngine


def check_fits(problem: Problem, plan: Plan) -> None:
    """The other plan is of the same components on the same machines."""
    findings = []
    if plan.problem.labels != problem.labels:
        findings.append(Finding("is of other components than the plan it is to replace"))
    here = [machine.name for machine in problem.cluster.machines]
    if [machine.name for machine in plan.problem.cluster.machines] != here:
        findings.append(Finding("is for other machines than the plan it is to replace"))
    if findings:
        raise InputError(*findings)


def replace_placement(engine: SimulationEngine, plan: Plan) -> None:
    """Start the new placement; spouts may emit again."""
    world, problem = engine.world, engine.problem
    record = world.record
    lose_everything(record)
    record["paused"] = 0
    record["may_deal"] = record["owed"] > 0
    waiting = _waiting_at_sources(world)
    old_component = world.instances["component"].copy()
    engine.carried.keep(world.instances)
    network = build_network(problem, plan.placement, engine.scenario, engine.rng)
    machines = world.machines
    for name in ("active", "dirty", "level"):
        machines[name] = 0
    machines["updated_s"] = engine.now_s
    machines["next_server"] = -1
    record["dirty"] = 0
    seed = engine.next_seed()
    world.put(**placed_tables(problem, network, engine.scenario, machines, seed))
    set_needs(world, network)
    make_room(world, engine.most_tuples)
    engine.placement = plan.placement
    engine.carried.fixed_points = network.capacity.machine_fixed.copy()
    world.instances["changed_s"] = engine.now_s
    _move_roots(world, old_component)
    _deal_waiting(world, network, waiting)
    engine.start_sources(refill=False)
    topologies = len(world.topologies)
    for t in range(topologies):
        set_timeout(record, t)
    if engine.scenario.shuffle is Shuffle.LOAD_AWARE:
        clock = len(world.machines) + len(world.sources) + topologies
        set_clock(record, clock, engine.now_s + REFRESH_S)
    for i in np.flatnonzero(world.instances["spout"]).tolist():
        start_free(record, i)


def _waiting_at_sources(world: World) -> dict[int, list[int]]:
    """Nodes at the sources by spout component, the longest due first."""
    nodes_of: dict[int, list[int]] = {}
    for instance in world.instances[world.instances["spout"] > 0]:
        nodes = nodes_of.setdefault(int(instance["component"]), [])
        node = int(instance["queue_first"])
        for _ in range(int(instance["queue"])):
            nodes.append(node)
            node = int(world.nodes["next"][node])
    for nodes in nodes_of.values():
        nodes.sort(key=lambda n: (float(world.nodes["due_s"][n]), n))
    return nodes_of


def _move_roots(world: World, old_component: np.ndarray) -> None:
    """Roots that wait for their time-out belong to a new instance of their spout."""
    instances = world.instances
    for topology in world.topologies:
        r = int(topology["first_root"])
        while r >= 0:
            root = world.roots[r]
            component = old_component[root["spout"]]
            heirs = np.flatnonzero(instances["component"] == component)
            root["spout"] = heirs[root["spout"] % len(heirs)]
            instances["pending"][root["spout"]] += 1
            r = int(root["next"])


def _deal_waiting(world: World, network: SimulatedNetwork, waiting: dict[int, list[int]]) -> None:
    """Give what waits at the sources to the new instances in turn, as their queues."""
    instances, nodes = world.instances, world.nodes
    for component, queue in waiting.items():
        heirs = [
            int(i) for i in network.sources["instance"] if instances["component"][i] == component
        ]
        for number, node in enumerate(queue):
            i = heirs[number % len(heirs)]
            if instances["queue"][i]:
                nodes["next"][instances["queue_last"][i]] = node
            else:
                instances["queue_first"][i] = node
            nodes["target"][node], nodes["next"][node] = i, -1
            instances["queue_last"][i] = node
            for name in ("queue", "taken", "present"):
                instances[name][i] += 1

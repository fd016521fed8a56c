"""What an instance takes from a machine of each type: CPU, memory, network card."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.bound import Bound
from penstock.evaluate.capacity import BYTES_PER_MEGABIT
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector
from penstock.model.problem import Problem
from penstock.model.topology import FOLLOWS_SHARES


@dataclass(frozen=True)
class Costs:
    """Rates are tuples/s at scale 1. C components, T types, P topologies."""

    problem: Problem
    #: Points per tuple/s that an instance takes in, with what it costs to move it, shape (C, T).
    e: FloatMatrix
    #: Bytes/s out of and into a machine per tuple/s that an instance takes in, shape (C,).
    bytes_out: FloatVector
    bytes_in: FloatVector
    memory_mb: FloatVector
    #: Per machine of a type: points, MB and bytes/s it offers before workers, shape (T,).
    cpu: FloatVector
    memory: FloatVector
    nic: FloatVector
    worker_cpu: FloatVector
    worker_mb: FloatVector
    #: Whether a component's instances may have unequal shares, shape (C,).
    weighs: BoolVector

    @classmethod
    def of(cls, problem: Problem, local: FloatVector, *, weighted: bool) -> Costs:
        """``local`` is the part of each topology's tuples taken to stay on a machine, (P,)."""
        cluster = problem.cluster
        components = len(problem.components)
        remote = 1.0 - local[problem.topology_of]
        sent, out, into = np.zeros((3, components))
        visits = np.maximum(problem.visits, 1e-300)
        follows = np.full(components, weighted)
        for stream in problem.streams:
            flow = stream.selectivity
            sent[stream.source] += flow
            out[stream.source] += flow * stream.tuple_bytes
            carried = problem.visits[stream.source] * flow
            into[stream.target] += carried / visits[stream.target] * stream.tuple_bytes
            follows[stream.target] &= stream.grouping in FOLLOWS_SHARES
        taken = np.where(problem.spout_rate > 0, 0.0, 1.0)
        e = problem.e
        if problem.has_remote_cost:
            e = e + problem.e_remote * ((taken + sent) * remote)[:, None]
        nic = cluster.per_type("nic_mbps", np.inf) * BYTES_PER_MEGABIT
        return cls(
            problem=problem,
            e=e,
            bytes_out=out * remote,
            bytes_in=into * remote,
            memory_mb=np.nan_to_num(problem.memory_mb),
            cpu=cluster.usable_cpu_per_type - cluster.per_type("base_cpu_points"),
            memory=cluster.per_type("memory_mb", np.inf),
            nic=nic,
            worker_cpu=cluster.per_type("worker_cpu_points"),
            worker_mb=cluster.per_type("worker_memory_mb"),
            weighs=follows,
        )


def local_parts(problem: Problem, bound: Bound) -> FloatVector:
    """Part of each topology's tuples that stays on a machine if it keeps to machines of its own.

    A topology spread evenly over m machines sends one tuple in m to its own; m is what the bound's
    ideal solution gives it.
    """
    cpu = np.where(bound.ideal_rate > 0, problem.e, 0.0) * bound.ideal_rate
    cpu = cpu + problem.met * bound.ideal_instances
    machines = (cpu / problem.cluster.usable_cpu_per_type).sum(axis=1)
    used = np.bincount(problem.topology_of, machines, minlength=len(problem.topologies))
    return 1.0 / np.maximum(used, 1.0)

"""The problem: topologies, cluster and profile flattened into arrays a scheduler computes on.

Components of all topologies stand in one list, topology after topology. Machine-type columns are
those of the cluster. Rates are in units of the *scale*: at scale s, topology i takes in
``s * demand[i]`` tuples/s, so for a single topology without a declared demand the scale is its
input rate itself (that of several is a common factor on their demands: docs/concepts.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from penstock.errors import (
    CycleError,
    Finding,
    InputError,
    MissingCostsError,
    NotMeasuredError,
)
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector, frozen
from penstock.model.cluster import Cluster
from penstock.model.cost_gaps import CostGaps
from penstock.model.flat_stream import FlatStream, flatten
from penstock.model.misfits import misfits
from penstock.model.profile import Cost, Profile, StreamMeasure
from penstock.model.resources import (
    Quantities,
    ResourceTable,
    quantity_matrix,
    resource_kinds,
)
from penstock.model.terms import Terms, check_terms
from penstock.model.topology import Component, Kind, Topology

#: Stands for "no limit" in integer arrays.
UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Problem:
    """What is to be planned. Made by :func:`build`, which checks that the parts fit."""

    topologies: tuple[Topology, ...]
    cluster: Cluster
    profile: Profile | None = None
    #: Schedulers may give instances unequal shares (weighted grouping).
    weighted: bool = False
    #: Instance counts laid down from outside, one per component, in place of the topology's.
    given_counts: tuple[int, ...] | None = None
    #: What to keep to besides carrying tuples.
    terms: Terms = field(default_factory=Terms)

    @cached_property
    def derived(self) -> dict[str, object]:
        """What was worked out about this very problem and is asked for again, such as its bound.

        It must not depend on instance counts: a problem :meth:`with_counts` has the same.
        """
        return {}

    # -- components ---------------------------------------------------------------------------

    @cached_property
    def components(self) -> tuple[Component, ...]:
        return tuple(c for topology in self.topologies for c in topology.components)

    @cached_property
    def topology_of(self) -> IntVector:
        """Topology index of each component, shape (components,)."""
        sizes = [len(topology.components) for topology in self.topologies]
        return frozen(np.repeat(np.arange(len(sizes)), sizes).astype(np.int64))

    @cached_property
    def first_component(self) -> tuple[int, ...]:
        """Flattened index of each topology's first component."""
        sizes = [len(topology.components) for topology in self.topologies]
        return tuple(int(start) for start in np.cumsum([0, *sizes[:-1]]))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Component names, with the topology's in front where there are several."""
        if len(self.topologies) == 1:
            return tuple(c.name for c in self.components)
        return tuple(f"{t.name}/{c.name}" for t in self.topologies for c in t.components)

    @property
    def title(self) -> str:
        """The topologies by name, or how many there are, for headings."""
        if len(self.topologies) > 4:
            return f"{len(self.topologies)} topologies"
        return ", ".join(topology.name for topology in self.topologies)

    @cached_property
    def demand(self) -> FloatVector:
        """Tuples/s of each topology at scale 1, weights of the terms included, (topologies,)."""
        weight = dict(self.terms.weights)
        return frozen(
            np.array([(t.demand_per_s or 1.0) * weight.get(t.name, 1.0) for t in self.topologies])
        )

    @property
    def scale_asked(self) -> float | None:
        """The scale at which the rate of the terms is carried; ``None``: as high as can be."""
        asked = self.terms.carry_per_s
        return None if asked is None else asked / float(self.demand.sum())

    @cached_property
    def spout_rate(self) -> FloatVector:
        """Input of each spout at scale 1 (0 for bolts), shape (components,)."""
        rates: list[float] = []
        for topology, demand in zip(self.topologies, self.demand, strict=True):
            shares = [c.share if c.kind is Kind.SPOUT else 0.0 for c in topology.components]
            total = sum(shares)
            rates += [demand * share / total if total else 0.0 for share in shares]
        return frozen(np.array(rates))

    @cached_property
    def counts_asked(self) -> tuple[int | None, ...]:
        """Instance counts laid down, by the caller or the topology; ``None`` where neither does."""
        if self.given_counts is not None:
            return self.given_counts
        return tuple(c.instances for c in self.components)

    @cached_property
    def most_instances(self) -> IntVector:
        limits = [c.most_instances for c in self.components]
        return frozen(np.array([UNLIMITED if m is None else m for m in limits], dtype=np.int64))

    @cached_property
    def counts_for_throughput(self) -> BoolVector:
        """Components whose rate is throughput in the papers' sense: all but ackers."""
        return frozen(np.array([c.kind is not Kind.ACKER for c in self.components]))

    @cached_property
    def cost_rows(self) -> tuple[str, ...]:
        """The profile's row of each component: the kind of work it names, or its own.

        A measured profile has a row per component, under its name, with the topology's in front
        where two topologies use the same name.
        """
        have = set(self.profile.rows) if self.profile else set()
        rows = []
        for component, topology in zip(self.components, self.topology_of, strict=True):
            own = f"{self.topologies[topology].name}.{component.name}"
            known = [name for name in (component.profile, own, component.name) if name in have]
            rows.append(known[0] if known else component.cost_row)
        return tuple(rows)

    @cached_property
    def memory_mb(self) -> FloatVector:
        """Memory per instance, NaN where neither profile nor topology says, (components,)."""
        measured = dict(self.profile.memory_mb) if self.profile else {}
        values = [
            measured.get(row, c.memory_mb)
            for row, c in zip(self.cost_rows, self.components, strict=True)
        ]
        return frozen(np.array([np.nan if v is None else v for v in values]))

    @cached_property
    def onheap_mb(self) -> FloatVector:
        """The part of ``memory_mb`` on the worker's heap; 0 where unknown."""
        offheap = np.array([c.offheap_mb for c in self.components])
        return frozen(np.maximum(np.nan_to_num(self.memory_mb) - offheap, 0.0))

    @cached_property
    def resources(self) -> ResourceTable:
        """What instances ask for and machines have of memory and of every resource named."""
        cluster = self.cluster
        asked = [component.resources for component in self.components]
        offered = [kind.resources for kind in cluster.types]
        kinds = resource_kinds(cluster.resources, [*asked, *offered])
        nothing: list[Quantities] = []
        return ResourceTable(
            kinds=kinds,
            request=quantity_matrix(kinds, np.nan_to_num(self.memory_mb), asked),
            capacity_of_type=quantity_matrix(kinds, cluster.per_type("memory_mb", np.inf), offered),
            worker_on_type=quantity_matrix(kinds, cluster.per_type("worker_memory_mb"), nothing),
            type_of=cluster.type_of,
        )

    @cached_property
    def cpu_request(self) -> FloatVector:
        """CPU points asked for per instance, NaN where not declared, (components,)."""
        asked = [c.cpu_points for c in self.components]
        return frozen(np.array([np.nan if a is None else a for a in asked]))

    # -- streams ------------------------------------------------------------------------------

    @cached_property
    def streams(self) -> tuple[FlatStream, ...]:
        flat = []
        for topology, first in zip(self.topologies, self.first_component, strict=True):
            for stream in topology.streams:
                ends = (stream.source, stream.target, stream.name)
                measure = self._measures.get((topology.name, *ends)) or self._measures.get(
                    ("", *ends)
                )
                flat.append(flatten(stream, topology, first, measure))
        return tuple(flat)

    @cached_property
    def _measures(self) -> dict[tuple[str, str, str, str], StreamMeasure]:
        measures = self.profile.streams if self.profile else ()
        return {(m.topology, m.source, m.target, m.name): m for m in measures}

    @cached_property
    def streams_from(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the streams leaving each component."""
        leaving: list[list[int]] = [[] for _ in self.components]
        for i, stream in enumerate(self.streams):
            leaving[stream.source].append(i)
        return tuple(tuple(streams) for streams in leaving)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Components, sources before targets. Raises :class:`CycleError` on a cycle."""
        findings = [
            Finding(
                f"cycle {' -> '.join(t.cycle)}; the rate model needs a topology without cycles "
                "(schedulers that need no rates still place it)",
                field=f"topology {t.name}",
            )
            for t in self.topologies
            if t.order is None
        ]
        if findings:
            raise CycleError(*findings)
        return tuple(
            first + c
            for t, first in zip(self.topologies, self.first_component, strict=True)
            for c in t.order or ()
        )

    @cached_property
    def visits(self) -> FloatVector:
        """Input of each component at scale 1 with one instance each, shape (components,).

        The papers' visit ratio k[c], times the topology's demand. Only streams that
        are copied make it depend on the instance counts.
        """
        total = self.spout_rate.copy()
        for c in self.order:
            for index in self.streams_from[c]:
                stream = self.streams[index]
                copies = self.copies(stream, 1)
                total[stream.target] += total[c] * stream.selectivity * copies
        return frozen(total)

    def copies(self, stream: FlatStream, instances: int) -> int:
        """How often a tuple on the stream arrives, with so many instances of its target."""
        if not stream.grouping.is_copied:
            return 1
        return self.components[stream.target].tasks or instances

    @cached_property
    def divides_evenly(self) -> bool:
        """Whether every stream gives each instance of its target the same, shares apart."""
        return all(c.tasks is None for c in self.components) and all(
            stream.grouping.is_even or (stream.grouping.is_keyed and not stream.keys)
            for stream in self.streams
        )

    @property
    def acyclic(self) -> bool:
        return all(topology.order is not None for topology in self.topologies)

    # -- costs --------------------------------------------------------------------------------

    @property
    def has_costs(self) -> bool:
        """False in requests mode."""
        return self.profile is not None

    @property
    def has_rates(self) -> bool:
        """Whether the rate model applies: costs known and no cycle."""
        return self.has_costs and self.acyclic

    @cached_property
    def _costs(self) -> tuple[tuple[Cost, ...], ...]:
        if self.profile is None:
            raise NotMeasuredError(
                "this problem has no profile, only requests; rates need one (--profile)"
            )
        table = self.profile.by_place
        return tuple(
            tuple(
                # Only a type without machines may be missing (build sees to it).
                table.get((row, t.name), Cost(row, t.name, e=np.inf, met=0.0))
                for t in self.cluster.types
            )
            for row in self.cost_rows
        )

    @cached_property
    def e(self) -> FloatMatrix:
        """CPU points per tuple/s, its instance's and its worker's, shape (components, types)."""
        return frozen(self._cost_matrix("e") + self._worker_costs("e"))

    @cached_property
    def met(self) -> FloatMatrix:
        """Fixed CPU points per instance, shape (components, types)."""
        return frozen(self._cost_matrix("met"))

    @cached_property
    def e_remote(self) -> FloatMatrix:
        """Extra points per tuple/s entering or leaving a process, shape (components, types)."""
        return frozen(self._cost_matrix("e_remote") + self._worker_costs("e_remote"))

    def _cost_matrix(self, attribute: str) -> FloatMatrix:
        rows = [[getattr(cost, attribute) for cost in row] for row in self._costs]
        return np.array(rows, dtype=np.float64)

    def _worker_costs(self, attribute: str) -> FloatVector:
        """What a worker adds to the cost of each tuple, shape (types,)."""
        workers = self.profile.workers if self.profile else ()
        added = {worker.machine_type: float(getattr(worker, attribute)) for worker in workers}
        return np.array([added.get(t.name, 0.0) for t in self.cluster.types])

    @cached_property
    def has_remote_cost(self) -> bool:
        return bool(np.any(self.e_remote > 0))

    @cached_property
    def thread_points(self) -> FloatMatrix:
        """The most CPU one instance gets: its threads' whole cores, shape (components, types)."""
        return self._instance_limit(self.cluster.per_type("core_points"))

    @cached_property
    def instance_points(self) -> FloatMatrix:
        """The most CPU a plan gives one instance: as ``thread_points``, with headroom kept free.

        Shape (components, types).
        """
        core = self.cluster.per_type("core_points") * (1.0 - self.cluster.headroom)
        return self._instance_limit(core)

    def _instance_limit(self, core: FloatVector) -> FloatMatrix:
        """Threads times the points of a core, where that is less than what the machine offers."""
        machine = self.cluster.usable_cpu_per_type
        threads = np.array([c.threads for c in self.components])
        limit = np.where(np.isnan(core), machine, threads[:, None] * core)
        return frozen(np.minimum(limit, machine))

    # -- variants -----------------------------------------------------------------------------

    def with_terms(self, terms: Terms) -> Problem:
        """The same problem under other terms, checked against its names."""
        changed = replace(self, terms=terms)
        check_terms(changed)
        return changed

    def with_counts(self, counts: Sequence[int]) -> Problem:
        """The same problem with every instance count laid down."""
        counted = replace(self, given_counts=tuple(int(count) for count in counts))
        counted.derived.update(self.derived)
        return counted


def build(
    topologies: Topology | Sequence[Topology],
    cluster: Cluster,
    profile: Profile | None = None,
    *,
    weighted: bool = False,
) -> Problem:
    """A problem whose parts fit together, or an error with everything that does not."""
    given = (topologies,) if isinstance(topologies, Topology) else tuple(topologies)
    if not given:
        raise InputError("no topology given")
    problem = Problem(given, _with_measured_workers(cluster, profile), profile, weighted)
    require_fit(problem)
    return problem


def require_fit(problem: Problem) -> None:
    """Raise an error with everything that does not fit together in a problem."""
    findings = misfits(problem)
    gaps = _cost_gaps(problem)
    if gaps is not None and gaps.options and not findings:
        raise MissingCostsError(
            *gaps.findings, options=gaps.options, without_speed=gaps.without_speed
        )
    findings += gaps.findings if gaps else []
    if findings:
        raise InputError(*findings)


def _cost_gaps(problem: Problem) -> CostGaps | None:
    if problem.profile is None:
        return None
    return CostGaps.of(problem.profile, problem.cluster, problem.cost_rows, problem.components)


def _with_measured_workers(cluster: Cluster, profile: Profile | None) -> Cluster:
    """The cluster with the measured cost of worker processes in place of the declared one."""
    measured = {w.machine_type: w.cpu_points for w in profile.workers} if profile else {}
    if not measured.keys() & {t.name for t in cluster.types}:
        return cluster
    types = tuple(
        replace(t, worker_cpu_points=measured.get(t.name, t.worker_cpu_points))
        for t in cluster.types
    )
    return replace(cluster, types=types)

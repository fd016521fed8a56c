"""A topology: components joined by streams. What the user wants to run, without counts or places.

A stream's selectivity is per stream: tuples put on it per tuple its source takes
in. Every subscriber gets its own full copy; the split fan-out of Nasiri's simulator is the same
model with the selectivity divided by the number of successors, which the file layer does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from functools import cached_property
from graphlib import CycleError as GraphCycle
from graphlib import TopologicalSorter
from typing import Self

from penstock.model.resources import Quantities


class Kind(StrEnum):
    """What a component is to the engine."""

    SPOUT = "spout"
    BOLT = "bolt"
    ACKER = "acker"


class Trait(Flag):
    """What the cost model and the schedulers must know of a grouping."""

    #: Divided evenly unless a plan has shares.
    EVEN = auto()
    #: Gives way to the shares of a plan that has some.
    FOLLOWS_SHARES = auto()
    #: Tuples with one key go to one instance.
    KEYED = auto()
    #: Stays in the process where the target has an instance there.
    LOCAL = auto()
    #: Every task gets a copy of every tuple.
    COPIED = auto()
    #: One instance gets everything.
    SINGLE = auto()
    #: Any instance will do for any tuple.
    ANY_INSTANCE = auto()


class Grouping(StrEnum):
    """How a stream is divided among the instances of the component that subscribes to it."""

    SHUFFLE = "shuffle", Trait.EVEN | Trait.FOLLOWS_SHARES | Trait.ANY_INSTANCE
    FIELDS = "fields", Trait.KEYED
    ALL = "all", Trait.COPIED
    GLOBAL = "global", Trait.SINGLE
    LOCAL_OR_SHUFFLE = "local-or-shuffle", Trait.LOCAL | Trait.ANY_INSTANCE
    WEIGHTED = "weighted", Trait.EVEN | Trait.FOLLOWS_SHARES | Trait.ANY_INSTANCE
    #: How direct and custom ones divide is not known from the topology; they are taken as even.
    DIRECT = "direct", Trait.EVEN
    CUSTOM = "custom", Trait.EVEN | Trait.ANY_INSTANCE

    traits: Trait

    # Looking a grouping up by its name passes no traits.
    def __new__(cls, name: str, traits: Trait = Trait(0)) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.traits = traits
        return member

    @property
    def is_even(self) -> bool:
        return Trait.EVEN in self.traits

    @property
    def follows_shares(self) -> bool:
        return Trait.FOLLOWS_SHARES in self.traits

    @property
    def is_keyed(self) -> bool:
        return Trait.KEYED in self.traits

    @property
    def is_local(self) -> bool:
        return Trait.LOCAL in self.traits

    @property
    def is_copied(self) -> bool:
        return Trait.COPIED in self.traits

    @property
    def is_single(self) -> bool:
        return Trait.SINGLE in self.traits

    @property
    def suits_any_instance(self) -> bool:
        return Trait.ANY_INSTANCE in self.traits

    @property
    def is_divided(self) -> bool:
        """Whether a second instance takes something off the first."""
        return not (self.is_copied or self.is_single)


DEFAULT_STREAM = "default"


@dataclass(frozen=True, slots=True)
class Stream:
    """Tuples from one component to another."""

    source: str
    target: str
    name: str = DEFAULT_STREAM
    grouping: Grouping = Grouping.SHUFFLE
    selectivity: float = 1.0
    tuple_bytes: float = 0.0
    #: Fields grouping: distinct keys (0 = very many) and their Zipf exponent (0 = all alike).
    keys: int = 0
    key_skew: float = 0.0
    fields: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """``source->target``, with the stream's name where it is not the default one."""
        suffix = "" if self.name == DEFAULT_STREAM else f":{self.name}"
        return f"{self.source}->{self.target}{suffix}"


@dataclass(frozen=True, slots=True)
class Component:
    """A spout or bolt. ``None`` means that the topology does not say."""

    name: str
    kind: Kind = Kind.BOLT
    #: Name of the profile's row with its costs; components of one kind of work share a row.
    profile: str = ""
    #: Instance count asked for by the topology (Storm: parallelism hint).
    instances: int | None = None
    max_instances: int | None = None
    #: Storm: tasks, dealt to the executors in ranges; uneven ranges mean uneven load.
    tasks: int | None = None
    #: One instance may use this many cores.
    threads: float = 1.0
    #: A spout's part of the topology's input rate, relative to the other spouts'.
    share: float = 1.0
    #: Requests per instance, as production topologies declare them.
    cpu_points: float | None = None
    memory_mb: float | None = None
    #: The part of ``memory_mb`` outside the worker's heap.
    offheap_mb: float = 0.0
    #: What it asks for beside CPU and memory, sorted by name.
    resources: Quantities = ()

    @property
    def cost_row(self) -> str:
        """The row of the profile it asks for; see ``Problem.cost_rows`` for the one it gets."""
        return self.profile or self.name

    @property
    def most_instances(self) -> int | None:
        """The limit on the instance count from ``max_instances`` and ``tasks`` together."""
        limits = [limit for limit in (self.max_instances, self.tasks) if limit is not None]
        return min(limits) if limits else None


@dataclass(frozen=True)
class Topology:
    """A named graph of components. May have cycles; rates are then refused, placement is not."""

    name: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...] = ()
    #: Worker processes asked for; ``None`` leaves it to the scheduler.
    workers: int | None = None
    #: 0 is served first.
    priority: int = 0
    #: Tuples/s the topology must carry; several topologies grow by one common factor on these.
    demand_per_s: float | None = None
    #: A worker process may not hold more on-heap memory than this.
    worker_max_heap_mb: float | None = None
    #: Storm's ``topology.version``, where the topology says which one it is.
    version: str | None = None
    #: What limits it, as its owner declares: ``cpu``, ``memory`` or ``network``.
    bound_by: str | None = None

    def __post_init__(self) -> None:
        if not self.components:
            raise ValueError(f"topology {self.name}: no components")
        repeated = [n for n, times in Counter(c.name for c in self.components).items() if times > 1]
        if repeated:
            raise ValueError(f"topology {self.name}: components named twice: {repeated}")
        for stream in self.streams:
            for end in (stream.source, stream.target):
                if end not in self.index:
                    raise ValueError(f"topology {self.name}: stream {stream.label}: no {end}")
        # One canonical order, whatever order the streams were listed in.
        ordered = tuple(sorted(self.streams, key=lambda stream: self.index[stream.source]))
        object.__setattr__(self, "streams", ordered)

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each component by name."""
        return {component.name: i for i, component in enumerate(self.components)}

    @cached_property
    def order(self) -> tuple[int, ...] | None:
        """Component indices, every source before its targets; ``None`` if there is a cycle."""
        sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(self.index.values(), ()))
        for stream in self.streams:
            sorter.add(self.index[stream.target], self.index[stream.source])
        try:
            return tuple(sorter.static_order())
        except GraphCycle:
            return None

    @cached_property
    def cycle(self) -> tuple[str, ...]:
        """The components of one cycle in the direction of the streams, empty if there is none."""
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for stream in self.streams:
            sorter.add(stream.target, stream.source)
        try:
            sorter.prepare()
        except GraphCycle as error:
            return tuple(error.args[1])
        return ()

    @cached_property
    def sinks(self) -> tuple[int, ...]:
        """Components nobody subscribes to, ackers apart."""
        ackers = {c.name for c in self.components if c.kind is Kind.ACKER}
        feeding = {stream.source for stream in self.streams if stream.target not in ackers}
        return tuple(
            i
            for i, component in enumerate(self.components)
            if component.name not in feeding and component.kind is not Kind.ACKER
        )

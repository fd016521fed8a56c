"""Every field of every format, and what is wrong for it."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from typing import Any

from tests.corpus.breaking import Broken, Place, misspelt, with_unknown, with_value, without

_HUGE = 10**30

#: Wrong values by what the field takes, each with what the message must say.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "text": [(5, "must be text, not 5"), ([], "must be text, not an empty list")],
    "name": [
        ("", "must not be empty"),
        ("a/b", 'must be a name: not empty, without line breaks, tabs or slashes, not "a/b"'),
        (7, "must be text, not 7"),
        ("x" * 300, "must have at most 200 characters"),
    ],
    "count": [
        (0, "must be greater than or equal to 1, not 0"),
        (-2, "must be greater than or equal to 1, not -2"),
        (1.5, "must be a whole number, not 1.5"),
        ("three", 'must be a whole number, not "three"'),
        (nan, "must be a whole number, not nan"),
        (_HUGE, "must be less than or equal to"),
    ],
    "whole": [(-1, "must be greater than or equal to 0, not -1"), (0.5, "must be a whole number")],
    "positive": [
        (0, "must be greater than 0, not 0"),
        (-1, "must be greater than 0, not -1"),
        ("ten", 'must be a number, not "ten"'),
        (nan, "must be a finite number, not nan"),
        (inf, "must be a finite number, not inf"),
    ],
    "not negative": [
        (-0.5, "must be greater than or equal to 0, not -0.5"),
        ([1], "must be a number, not a list of 1"),
        (nan, "must be a finite number, not nan"),
        (inf, "must be a finite number, not inf"),
    ],
    "fraction": [
        (-0.1, "must be greater than or equal to 0"),
        (1, "must be less than 1, not 1"),
        (nan, "must be a finite number"),
    ],
    "flag": [("yes", 'must be true or false, not "yes"'), (1, "must be true or false, not 1")],
    "mapping": [(5, "must be a mapping"), ([1], "must be a mapping"), (None, "not nothing")],
    "list": [("a", "must be a list"), ({"a": 1}, "must be a list, not a mapping of 1")],
    "names": [("a", "must be a mapping"), ([1], "must be a mapping")],
    "version": [(2, "must be 1, not 2"), ("1", 'must be 1, not "1"'), (None, "not nothing")],
}

#: (kind, place, what it takes)
_T, _SPLIT = "topology", ("components", "split")
_OUT = (*_SPLIT, "streams", 0)
_M1 = ("types", "M1")
_LOW = ("rows", "lowCompute", "on", "M1")
_PLACED = ("topologies", 0, "components", "low", 0)
_NODE = ("racks", 0, "supervisors", 0)
FIELDS: list[tuple[str, Place, str]] = [
    (_T, ("version",), "version"),
    (_T, ("name",), "name"),
    (_T, ("description",), "text"),
    (_T, ("workers",), "count"),
    (_T, ("priority",), "whole"),
    (_T, ("demand_per_s",), "positive"),
    (_T, ("worker_max_heap_mb",), "positive"),
    (_T, ("topology_version",), "text"),
    (_T, ("components",), "mapping"),
    (_T, _SPLIT, "mapping"),
    (_T, (*_SPLIT, "profile"), "text"),
    (_T, (*_SPLIT, "instances"), "count"),
    (_T, (*_SPLIT, "max_instances"), "count"),
    (_T, (*_SPLIT, "tasks"), "count"),
    (_T, (*_SPLIT, "threads"), "positive"),
    (_T, (*_SPLIT, "selectivity"), "not negative"),
    (_T, ("components", "lines", "share"), "not negative"),
    (_T, (*_SPLIT, "requests", "cpu_points"), "not negative"),
    (_T, (*_SPLIT, "requests", "memory_mb"), "not negative"),
    (_T, (*_SPLIT, "requests", "offheap_mb"), "not negative"),
    (_T, (*_SPLIT, "streams"), "list"),
    (_T, _OUT, "mapping"),
    (_T, (*_OUT, "to"), "text"),
    (_T, (*_OUT, "name"), "name"),
    (_T, (*_OUT, "selectivity"), "not negative"),
    (_T, (*_OUT, "tuple_bytes"), "not negative"),
    (_T, (*_OUT, "keys"), "whole"),
    (_T, (*_OUT, "key_skew"), "not negative"),
    (_T, (*_OUT, "fields"), "list"),
    (_T, (*_OUT, "fields", 0), "text"),
    ("cluster", ("version",), "version"),
    ("cluster", ("name",), "name"),
    ("cluster", ("headroom",), "fraction"),
    ("cluster", ("worker_min_cpu_points",), "not negative"),
    ("cluster", ("types",), "mapping"),
    ("cluster", _M1, "mapping"),
    ("cluster", (*_M1, "cpu_points"), "positive"),
    ("cluster", (*_M1, "core_points"), "positive"),
    ("cluster", (*_M1, "memory_mb"), "positive"),
    ("cluster", (*_M1, "slots"), "count"),
    ("cluster", (*_M1, "nic_mbps"), "positive"),
    ("cluster", (*_M1, "base_cpu_points"), "not negative"),
    ("cluster", (*_M1, "worker_cpu_points"), "not negative"),
    ("cluster", (*_M1, "worker_memory_mb"), "not negative"),
    ("cluster", (*_M1, "idle_watts"), "not negative"),
    ("cluster", (*_M1, "full_watts"), "not negative"),
    ("cluster", (*_M1, "price_per_hour"), "not negative"),
    ("cluster", (*_M1, "sockets"), "count"),
    ("cluster", (*_M1, "cores"), "count"),
    ("cluster", (*_M1, "ghz"), "positive"),
    ("cluster", (*_M1, "flops_per_cycle"), "positive"),
    ("cluster", ("machines",), "list"),
    ("cluster", ("machines", 0), "mapping"),
    ("cluster", ("machines", 0, "type"), "text"),
    ("cluster", ("machines", 0, "count"), "whole"),
    ("cluster", ("machines", 0, "name"), "name"),
    ("cluster", ("machines", 0, "rack"), "name"),
    ("cluster", ("machines", 0, "region"), "name"),
    ("cluster", ("machines", 1, "names", 1), "name"),
    ("cluster", ("machines", 1, "hosts", 0), "text"),
    ("cluster", ("network",), "mapping"),
    ("cluster", ("network", "same_rack", "latency_ms"), "not negative"),
    ("cluster", ("network", "same_rack", "bandwidth_mbps"), "positive"),
    ("cluster", ("network", "regions"), "list"),
    ("cluster", ("network", "regions", 0, "between"), "list"),
    ("terms", ("version",), "version"),
    ("terms", ("carry_per_s",), "positive"),
    ("terms", ("least",), "list"),
    ("terms", ("give_up",), "fraction"),
    ("terms", ("latency_ms",), "names"),
    ("terms", ("latency_ms", "linear"), "positive"),
    ("terms", ("avoid",), "list"),
    ("terms", ("avoid", 0), "name"),
    ("terms", ("apart",), "list"),
    ("terms", ("fixed", 0), "mapping"),
    ("terms", ("fixed", 0, "component"), "text"),
    ("terms", ("fixed", 0, "machine"), "name"),
    ("terms", ("fixed", 0, "instances"), "count"),
    ("terms", ("current", 0, "instances"), "count"),
    ("terms", ("most_moves",), "whole"),
    ("terms", ("weights", "linear"), "positive"),
    ("profile", ("version",), "version"),
    ("profile", ("name",), "name"),
    ("profile", ("source",), "text"),
    ("profile", ("rows",), "mapping"),
    ("profile", ("rows", "lowCompute"), "mapping"),
    ("profile", ("rows", "lowCompute", "memory_mb"), "not negative"),
    ("profile", (*_LOW, "e"), "not negative"),
    ("profile", (*_LOW, "met"), "not negative"),
    ("profile", (*_LOW, "e_remote"), "not negative"),
    ("profile", (*_LOW, "e_error"), "not negative"),
    ("profile", (*_LOW, "met_error"), "not negative"),
    ("profile", (*_LOW, "samples"), "count"),
    ("profile", (*_LOW, "extrapolated"), "flag"),
    ("profile", ("streams", 0, "source"), "name"),
    ("profile", ("streams", 0, "selectivity"), "not negative"),
    ("profile", ("streams", 0, "tuple_bytes"), "not negative"),
    ("plan", ("version",), "version"),
    ("plan", ("scheduler",), "mapping"),
    ("plan", ("scheduler", "name"), "name"),
    ("plan", ("made_from", "cluster"), "text"),
    ("plan", ("predicted", "scale"), "not negative"),
    ("plan", ("predicted", "rate_per_s", "line"), "not negative"),
    ("plan", ("predicted", "proven_optimal"), "flag"),
    ("plan", ("predicted", "machines", 0, "instances"), "count"),
    ("plan", ("notes", 0), "text"),
    ("plan", ("topologies",), "list"),
    ("plan", ("topologies", 0, "components", "low"), "list"),
    ("plan", (*_PLACED, "machine"), "text"),
    ("plan", (*_PLACED, "slot"), "whole"),
    ("plan", ("if_lost", 0, "moves", 0, "instance"), "whole"),
    ("plan", ("if_lost", 0, "rate_left_per_s"), "not negative"),
    ("plan", ("deployed", 0, "id"), "text"),
    ("plan", ("deployed", 0, "components", "low", 0, "slot"), "whole"),
    ("plan", ("inputs", "weighted"), "flag"),
    ("plan", ("inputs", "topologies"), "list"),
    ("plan", ("inputs", "given_counts", 1), "count"),
    ("flux", ("name",), "name"),
    ("flux", ("config", "topology.workers"), "count"),
    ("flux", ("spouts",), "list"),
    ("flux", ("bolts", 0, "id"), "name"),
    ("flux", ("bolts", 0, "parallelism"), "count"),
    ("flux", ("bolts", 0, "numTasks"), "count"),
    ("flux", ("bolts", 0, "onHeapMemoryLoad"), "not negative"),
    ("flux", ("bolts", 0, "cpuLoad"), "not negative"),
    ("flux", ("streams", 0, "to"), "text"),
    ("storm", ("storm.local.hostname",), "name"),
    ("storm", ("supervisor.cpu.capacity",), "positive"),
    ("storm", ("supervisor.memory.capacity.mb",), "positive"),
    ("storm", ("supervisor.slots.ports",), "list"),
    ("storm", ("supervisor.slots.ports", 0), "count"),
    ("storm", ("supervisor.scheduler.meta",), "names"),
    ("recorded cluster", ("name",), "name"),
    ("recorded cluster", (*_NODE, "id"), "name"),
    ("recorded cluster", (*_NODE, "cpu_capacity_percent"), "positive"),
    ("recorded cluster", (*_NODE, "memory_mb"), "positive"),
    ("recorded cluster", (*_NODE, "slots"), "count"),
    ("recorded topologies", (0, "name"), "name"),
    ("recorded topologies", (0, "workers"), "whole"),
    ("recorded topologies", (0, "components", 0, "onheap_mb"), "not negative"),
    ("recorded topologies", (0, "components", 1, "parallelism"), "whole"),
]

REQUIRED: list[tuple[str, Place]] = [
    (_T, ("version",)),
    (_T, ("name",)),
    (_T, ("components",)),
    (_T, (*_OUT, "to")),
    ("cluster", ("name",)),
    ("cluster", ("types",)),
    ("cluster", ("machines",)),
    ("cluster", ("machines", 0, "type")),
    ("cluster", ("network", "regions", 0, "between")),
    ("profile", ("origin",)),
    ("profile", ("rows",)),
    ("profile", ("rows", "lowCompute", "on")),
    ("profile", (*_LOW, "e")),
    ("profile", (*_LOW, "met")),
    ("profile", ("streams", 0, "target")),
    ("terms", ("fixed", 0, "machine")),
    ("plan", ("scheduler",)),
    ("plan", ("made_from",)),
    ("plan", ("predicted",)),
    ("plan", ("inputs",)),
    ("plan", ("inputs", "cluster")),
    ("plan", ("topologies",)),
    ("plan", (*_PLACED, "machine")),
    ("flux", ("name",)),
    ("flux", ("bolts", 0, "id")),
    ("flux", ("streams", 0, "from")),
    ("recorded cluster", ("racks",)),
    ("recorded topologies", (0, "components", 0, "parallelism_nimbus")),
]

MAPPINGS: list[tuple[str, Place]] = [
    (_T, ()),
    (_T, _SPLIT),
    (_T, (*_SPLIT, "requests")),
    (_T, _OUT),
    ("cluster", ()),
    ("cluster", _M1),
    ("cluster", ("machines", 0)),
    ("cluster", ("network",)),
    ("cluster", ("network", "same_rack")),
    ("cluster", ("network", "regions", 0)),
    ("profile", ()),
    ("profile", ("rows", "lowCompute")),
    ("profile", _LOW),
    ("profile", ("streams", 0)),
    ("terms", ()),
    ("terms", ("fixed", 0)),
    ("plan", ()),
    ("plan", ("scheduler",)),
    ("plan", ("predicted",)),
    ("plan", _PLACED),
    ("plan", ("if_lost", 0)),
    ("plan", ("deployed", 0)),
    ("plan", ("inputs",)),
]


def wrong_fields() -> Iterator[Broken]:
    for kind, place, takes in FIELDS:
        for value, message in WRONG[takes]:
            yield with_value(kind, place, value, message)
    for kind, place in REQUIRED:
        yield without(kind, place)
    for kind, place in MAPPINGS:
        yield with_unknown(kind, place)
    for kind, place, _ in FIELDS:
        # Other people's formats have fields we do not know; short names are like any other.
        if kind in ("topology", "cluster", "profile", "plan") and _has_own_name(kind, place):
            yield misspelt(kind, place)


def _has_own_name(kind: str, place: Place) -> bool:
    names_things = {"components", "types", "rows", "on", "rate_per_s"}
    ours = len(place) < 2 or place[-2] not in names_things
    return ours and isinstance(place[-1], str) and len(place[-1]) >= 4

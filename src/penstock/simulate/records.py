"""What the engine's state is made of: one record type per noun, in tables that compiled code reads.

An index of -1 means none. Lists are linked through the records themselves, so that a queue may
grow without limit and nothing is copied.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.void]

_F, _I, _B = np.float64, np.int64, np.int8


def _record(*fields: tuple[str, type]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


#: A machine shares ``room`` points among the threads that are busy on it.
MACHINE = _record(
    ("room", _F),  # points for tuples: what fixed costs leave
    ("speed", _F),  # 1, less while it is slow, 0 while it is down
    ("level", _F),  # points of each busy thread per weight, unless its own limit is lower
    ("updated_s", _F),  # until when the work below it is counted
    ("busy_points_s", _F),  # points used for tuples, over time
    ("nic_bytes_per_s", _F),
    ("nic_out_free_s", _F),
    ("nic_in_free_s", _F),
    ("first_active", _I),  # its part of the list of busy threads
    ("active", _I),
    ("next_server", _I),  # who is done at the time of its clock
    ("rack", _I),
    ("region", _I),
    ("up", _B),
    ("cut_off", _B),  # its rack has lost the others
    ("dirty", _B),  # busy threads have changed since its clock was set
)

#: One thread of an instance.
SERVER = _record(
    ("instance", _I),
    ("phase", _I),
    ("node", _I),  # the tuple in hand
    ("points", _F),  # the most it can use
    ("weight", _F),  # its part of a machine that is full
    ("remaining", _F),  # work left, in point seconds
    ("place", _I),  # in the machine's list of busy threads
    ("out_first", _I),  # tuples it has to hand over
    ("out_last", _I),
    ("next_free", _I),
    ("next_waiter", _I),
    ("has_slot", _B),  # a place in the full queue it waited for is kept for it
)

INSTANCE = _record(
    ("component", _I),
    ("topology", _I),
    ("machine", _I),
    ("worker", _I),
    ("points_s", _F),  # work of a tuple
    ("remote_points_s", _F),  # more for each that enters or leaves the process
    ("first_server", _I),
    ("servers", _I),
    ("free_server", _I),
    ("first_route", _I),
    ("routes", _I),
    ("queue_first", _I),
    ("queue_last", _I),
    ("queue", _I),
    ("taken", _I),  # places of the queue, those of tuples under way to it included
    ("limit", _I),
    ("first_waiter", _I),  # threads that wait for a place
    ("last_waiter", _I),
    ("spout", _B),
    ("pending", _I),
    ("most_pending", _I),
    # What happened, since the beginning.
    ("came", _I),
    ("done", _I),
    ("lost", _I),
    ("started", _I),
    ("waited_s", _F),
    ("stayed_s", _F),
    ("present", _I),
    ("present_s", _F),  # tuples present, over time
    ("changed_s", _F),
)

#: How one instance sends one stream.
ROUTE = _record(
    ("choice", _I),
    ("stream", _I),
    ("first", _I),  # its part of the table of targets
    ("count", _I),
    ("cursor", _I),
    ("offset", _F),
    ("credit", _F),  # selectivity by batch: what is not a whole tuple yet
    ("scope", _I),  # load-aware: how far it looks
)

STREAM = _record(("selectivity", _F), ("bytes", _F), ("target", _I))

#: A tuple: in a queue, in a thread's hands, or under way.
NODE = _record(
    ("root", _I),
    ("next", _I),
    ("target", _I),
    ("stream", _I),
    ("since_s", _F),  # when it came to where it is
    ("due_s", _F),  # at a source: when it should have been emitted
    ("remote", _B),
    ("at_nic", _B),  # waits for the receiving network card
)

#: A tuple of a spout with all that came of it.
ROOT = _record(
    ("due_s", _F),
    ("emitted_s", _F),
    ("outstanding", _I),
    ("spout", _I),
    ("previous", _I),  # in the list of those that may time out
    ("next", _I),
    ("broken", _B),  # something of it was lost
    ("failed", _B),  # timed out
)

TOPOLOGY = _record(
    ("acking", _B),
    ("replay", _B),
    ("timeout_s", _F),
    ("first_root", _I),
    ("last_root", _I),
    ("offered", _I),
    ("completed", _I),
    ("lost", _I),
    ("timed_out", _I),
    ("replayed", _I),
    ("late", _I),
    ("live", _I),  # roots that are neither completed, lost nor timed out
    ("awaiting_timeout", _I),  # of these, with something lost; counted at each look
    ("latency_s", _F),
)

#: Where a spout instance's tuples come from.
SOURCE = _record(
    ("instance", _I),
    ("topology", _I),
    ("share", _F),
    ("segment", _I),
    ("even", _B),
    ("generator", _I),
)

#: Shape of a component's service time.
SERVICE = _record(("kind", _I), ("shape", _F), ("first", _I), ("count", _I))

TRANSIT = _record(("time_s", _F), ("number", _I), ("node", _I))

#: An entry of a route's table: a target, the weights of the route so far in parts of 1, and for
#: load-aware routes Storm's weight of this one.
TARGET = _record(("instance", _I), ("cumulative", _F), ("weight", _I))

#: A clock's next time; beside it the clock at this place of the heap, and this clock's place there.
TIMER = _record(("time_s", _F), ("heap", _I), ("place", _I))

#: The offered rate of a topology until a time.
STEP = _record(("until_s", _F), ("rate", _F))

HOP = _record(("tuples", _I), ("bytes", _F))
GENERATOR = _record(("s0", np.uint64), ("s1", np.uint64), ("s2", np.uint64), ("s3", np.uint64))
NUMBER = _record(("value", _I))
REAL = _record(("value", _F))

#: Every table of the world by name.
TABLES = {
    "machines": MACHINE,
    "active": NUMBER,  # busy threads, machine by machine
    "servers": SERVER,
    "instances": INSTANCE,
    "routes": ROUTE,
    "streams": STREAM,
    "targets": TARGET,
    "nodes": NODE,
    "roots": ROOT,
    "topologies": TOPOLOGY,
    "sources": SOURCE,
    "deal": TARGET,  # spout instances by share, for saturated sources
    "steps": STEP,  # topology by topology
    "services": SERVICE,
    "factors": REAL,  # empirical service times over their mean
    "hop_s": REAL,  # delay, stream by stream and hop by hop
    "region_s": REAL,  # delay, stream by stream and region by region
    "hops": HOP,
    "timers": TIMER,
    "transit": TRANSIT,
    "ready_list": NUMBER,
    "dirty_list": NUMBER,
    "generators": GENERATOR,
    "histogram": NUMBER,  # latencies: components, then topologies
    "ages": NUMBER,  # of unfinished tuples at the last look, topology by topology
}

#: The one record that compiled code is given: what there is once, and where the tables are.
WORLD = _record(
    *((name, _I) for name in TABLES),
    ("machine_count", _I),
    ("instance_count", _I),
    ("source_count", _I),
    ("topology_count", _I),
    ("component_count", _I),
    ("region_count", _I),
    ("step_count", _I),
    ("deal_count", _I),
    ("transit_size", _I),
    ("ready_size", _I),
    ("now_s", _F),
    ("events", _I),
    ("free_node", _I),
    ("free_nodes", _I),
    ("free_root", _I),
    ("free_roots", _I),
    ("ready_first", _I),
    ("ready", _I),
    ("dirty", _I),
    ("in_transit", _I),
    ("sent", _I),
    ("most_new_nodes", _I),  # in one step
    ("most_new_roots", _I),
    ("window", _I),  # saturated sources: tuples in flight; 0 where sources follow a rate
    ("dealt", _I),
    ("owed", _I),  # places of the window that wait for the spout whose turn it is
    ("most_at_source", _I),  # such a spout has this many already
    ("may_deal", _B),
    ("paused", _B),
    ("drop", _B),  # a full queue loses tuples instead of holding up the sender
    ("by_batch", _B),
)


class Phase(IntEnum):
    """What a thread is doing."""

    IDLE = 0
    SERVING = 1
    #: Its tuple is handled; what comes of it has to be worked out.
    FINISHED = 2
    #: Paying for what leaves the process.
    SENDING = 3
    DELIVERING = 4
    WAITING = 5

"""How a machine's CPU is divided: processor sharing over the threads that are busy.

What fixed costs leave of the machine (``room``) is divided by weight, but no thread gets more than
it can use; what it leaves goes to the others. All threads below their own limit run at one *level*,
times their weight. The cost of an event is the number of threads that are busy on its machine,
which is small.
"""

from __future__ import annotations

from penstock.simulate.calendar import NEVER, set_clock
from penstock.simulate.compiled import compiled
from penstock.simulate.tables import instance_at, machine_at, number_at, server_at


@compiled
def touch(w, m):
    """Count the work done on a machine until now, before its busy threads change."""
    machine = machine_at(w.machines, m)
    now_s = w.now_s
    passed_s = now_s - machine.updated_s
    if passed_s > 0.0:
        level, used = machine.level, 0.0
        for k in range(machine.first_active, machine.first_active + machine.active):
            server = server_at(w.servers, number_at(w.active, k).value)
            points = min(server.points, server.weight * level) * machine.speed
            server.remaining -= points * passed_s
            used += points
        machine.busy_points_s += used * passed_s
        machine.updated_s = now_s
    if not machine.dirty:
        machine.dirty = 1
        number_at(w.dirty_list, w.dirty).value = m
        w.dirty += 1


@compiled
def occupy(w, s, work):
    """A thread begins ``work`` point seconds on its machine."""
    server = server_at(w.servers, s)
    m = instance_at(w.instances, server.instance).machine
    touch(w, m)
    machine = machine_at(w.machines, m)
    server.remaining = work
    server.place = machine.first_active + machine.active
    number_at(w.active, server.place).value = s
    machine.active += 1


@compiled
def vacate(w, s):
    """A thread leaves its machine's busy ones; the last in the list takes its place."""
    server = server_at(w.servers, s)
    m = instance_at(w.instances, server.instance).machine
    touch(w, m)
    machine = machine_at(w.machines, m)
    machine.active -= 1
    last = number_at(w.active, machine.first_active + machine.active).value
    number_at(w.active, server.place).value = last
    server_at(w.servers, last).place = server.place
    server.place = -1


@compiled
def _level(w, machine):
    """The largest L with sum(min(points, weight * L)) <= room."""
    first, last = machine.first_active, machine.first_active + machine.active
    points, weights = 0.0, 0.0
    for k in range(first, last):
        server = server_at(w.servers, number_at(w.active, k).value)
        points += server.points
        weights += server.weight
    if points <= machine.room:
        return NEVER
    level = machine.room / weights
    while True:
        # Those that want less than the level get what they want; the rest share what remains.
        left, weights = machine.room, 0.0
        for k in range(first, last):
            server = server_at(w.servers, number_at(w.active, k).value)
            if server.points <= server.weight * level:
                left -= server.points
            else:
                weights += server.weight
        if weights == 0.0 or left / weights <= level:
            return level
        level = left / weights


@compiled
def _settle(w, m):
    """Divide a machine anew and set its clock to the next tuple done."""
    machine = machine_at(w.machines, m)
    machine.dirty = 0
    soonest, who = NEVER, -1
    if machine.active > 0 and machine.room > 0.0 and machine.speed > 0.0:
        machine.level = _level(w, machine)
        for k in range(machine.first_active, machine.first_active + machine.active):
            server = server_at(w.servers, number_at(w.active, k).value)
            points = min(server.points, server.weight * machine.level) * machine.speed
            left_s = server.remaining / points
            if left_s < soonest:
                soonest, who = left_s, number_at(w.active, k).value
    else:
        machine.level = 0.0
    machine.next_server = who
    time_s = w.now_s + max(0.0, soonest)
    set_clock(w, m, time_s)


@compiled
def settle_touched(w):
    """Set the clocks of all machines that were touched."""
    for k in range(w.dirty):
        _settle(w, number_at(w.dirty_list, k).value)
    w.dirty = 0

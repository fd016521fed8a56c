"""What a watcher reads of a Storm: who runs where from Nimbus, what they do from telemetry lines.

Rates are means over the windows that ended lately, of executors that are where Nimbus says. What an
executor did not report is not known; where a spout is missing, neither is its topology's rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite, isnan, nan

from penstock.engines.reading import (
    InstanceName,
    InstanceReading,
    Reading,
    StreamName,
    TopologyReading,
)
from penstock.engines.storm.executor_lines import (
    ExecutorLines,
    inputs_of,
    number_of,
    weighted,
)
from penstock.engines.storm.records import ClusterRecord, ExecutorRecord, TopologyRecord
from penstock.model.snapshot import Snapshot
from penstock.telemetry.newest_lines import Line

#: A spout that may emit nearly always has all that arrives.
_HARDLY_HELD_BACK = 0.02
#: What a spout would emit if nothing held it back is not guessed at beyond this.
_MOST_TIMES = 4.0
_ACTIVE = "ACTIVE"


def reading_of(
    seen: ClusterRecord,
    snapshot: Snapshot,
    lines: Iterable[Line],
    now_s: float,
    window_s: float,
    shares: Mapping[tuple[str, str], tuple[float, ...]],
) -> Reading:
    """One moment of the cluster."""
    topologies = {t.name: t for t in seen.topologies}
    newest = [line for line in lines if line["time_ms"] > 1e3 * (now_s - window_s)]
    running_since = {
        d.topology: _running_since(topologies[d.topology].executors, now_s)
        for d in snapshot.deployed
    }
    instances = _instances(snapshot, topologies, newest, running_since)
    spouts = {(t.name, c.name) for t in topologies.values() for c in t.components if c.is_spout}
    told = {
        name: _topology([i for i in instances if i.name[0] == name], topologies[name], spouts)
        for name in (d.topology for d in snapshot.deployed)
    }
    ages = [_age(d.id, newest, now_s) for d in snapshot.deployed]
    return Reading(
        now_s,
        snapshot,
        told,
        _machine_points(snapshot, newest),
        {i.name: _instance(i, spouts) for i in instances},
        _streams(instances),
        _traffic(instances),
        shares,
        running_since_s=max(running_since.values(), default=nan),
        telemetry_age_s=max(ages, default=nan),
    )


def _instances(
    snapshot: Snapshot,
    topologies: Mapping[str, TopologyRecord],
    lines: Sequence[Line],
    running_since: Mapping[str, float],
) -> list[ExecutorLines]:
    """Executors in the order of the snapshot's deployments, with lines from where they are.

    Windows in which not everything of the topology ran are left out: a spout that has just begun,
    or whose bolts have not, emits next to nothing, and that is not what arrives.
    """
    by_executor: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        key = (line.get("run"), line.get("component"), line.get("task"), str(line.get("worker")))
        if all(isinstance(part, str | int) for part in key):
            by_executor[key].append(line)
    hosts = {m.name: {m.name, m.host} for m in snapshot.cluster.machines}
    found = []
    for deployed in snapshot.deployed:
        since_ms = 1e3 * running_since[deployed.topology]
        mine: dict[str, list[ExecutorRecord]] = defaultdict(list)
        for executor in topologies[deployed.topology].executors:
            mine[executor.component].append(executor)
        for component, places in deployed.components:
            executors = sorted(mine[component], key=lambda e: e.first_task)
            for number, ((machine, _), e) in enumerate(zip(places, executors, strict=True)):
                key = (deployed.id, component, e.first_task, str(e.port))
                known = hosts.get(machine, {machine})
                own = [
                    line
                    for line in by_executor[key]
                    if line.get("host") in known
                    and line["time_ms"] - number_of(line, "window_ms") >= since_ms
                ]
                name = (deployed.topology, component, number)
                found.append(ExecutorLines(name, machine, e, tuple(own)))
    return found


def _topology(
    instances: Sequence[ExecutorLines], record: TopologyRecord, spouts: set[tuple[str, str]]
) -> TopologyReading:
    sources = [i for i in instances if i.name[:2] in spouts]
    processed = sum(i.made_per_s for i in sources) if sources else nan
    held_back = weighted([(i.mean("held_back"), i.made_per_s) for i in sources])
    offered, backlog = _arrivals(sources, processed, held_back)
    took_s = weighted([(i.mean("latency_ms") / 1e3, i.made_per_s) for i in sources])
    waits_s = backlog / processed if processed > 0 else (inf if backlog > 0 else 0.0)
    latency_s = took_s + waits_s
    return TopologyReading(
        offered, processed, backlog, latency_s, held_back, _unsettled(instances, record)
    )


def _arrivals(
    sources: Sequence[ExecutorLines], processed: float, held_back: float
) -> tuple[float, float]:
    """Tuples/s that arrive, and how many wait; NaN where nobody can tell."""
    grows, backlog = _waiting(sources)
    if not isnan(backlog):
        return max(0.0, processed + grows), backlog
    if isnan(processed) or isnan(held_back):
        return nan, nan
    if held_back <= _HARDLY_HELD_BACK:
        return processed, 0.0
    # What it would have emitted in the time in which it must not; nobody counts what waits.
    offered = processed * min(_MOST_TIMES, 1.0 / max(1.0 - held_back, 1e-9))
    return offered, (offered - processed) * max(source.seconds for source in sources)


def _waiting(sources: Sequence[ExecutorLines]) -> tuple[float, float]:
    """By how many tuples/s what waits at the spouts grows, and how many wait; NaN: not counted."""
    grows = waits = 0.0
    for source in sources:
        points = [(x["time_ms"] / 1e3, number_of(x, "backlog")) for x in source.lines]
        points = [(t, n) for t, n in points if isfinite(n)]
        if not points:
            return nan, nan
        (first_s, first), (last_s, last) = points[0], points[-1]
        grows += (last - first) / (last_s - first_s) if last_s > first_s else 0.0
        waits += last
    return (grows, waits) if sources else (nan, nan)


def _unsettled(instances: Sequence[ExecutorLines], record: TopologyRecord) -> str:
    if record.status != _ACTIVE:
        return f"{record.name} is {record.status.lower()}"
    waiting = _tasks_without_a_place(record)
    if waiting:
        return f"{waiting} tasks of {record.name} have no place"
    starting = [i.name[1] for i in instances if i.executor.uptime_s <= 0]
    if starting:
        return f"{len(starting)} executors of {record.name} are starting"
    return ""


def _tasks_without_a_place(record: TopologyRecord) -> int:
    """Storm tells of executors that have a place only; tasks that none of them has wait for one."""
    placed: dict[str, int] = defaultdict(int)
    for e in record.executors:
        placed[e.component] += e.last_task - e.first_task + 1
    return sum(max(0, c.tasks - placed[c.name]) for c in record.components if c.tasks is not None)


def _running_since(executors: Sequence[ExecutorRecord], now_s: float) -> float:
    """Since when all of a topology's executors have run; NaN: they do not."""
    youngest_s = min((e.uptime_s for e in executors), default=0.0)
    return now_s - youngest_s if youngest_s > 0 else nan


def _age(run: str, lines: Sequence[Line], now_s: float) -> float:
    """Of the newest line of a topology's submission, whoever wrote it."""
    newest_ms = max((line["time_ms"] for line in lines if line.get("run") == run), default=-inf)
    return max(0.0, now_s - newest_ms / 1e3)


def _instance(instance: ExecutorLines, spouts: set[tuple[str, str]]) -> InstanceReading:
    is_spout = instance.name[:2] in spouts
    arrives = instance.made_per_s if is_spout else instance.took_per_s
    execute_ms = instance.mean_by_tuples("execute_ms", "inputs")
    return InstanceReading(
        instance.machine,
        arrives,
        1e3 / execute_ms if execute_ms > 0 else nan,
        instance.mean("queue_fill"),
        instance.mean("cpu_points"),
    )


def _machine_points(snapshot: Snapshot, lines: Sequence[Line]) -> dict[str, float]:
    """Points that the worker processes on each machine use, all topologies' that report."""
    names = {m.host: m.name for m in snapshot.cluster.machines if m.host}
    names |= {m.name: m.name for m in snapshot.cluster.machines}
    workers: dict[tuple[str, str], dict[float, tuple[float, float]]] = defaultdict(dict)
    for line in lines:
        machine = names.get(str(line.get("host")))
        points, ms = number_of(line, "worker_cpu_points"), number_of(line, "window_ms")
        if machine is not None and isfinite(points) and ms > 0:
            # Every executor of a worker says the same of it.
            run = f"{line.get('run')}@{line.get('worker')}"
            workers[machine, run][line["time_ms"]] = (points, ms)
    used: dict[str, float] = defaultdict(float)
    for (machine, _), windows in workers.items():
        total = sum(ms for _, ms in windows.values())
        used[machine] += sum(points * ms for points, ms in windows.values()) / total
    return dict(used)


def _streams(instances: Sequence[ExecutorLines]) -> dict[StreamName, float]:
    """Tuples/s on each stream into each component, where all its instances reported."""
    rates: dict[StreamName, float] = defaultdict(float)
    silent = {i.name[:2] for i in instances if not i.seconds}
    for i in instances:
        topology, component, _ = i.name
        if i.name[:2] in silent:
            continue
        for line in i.lines:
            for source, stream, tuples, _ in inputs_of(line):
                rates[topology, source, component, stream] += tuples / i.seconds
    return dict(rates)


def _traffic(
    instances: Sequence[ExecutorLines],
) -> dict[tuple[InstanceName, InstanceName], float]:
    """Tuples/s from instance to instance, where the traffic hook counts them by task."""
    by_task = {
        (i.name[0], task): i.name
        for i in instances
        for task in range(i.executor.first_task, i.executor.last_task + 1)
    }
    rates: dict[tuple[InstanceName, InstanceName], float] = defaultdict(float)
    for i in instances:
        for line in i.lines:
            for _, _, tuples, task in inputs_of(line):
                source = by_task.get((i.name[0], task)) if task is not None else None
                if source is not None:
                    rates[source, i.name] += tuples / i.seconds
    return dict(rates)

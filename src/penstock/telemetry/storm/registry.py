"""A worker's whole metrics registry and the CPU time of its threads to samples.

Lines are ``time kind name value``, as a reporter inside the worker sees them: ``counter`` and
``gauge`` from the registry, ``thread`` and ``process`` in nanoseconds of CPU. What changed between
one moment and the next is one sample per executor: the only source of Storm's own that has exact
CPU and streams together.

- ``storm.worker.<topology id>.<host>.<component>[.<stream>].<task>.<port>-<metric>``: Storm writes
  dots in host, component and stream as underscores, so ``a.b`` and ``a_b`` look alike there. The
  thread has the component's true name, and the metric its streams'.
- The host is Java's idea of it, not ``storm.local.hostname``; give ``host`` where they differ.
- An executor is one thread: its sample carries its first task and the sum over all its tasks.
- Memory is the whole worker's; a task's own cannot be told.
- Queue fill and mean milliseconds are those at the window's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError, shown
from penstock.model.telemetry import Input, Output, Sample
from penstock.telemetry.storm.names import is_measured, keeps_input, keeps_output, topology_of

_THREAD = re.compile(
    r"Thread-\d+-(?P<component>.+)-executor\[(?P<first>-?\d+),[_ ]*(?P<last>-?\d+)\]"
)
_METRIC = re.compile(
    r"storm\.(?:worker|topology)\.(?P<run>[^.]+)\.(?P<host>[^.]+)\.(?P<component>[^.]+)"
    r"(?:\.[^.]+)?\.(?P<task>-?\d+)\.(?P<port>\d+)-(?P<metric>.+)"
)
_TIME = re.compile(r"[0-9]{12,14}")
#: The registry's kinds and the reporter's own two; the middle three are not read.
_KINDS = ("counter", "gauge", "histogram", "meter", "timer", "thread", "process")
_READ = ("counter", "gauge", "thread", "process")
_SYSTEM_TASK = -1
_BYTES_PER_MB = 1024.0 * 1024.0
#: Nanoseconds of CPU in a millisecond of time, to points: 100 points are one core.
#: A spout's own gauge of what waits at its source, and what storm-kafka-client says by topic.
_BACKLOG, _KAFKA_LAG = "penstock-backlog", "/totalSpoutLag"
_POINTS = 100.0 / 1e6
_MOST_FINDINGS = 100
#: Java's numbers of tasks have ten.
_MOST_DIGITS = 10


@dataclass(frozen=True, slots=True)
class _Executor:
    component: str
    first: int
    last: int


@dataclass(slots=True)
class _Moment:
    """Everything said at one time."""

    time_ms: int
    cpu_ns: dict[_Executor, float] = field(default_factory=dict)
    process_ns: float | None = None
    #: By task, then by the metric's own name.
    counters: dict[int, dict[str, float]] = field(default_factory=dict)
    gauges: dict[int, dict[str, float]] = field(default_factory=dict)

    def of_worker(self, metric: str) -> float | None:
        return self.gauges.get(_SYSTEM_TASK, {}).get(metric)


@dataclass(slots=True)
class _Dump:
    moments: dict[int, _Moment] = field(default_factory=dict)
    #: (topology id, host, port) of the metrics seen; threads do not say whose they are.
    workers: set[tuple[str, str, str]] = field(default_factory=set)


def read_registry(
    path: str | Path, machine_types: Mapping[str, str] | None = None, *, host: str | None = None
) -> list[Sample]:
    """Samples of a file with two or more moments of one worker."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise InputError(Finding(f"cannot be read: {message}", str(path))) from None
    return samples_of_registry(text.splitlines(), machine_types, host=host, name=str(path))


def samples_of_registry(
    lines: Iterable[str],
    machine_types: Mapping[str, str] | None = None,
    *,
    host: str | None = None,
    name: str = "registry",
) -> list[Sample]:
    """Samples of the lines of one worker, in order of time, component and task."""
    dump = _parse(lines, name)
    ((run, seen_host, port),) = dump.workers
    host = host or seen_host
    samples = []
    for before, after in pairwise(dump.moments[time] for time in sorted(dump.moments)):
        if _restarted(before, after):
            continue
        for executor in sorted(after.cpu_ns, key=lambda e: (e.component, e.first)):
            if executor not in before.cpu_ns or not is_measured(executor.component):
                continue
            samples.append(
                Sample(
                    time_ms=after.time_ms,
                    window_ms=after.time_ms - before.time_ms,
                    topology=topology_of(run),
                    component=executor.component,
                    task=executor.first,
                    last_task=executor.last if executor.last > executor.first else None,
                    host=host,
                    machine_type=(machine_types or {}).get(host),
                    worker=port,
                    run=run,
                    **_measured(executor, before, after),
                )
            )
    return samples


def _parse(lines: Iterable[str], name: str) -> _Dump:
    dump, findings = _Dump(), []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        wrong = _read_line(line, dump)
        if wrong:
            findings.append(Finding(wrong, name, number))
            if len(findings) == _MOST_FINDINGS:
                findings.append(Finding("and there may be more errors", name))
                break
    if not findings and len(dump.moments) < 2:
        message = f"holds {len(dump.moments)} moments; counters need two to be a rate"
        findings.append(Finding(message, name))
    if not findings and not any(moment.cpu_ns for moment in dump.moments.values()):
        message = "holds no threads of executors (Thread-15-high-executor[2,_2])"
        findings.append(Finding(message, name))
    if not findings and len(dump.workers) != 1:
        workers = ", ".join(":".join(worker) for worker in sorted(dump.workers)) or "none"
        message = f"must hold one worker, whose threads these are, not {workers}"
        findings.append(Finding(message, name))
    if findings:
        raise InputError(*findings)
    return dump


def _read_line(line: str, dump: _Dump) -> str | None:
    """Adds a line to the dump; or what is wrong with it."""
    parts = line.split(" ", 3)
    if len(parts) < 4 or not _TIME.fullmatch(parts[0]) or parts[1] not in _KINDS:
        return f"must be `milliseconds kind name value`, not {shown(line)}"
    time_ms, kind, name, text = int(parts[0]), *parts[1:]
    if kind not in _READ:
        return None
    try:
        value = float(text)
    except ValueError:
        # A gauge may be anything (threads.deadlocks is a list); CPU and counters may not.
        return None if kind == "gauge" else f"{name} must be a number, not {shown(text)}"
    if kind != "gauge" and not 0 <= value < float("inf"):
        return f"{name} must not be negative or infinite, not {text}"
    moment = dump.moments.setdefault(time_ms, _Moment(time_ms))
    if kind == "process":
        moment.process_ns = value if name == "cpu" else moment.process_ns
    elif kind == "thread":
        thread = _THREAD.fullmatch(name)
        if thread:  # the others are the worker's own
            if _is_long(thread["first"], thread["last"]):
                return f"{name} has no number of a task"
            executor = _Executor(thread["component"], int(thread["first"]), int(thread["last"]))
            moment.cpu_ns[executor] = value
    else:
        metric = _METRIC.fullmatch(name)
        if metric:  # a topology may register metrics under any name
            if _is_long(metric["task"]):
                return f"{name} has no number of a task"
            dump.workers.add((metric["run"], metric["host"], metric["port"]))
            by_task = moment.counters if kind == "counter" else moment.gauges
            by_task.setdefault(int(metric["task"]), {})[metric["metric"]] = value
    return None


def _is_long(*numbers: str) -> bool:
    return any(len(number.removeprefix("-")) > _MOST_DIGITS for number in numbers)


def _restarted(before: _Moment, after: _Moment) -> bool:
    """Whether a total fell; what was counted between the two is then not known."""
    old, new = before.of_worker("uptimeSecs"), after.of_worker("uptimeSecs")
    if old is not None and new is not None and new < old:
        return True
    if (after.process_ns or 0) < (before.process_ns or 0) and after.process_ns is not None:
        return True
    threads = any(after.cpu_ns.get(e, ns) < ns for e, ns in before.cpu_ns.items())
    return threads or any(
        after.counters.get(task, {}).get(metric, count) < count
        for task, counts in before.counters.items()
        for metric, count in counts.items()
    )


def _measured(executor: _Executor, before: _Moment, after: _Moment) -> dict[str, Any]:
    """Everything a sample says beyond who and when."""
    window_ms = after.time_ms - before.time_ms
    # Those that were seen: a range may claim any number of tasks.
    tasks = [task for task in after.counters if executor.first <= task <= executor.last]
    counts = _differences(tasks, before, after, "__execute-count-")
    put = _differences(tasks, before, after, "__emit-count-")
    acked = _differences(tasks, before, after, "__ack-count-")
    process = None
    if before.process_ns is not None and after.process_ns is not None:
        process = (after.process_ns - before.process_ns) / window_ms * _POINTS
    memory = after.of_worker("memory.total.used")
    return {
        "inputs": _inputs(counts) if tasks else None,
        "outputs": _outputs(executor.component, put) if tasks else None,
        "execute_ms": _mean(tasks, after, "__execute-latency-", counts),
        "process_ms": _mean(tasks, after, "__process-latency-", counts),
        "latency_ms": _mean(tasks, after, "__complete-latency-", acked),
        "cpu_points": (after.cpu_ns[executor] - before.cpu_ns[executor]) / window_ms * _POINTS,
        "worker_cpu_points": process,
        "worker_memory_mb": None if memory is None else memory / _BYTES_PER_MB,
        "queue_fill": _queue_fill(executor, after),
        "held_back": _held_back(tasks, before, after),
        "backlog": _backlog(tasks, after),
        "uptime_s": after.of_worker("uptimeSecs"),
    }


def _inputs(counts: Mapping[str, float]) -> tuple[Input, ...]:
    named = sorted((*_split(name), tuples) for name, tuples in counts.items())
    return tuple(Input(*entry) for entry in named if keeps_input(entry[0]))


def _outputs(component: str, put: Mapping[str, float]) -> tuple[Output, ...]:
    named = sorted(put.items())
    return tuple(Output(*entry) for entry in named if keeps_output(component, entry[0]))


def _split(name: str) -> tuple[str, str]:
    """Source and stream. Either may hold a colon in theory; the first one is taken."""
    source, _, stream = name.partition(":")
    return source, stream


def _differences(
    tasks: Iterable[int], before: _Moment, after: _Moment, prefix: str
) -> dict[str, float]:
    """What was counted between the moments, by the rest of the counter's name.

    A counter that was not there before begins at 0: Storm makes it with its first tuple.
    """
    counts: dict[str, float] = {}
    for task in tasks:
        old = before.counters.get(task, {})
        for metric, count in after.counters.get(task, {}).items():
            if metric.startswith(prefix):
                name = metric.removeprefix(prefix)
                counts[name] = counts.get(name, 0.0) + count - old.get(metric, 0.0)
    return counts


def _mean(
    tasks: Iterable[int], after: _Moment, prefix: str, tuples: Mapping[str, float]
) -> float | None:
    """Mean over streams by their tuples; a stream without tuples has no mean, whatever it says."""
    weights = total = 0.0
    for task in tasks:
        for metric, value in after.gauges.get(task, {}).items():
            weight = tuples.get(metric.removeprefix(prefix), 0.0)
            source = _split(metric.removeprefix(prefix))[0]
            if metric.startswith(prefix) and weight > 0 and keeps_input(source) and value >= 0:
                weights += weight
                total += weight * value
    return total / weights if weights else None


def _held_back(tasks: Iterable[int], before: _Moment, after: _Moment) -> float | None:
    """Part of the window in which a spout was kept from emitting; bolts have no such counters."""
    kinds = ("__skipped-max-spout-ms", "__skipped-backpressure-ms")
    ms = [_differences(tasks, before, after, kind).get("") for kind in kinds]
    if all(value is None for value in ms):
        return None
    return min(1.0, sum(value or 0.0 for value in ms) / (after.time_ms - before.time_ms))


def _backlog(tasks: Iterable[int], after: _Moment) -> float | None:
    """What waits at the sources of a spout's tasks, where somebody counts it."""
    waiting = [
        max(0.0, value)
        for task in tasks
        for metric, value in after.gauges.get(task, {}).items()
        if metric == _BACKLOG or metric.endswith(_KAFKA_LAG)
    ]
    return sum(waiting) if waiting else None


def _queue_fill(executor: _Executor, after: _Moment) -> float | None:
    """An executor has one queue, under its first task."""
    gauges = after.gauges.get(executor.first, {})
    population, capacity = (gauges.get(f"receive-queue-{n}") for n in ("population", "capacity"))
    if population is None or not capacity:
        return None
    return min(1.0, population / capacity)

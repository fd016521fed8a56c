"""Answers of Storm's UI to samples: one per executor, as its last heartbeat left it.

What the answers cannot say:

- **CPU and memory.** ``assignedCpu`` and its like are requests; both stay absent.
- **Streams by executor.** An executor's counts are sums over its streams; only the component has
  them by stream. The executor's sum is split in the component's proportions: exact where there is
  one stream, and otherwise right in total for the executor and for the stream, but a guess for
  the pair (a fields or local grouping may feed one executor more of a stream than another).
- **Tasks of one executor.** ``[6-7]`` is one thread and one line of counts; its sample carries the
  first task, 6.
- **The time.** No answer has a clock. Counts are those of the executor's last heartbeat, which may
  be a minute old (``executor.metrics.frequency.secs``) and which its uptime dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from penstock.errors import Finding, InputError
from penstock.files.document import document_of, read_document
from penstock.files.storm_answers import (
    ComponentAnswer,
    Executor,
    TopologyAnswer,
    component_answer,
    topology_answer,
)
from penstock.model.telemetry import Counters, Input, Output, Sample
from penstock.telemetry.reasons import LONGEST_WINDOW_MS
from penstock.telemetry.storm.names import is_measured, keeps_input, keeps_output

_Key = TypeVar("_Key")
_COMPONENT_FILE = re.compile(r"(?P<topology>topology-.+?)-component-.+\.json")


def read_rest_folder(
    folder: str | Path,
    machine_types: Mapping[str, str] | None = None,
    *,
    time_ms: int | None = None,
) -> list[Sample]:
    """Samples of a folder of recorded answers.

    ``topology-<name>-component-<component>.json`` hold the counts. ``topology-<name>.json`` beside
    them has the sample rate, and dates them where ``time_ms`` is not given.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(Finding("no such folder", str(folder)))
    samples: list[Sample] = []
    findings: list[Finding] = []
    topologies: dict[str, TopologyAnswer | None] = {}
    for path in sorted(folder.iterdir()):
        named = _COMPONENT_FILE.fullmatch(path.name)
        if not named:
            continue
        try:
            if named["topology"] not in topologies:
                topologies[named["topology"]] = None  # a broken file is reported once
                topologies[named["topology"]] = _topology_beside(path, named["topology"], time_ms)
            answer = component_answer(read_document(path))
        except InputError as error:
            findings += error.findings
            continue
        samples += _samples(answer, topologies[named["topology"]], machine_types or {}, time_ms)
    if findings:
        raise InputError(*findings)
    if not topologies:
        message = "holds no topology-<name>-component-<component>.json"
        raise InputError(Finding(message, str(folder)))
    return samples


def samples_of_answer(
    answer: Mapping[str, object],
    machine_types: Mapping[str, str] | None = None,
    *,
    time_ms: int,
    topology: Mapping[str, object] | None = None,
    name: str = "component answer",
) -> list[Sample]:
    """Samples of one parsed answer about a component, asked for at ``time_ms``."""
    about = topology_answer(document_of(topology, "topology answer")) if topology else None
    checked = component_answer(document_of(answer, name))
    return _samples(checked, about, machine_types or {}, time_ms)


def dated_by_heartbeat(samples: Iterable[Sample]) -> list[Sample]:
    """Samples of several polls, each moved to the heartbeat its counts are from, repeats dropped.

    A poll sees counts up to a minute old, so that two polls 60 s apart may be two heartbeats apart
    or none, and rates over the polls' times would be wrong by as much. Uptime is exact: a worker's
    start is at most (time of poll - uptime), so the least of these over its life dates them all.
    """
    by_worker: dict[tuple[str | None, str, str, str], list[Sample]] = {}
    for sample in sorted(samples, key=lambda s: (s.time_ms, s.component, s.task)):
        key = (sample.run, sample.topology, sample.host, sample.worker)
        by_worker.setdefault(key, []).append(sample)
    dated: dict[tuple[object, ...], Sample] = {}
    for key, polled in by_worker.items():
        for life in _lives(polled):
            start_ms = min(_start_ms(sample) for sample in life)
            for sample in life:
                time_ms = start_ms + round(1000 * (sample.uptime_s or 0))
                moved = replace(sample, time_ms=time_ms)
                dated.setdefault((key, sample.component, sample.task, time_ms), moved)
    return sorted(dated.values(), key=lambda s: (s.time_ms, s.topology, s.component, s.task))


def _start_ms(sample: Sample) -> int:
    return sample.time_ms - round(1000 * (sample.uptime_s or 0))


def _lives(polled: list[Sample]) -> list[list[Sample]]:
    """Split where the process was a new one: it began after the old one's last heartbeat."""
    lives: list[list[Sample]] = []
    last_ms = 0
    for sample in polled:
        if not lives or _start_ms(sample) > last_ms:
            lives.append([])
        lives[-1].append(sample)
        start_ms = min(_start_ms(s) for s in lives[-1])
        last_ms = start_ms + round(1000 * max(s.uptime_s or 0 for s in lives[-1]))
    return lives


def _topology_beside(path: Path, name: str, time_ms: int | None) -> TopologyAnswer | None:
    beside = path.with_name(f"{name}.json")
    if beside.is_file():
        answer = topology_answer(read_document(beside))
        if time_ms is None and _submitted_s(answer) is None:
            message = "must end in the time of submission, as Storm's ids do; or give the time"
            raise InputError(Finding(f'{message}, not "{answer.id}"', str(beside), field="id"))
        return answer
    if time_ms is None:
        message = f"has no clock: record {beside.name} beside it, or give the time of the answers"
        raise InputError(Finding(message, str(path)))
    return None


def _submitted_s(topology: TopologyAnswer) -> int | None:
    last = topology.id.rsplit("-", 1)[-1]
    return int(last) if re.fullmatch(r"[0-9]{9,11}", last) else None


def _samples(
    answer: ComponentAnswer,
    topology: TopologyAnswer | None,
    machine_types: Mapping[str, str],
    time_ms: int | None,
) -> list[Sample]:
    # A broken topology answer was reported already, and an executor of no age has counted nothing.
    if not is_measured(answer.id) or (topology is None and time_ms is None):
        return []
    return [
        _sample(answer, executor, topology, machine_types, time_ms)
        for executor in sorted(answer.executor_stats, key=lambda e: e.first_task)
        if executor.uptime_seconds
    ]


def _sample(
    answer: ComponentAnswer,
    executor: Executor,
    topology: TopologyAnswer | None,
    machine_types: Mapping[str, str],
    time_ms: int | None,
) -> Sample:
    uptime_s = executor.uptime_seconds or 0
    # Successive answers with ?window=600 overlap; take one of them, or all-time totals.
    window_s = uptime_s if answer.window_s is None else min(uptime_s, answer.window_s)
    return Sample(
        time_ms=_time_ms(executor, topology) if time_ms is None and topology else time_ms or 0,
        # Totals are told apart by their times; a worker of a month has no window of a month.
        window_ms=min(1000 * window_s, LONGEST_WINDOW_MS),
        topology=answer.name,
        component=answer.id,
        task=executor.first_task,
        host=executor.host,
        machine_type=machine_types.get(executor.host),
        worker=str(executor.port),
        run=answer.topology_id,
        inputs=_inputs(answer, executor),
        outputs=_outputs(answer, executor),
        counters=Counters.TOTAL if answer.window_s is None else Counters.DELTA,
        sample_rate=topology.configuration.sample_rate if topology else None,
        # A mean over no tuples is written "0.000", and is none.
        execute_ms=executor.execute_latency if executor.executed else None,
        process_ms=executor.process_latency if executor.executed and executor.acked else None,
        latency_ms=executor.complete_latency if executor.acked else None,
        uptime_s=float(uptime_s),
    )


def _time_ms(executor: Executor, topology: TopologyAnswer) -> int:
    """When the executor sent its counts, by the age of topology and worker.

    The topology's answer was asked for at (submission + uptime). The component's came some time
    before or after: by as much as the worker had aged between the two.
    """
    asked_s = (_submitted_s(topology) or 0) + topology.uptime_seconds
    for worker in topology.workers:
        same = (worker.host, worker.port) == (executor.host, executor.port)
        if same and worker.uptime_seconds is not None:
            asked_s += (executor.uptime_seconds or 0) - worker.uptime_seconds
    return 1000 * asked_s


def _inputs(answer: ComponentAnswer, executor: Executor) -> tuple[Input, ...] | None:
    if answer.component_type == "spout":
        return ()
    counts = {(s.component, s.stream): s.executed for s in answer.input_stats}
    shares = _split(executor.executed, counts)
    if shares is None:
        return None
    return tuple(
        Input(source, stream, tuples)
        for (source, stream), tuples in sorted(shares.items())
        if keeps_input(source)
    )


def _outputs(answer: ComponentAnswer, executor: Executor) -> tuple[Output, ...] | None:
    shares = _split(executor.emitted, {s.stream: s.emitted for s in answer.output_stats})
    if shares is None:
        return None
    return tuple(
        Output(stream, tuples)
        for stream, tuples in sorted(shares.items())
        if keeps_output(answer.id, stream)
    )


def _split(total: float | None, counts: Mapping[_Key, float | None]) -> dict[_Key, float] | None:
    """An executor's sum over its component's streams; ``None`` where the shares are not known."""
    known = {key: count for key, count in counts.items() if count is not None}
    of_component = sum(known.values())
    if total is None or len(known) < len(counts) or (total > 0 and of_component == 0):
        return None
    return {key: total * count / (of_component or 1) for key, count in known.items()}

"""Traffic between instances, as the profile format has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from penstock.errors import Finding
from penstock.files.document import ParsedFile
from penstock.files.schema import Name, NotNegative, Strict, as_list, as_mapping
from penstock.files.topology_file import given
from penstock.model.instance_traffic import InstanceTraffic

#: Storm numbers the tasks of a topology from 1.
TaskNumber = Annotated[int, Field(ge=0, le=2**63 - 1)]
_ENDS = ("source", "target")


class TaskPairFields(Strict):
    """Tuples that one task sends to another."""

    source: TaskNumber
    target: TaskNumber
    tuples_per_s: NotNegative


class LeftOutFields(Strict):
    """Pairs that are not listed: the lighter ones of many, and those of unknown senders."""

    pairs: Annotated[int, Field(ge=1)]
    tuples_per_s: NotNegative = Field(description="Of all of them together.")


class InstanceTrafficFields(Strict):
    """Traffic between the instances of a topology, as seen in one run of it."""

    topology: str = Field("", description="Only for this topology; else for all.")
    run: str = ""
    estimated: bool = Field(
        False, description="Senders were not told; dealt out by what each task put out."
    )
    tasks: Annotated[dict[Name, list[TaskNumber]], Field(min_length=1)] = Field(
        description="Task numbers by component. Instance i of a plan is the i-th of them."
    )
    pairs: list[TaskPairFields] = Field(
        default_factory=list, description="Mean over the time seen; the heaviest of many."
    )
    left_out: LeftOutFields | None = None


def instance_traffic_from(fields: InstanceTrafficFields) -> InstanceTraffic:
    rest = fields.left_out
    return InstanceTraffic(
        tasks=tuple((component, tuple(tasks)) for component, tasks in fields.tasks.items()),
        pairs=tuple((pair.source, pair.target, pair.tuples_per_s) for pair in fields.pairs),
        topology=fields.topology,
        run=fields.run,
        estimated=fields.estimated,
        pairs_left_out=rest.pairs if rest else 0,
        left_out_per_s=rest.tuples_per_s if rest else 0.0,
    )


def instance_traffic_to_dict(traffic: InstanceTraffic) -> dict[str, object]:
    """As its file says it; what equals the default is left out."""
    left_out = {"pairs": traffic.pairs_left_out, "tuples_per_s": traffic.left_out_per_s}
    pairs = [
        {"source": source, "target": target, "tuples_per_s": rate}
        for source, target, rate in traffic.pairs
    ]
    return given(
        {
            "topology": traffic.topology or None,
            "run": traffic.run or None,
            "estimated": traffic.estimated or None,
            "tasks": {component: list(tasks) for component, tasks in traffic.tasks},
            "pairs": pairs or None,
            "left_out": left_out if traffic.pairs_left_out else None,
        }
    )


def traffic_findings(document: ParsedFile) -> Iterator[Finding]:
    """What the shape alone cannot tell: tasks named twice, pairs of tasks that are nobody's."""
    entries = as_list(as_mapping(document.value).get("traffic"))
    for i, entry in enumerate(entries):
        tasks = as_mapping(as_mapping(entry).get("tasks"))
        owners = Counter(task for list_ in tasks.values() for task in _whole(as_list(list_)))
        for task, times in owners.items():
            if times > 1:
                message = f"task {task} is there {times} times; it can be one instance only"
                yield document.finding(("traffic", i, "tasks"), message)
        for k, pair in enumerate(as_list(as_mapping(entry).get("pairs"))):
            for end in _ENDS:
                number = as_mapping(pair).get(end)
                if _whole([number]) and number not in owners:
                    message = f"no component has task {number}; add it to tasks"
                    yield document.finding(("traffic", i, "pairs", k, end), message)


def _whole(values: list[object]) -> list[int]:
    return [value for value in values if type(value) is int]

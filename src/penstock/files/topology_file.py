"""The topology format: components by name, each with the streams that leave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import Finding, InputError, shown
from penstock.files.document import LONGEST_NAME, ParsedFile
from penstock.files.schema import (
    MANY_FINDINGS,
    Amounts,
    Count,
    FileModel,
    Name,
    NotNegative,
    Positive,
    Strict,
    Version,
    as_list,
    as_mapping,
    check_file,
    first_findings,
    no_such,
)
from penstock.model.topology import DEFAULT_STREAM, Component, Grouping, Kind, Stream, Topology

ACK_STREAM = "__ack"
#: An ack is a 64-bit id and a 64-bit checksum.
ACK_BYTES = 16.0


class RequestsFields(Strict):
    """What one instance asks for, as production topologies declare it."""

    cpu_points: NotNegative | None = Field(None, description="CPU points per instance.")
    memory_mb: NotNegative | None = Field(None, description="Memory per instance, all of it.")
    offheap_mb: NotNegative = Field(0.0, description="The part of memory_mb outside the heap.")
    resources: Amounts = Field(
        default_factory=dict,
        description="Other resources per instance, by the names that the cluster uses: gpu: 1.",
    )


_NO_REQUESTS = RequestsFields(cpu_points=None, memory_mb=None, offheap_mb=0.0)


class StreamFields(Strict):
    to: str = Field(description="Name of the component that subscribes.")
    name: Name = Field(DEFAULT_STREAM, description="The stream's name; default as in Storm.")
    grouping: Annotated[Grouping, Field(strict=False)] = Field(
        Grouping.SHUFFLE, description="How tuples are divided among the subscriber's instances."
    )
    selectivity: NotNegative | None = Field(
        None, description="Tuples put on this stream per tuple taken in; else the component's."
    )
    tuple_bytes: NotNegative = Field(0.0, description="Mean size of a tuple on the wire.")
    keys: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        0, description="Fields grouping: number of distinct keys; 0 is very many."
    )
    key_skew: Annotated[float, Field(ge=0, le=10)] = Field(
        0.0, description="Fields grouping: Zipf exponent of the keys; 0 is all alike."
    )
    fields: list[str] = Field(default_factory=list, description="Fields grouped by.")


class ComponentFields(Strict):
    kind: Annotated[Kind, Field(strict=False)] = Field(
        Kind.BOLT, description="spout, bolt, or acker (fed by every other component)."
    )
    profile: str = Field("", description="Row of the profile with its costs; default its name.")
    instances: Count | None = Field(None, description="Instance count asked for.")
    max_instances: Count | None = Field(None, description="Most instances it may have.")
    tasks: Count | None = Field(None, description="Storm: tasks, dealt to instances in ranges.")
    threads: Positive = Field(1.0, description="Cores one instance can keep busy.")
    share: NotNegative = Field(1.0, description="Spouts: part of the input, relative to others.")
    requests: RequestsFields | None = Field(None, description="What an instance asks for.")
    selectivity: NotNegative = Field(1.0, description="Tuples out per tuple in (see fanout).")
    fanout: Literal["copy", "split"] | None = Field(
        None, description="copy: selectivity on each stream; split: divided among the streams."
    )
    streams: list[StreamFields] = Field(default_factory=list)


class TopologyFile(FileModel):
    """A topology: a graph of components."""

    format: Literal["penstock/topology"]
    version: Version[Literal[1]]
    name: Name
    description: str = ""
    workers: Count | None = Field(None, description="Worker processes asked for.")
    priority: Annotated[int, Field(ge=0)] = Field(0, description="0 is served first.")
    demand_per_s: Positive | None = Field(None, description="Tuples/s it must carry.")
    worker_max_heap_mb: Positive | None = Field(None, description="Most heap of one worker.")
    topology_version: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] | None = Field(
        None, description="Storm's topology.version; a plan holds for this one only."
    )
    bound_by: Literal["cpu", "memory", "network"] | None = Field(
        None, description="What limits it, for the scheduler ban."
    )
    fanout: Literal["copy", "split"] = Field("copy", description="Default of the components'.")
    components: Annotated[dict[Name, ComponentFields], Field(min_length=1)]


def topology_from(document: ParsedFile) -> Topology:
    """The topology in a document, or an error with everything that is wrong with it."""
    document, file, findings = check_file(document, TopologyFile)
    if len(findings) < MANY_FINDINGS:
        findings += first_findings(document, _reference_findings(document))
    if file is None or findings:
        raise InputError(*findings)
    streams = [
        _stream(name, fields, stream, fields.fanout or file.fanout)
        for name, fields in file.components.items()
        for stream in fields.streams
    ]
    return Topology(
        name=file.name,
        components=tuple(_component(name, f) for name, f in file.components.items()),
        streams=(*streams, *_ack_streams(file, {stream.target for stream in streams})),
        workers=file.workers,
        priority=file.priority,
        demand_per_s=file.demand_per_s,
        worker_max_heap_mb=file.worker_max_heap_mb,
        version=file.topology_version,
        bound_by=file.bound_by,
    )


def _reference_findings(document: ParsedFile) -> Iterator[Finding]:
    """What the shape alone cannot tell; runs on files whose shape is broken, too."""
    components = as_mapping(as_mapping(document.value).get("components"))
    for name, fields in components.items():
        at = ("components", name)
        streams = as_list(as_mapping(fields).get("streams"))
        for i, stream in enumerate(streams):
            target = as_mapping(stream).get("to")
            place = (*at, "streams", i, "to")
            if isinstance(target, str) and target not in components:
                yield document.finding(place, no_such("component", target, components))
            if as_mapping(stream).get("key_skew") and not as_mapping(stream).get("keys"):
                message = "needs keys, the number of distinct keys"
                yield document.finding((*at, "streams", i, "key_skew"), message)
        yield from _count_findings(document, name, as_mapping(fields))
    kinds = [as_mapping(fields).get("kind") for fields in components.values()]
    if components and Kind.SPOUT not in kinds:
        message = "no component is a spout; give the source kind: spout"
        yield document.finding(("components",), message)
    spouts = [f for f in components.values() if as_mapping(f).get("kind") == Kind.SPOUT]
    if spouts and all(as_mapping(f).get("share") == 0 for f in spouts):
        message = "every spout has share 0; one must bring the input"
        yield document.finding(("components",), message)


def _count_findings(document: ParsedFile, name: str, fields: dict[str, object]) -> list[Finding]:
    instances = fields.get("instances")
    findings = []
    for limit in ("max_instances", "tasks"):
        most = fields.get(limit)
        if isinstance(instances, int) and isinstance(most, int) and instances > most:
            message = f"{shown(instances)} is more than {limit} {shown(most)}"
            findings.append(document.finding(("components", name, "instances"), message))
    requests = as_mapping(fields.get("requests"))
    memory, offheap = requests.get("memory_mb"), requests.get("offheap_mb")
    if isinstance(memory, (int, float)) and isinstance(offheap, (int, float)) and offheap > memory:
        place = ("components", name, "requests", "offheap_mb")
        message = f"{shown(offheap)} is more than memory_mb {shown(memory)}"
        findings.append(document.finding(place, message))
    return findings


def _component(name: str, fields: ComponentFields) -> Component:
    requests = fields.requests or _NO_REQUESTS
    return Component(
        name=name,
        kind=fields.kind,
        profile=fields.profile,
        instances=fields.instances,
        max_instances=fields.max_instances,
        tasks=fields.tasks,
        threads=fields.threads,
        share=fields.share,
        cpu_points=requests.cpu_points,
        memory_mb=requests.memory_mb,
        offheap_mb=requests.offheap_mb,
        resources=tuple(sorted(requests.resources.items())),
    )


def _stream(source: str, fields: ComponentFields, stream: StreamFields, fanout: str) -> Stream:
    selectivity = stream.selectivity
    if selectivity is None:
        # Nasiri's simulator divides a component's output by its number of successors.
        successors = len({other.to for other in fields.streams})
        selectivity = fields.selectivity / (successors if fanout == "split" else 1)
    return Stream(
        source=source,
        target=stream.to,
        name=stream.name,
        grouping=stream.grouping,
        selectivity=selectivity,
        tuple_bytes=stream.tuple_bytes,
        keys=stream.keys,
        key_skew=stream.key_skew,
        fields=tuple(stream.fields),
    )


def _ack_streams(file: TopologyFile, targets: set[str]) -> list[Stream]:
    """Storm tells an acker of every tuple that a spout makes or a bolt handles."""
    ackers = [n for n, f in file.components.items() if f.kind is Kind.ACKER and n not in targets]
    others = [n for n, f in file.components.items() if f.kind is not Kind.ACKER]
    return [
        Stream(other, acker, ACK_STREAM, selectivity=1.0 / len(ackers), tuple_bytes=ACK_BYTES)
        for acker in ackers
        for other in others
    ]


def topology_to_dict(topology: Topology) -> dict[str, object]:
    """The topology as its file says it; what equals the default is left out."""
    leaving: dict[str, list[dict[str, object]]] = {c.name: [] for c in topology.components}
    for stream in topology.streams:
        leaving[stream.source].append(_stream_dict(stream))
    components = {
        c.name: _component_dict(c) | ({"streams": leaving[c.name]} if leaving[c.name] else {})
        for c in topology.components
    }
    head: dict[str, object] = {**TopologyFile.FORMAT.head, "name": topology.name}
    optional = {
        "workers": topology.workers,
        "priority": topology.priority or None,
        "demand_per_s": topology.demand_per_s,
        "worker_max_heap_mb": topology.worker_max_heap_mb,
        "topology_version": topology.version,
        "bound_by": topology.bound_by,
    }
    return head | given(optional) | {"components": components}


def _component_dict(component: Component) -> dict[str, object]:
    default = Component(component.name)
    requests = given(
        {
            "cpu_points": component.cpu_points,
            "memory_mb": component.memory_mb,
            "offheap_mb": component.offheap_mb or None,
            "resources": dict(component.resources) or None,
        }
    )
    return given(
        {
            "kind": component.kind.value if component.kind is not default.kind else None,
            "profile": component.profile or None,
            "instances": component.instances,
            "max_instances": component.max_instances,
            "tasks": component.tasks,
            "threads": component.threads if component.threads != default.threads else None,
            "share": component.share if component.share != default.share else None,
            "requests": requests or None,
        }
    )


def _stream_dict(stream: Stream) -> dict[str, object]:
    return {"to": stream.target} | given(
        {
            "name": stream.name if stream.name != DEFAULT_STREAM else None,
            "grouping": stream.grouping.value,
            "selectivity": stream.selectivity,
            "tuple_bytes": stream.tuple_bytes or None,
            "keys": stream.keys or None,
            "key_skew": stream.key_skew or None,
            "fields": list(stream.fields) or None,
        }
    )


def given(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value is not None}

"""Storm Flux topologies (YAML) to ours: structure, parallelism, groupings and requests.

Flux says nothing of rates: every selectivity is 1 until a profile replaces it. Java classes and
their arguments are not looked at. Properties ``${name}`` and includes are followed as Flux does,
and the environment (``${ENV-NAME}``) only where the user says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from penstock.errors import Finding, InputError, shown
from penstock.files.document import ParsedFile, document_of, read_document
from penstock.files.schema import (
    Count,
    Name,
    NotNegative,
    Positive,
    as_list,
    as_mapping,
    check,
    first_findings,
    no_such,
)
from penstock.files.storm_resources import generic_resources
from penstock.files.topology_file import topology_from, topology_to_dict
from penstock.files.yaml_reader import plain_scalar
from penstock.model.topology import DEFAULT_STREAM, Component, Grouping, Kind, Stream, Topology

_PROPERTY = re.compile(r"\$\{([^}]+)\}")
#: How the name of a variable of the environment begins.
_ENV = "ENV-"
_MOST_INCLUDES = 20
_GROUPINGS = {
    "SHUFFLE": Grouping.SHUFFLE,
    "NONE": Grouping.SHUFFLE,
    "FIELDS": Grouping.FIELDS,
    "ALL": Grouping.ALL,
    "GLOBAL": Grouping.GLOBAL,
    "DIRECT": Grouping.DIRECT,
    "LOCAL_OR_SHUFFLE": Grouping.LOCAL_OR_SHUFFLE,
    "CUSTOM": Grouping.CUSTOM,
}


class _Lenient(BaseModel):
    """Flux files hold much that is not our business; what is ours is still checked strictly."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


def _as_written(value: object) -> object:
    """Flux puts properties into the text before it is read: ``${n}`` may become a number."""
    return plain_scalar(value) if isinstance(value, str) else value


_Count = Annotated[Count, BeforeValidator(_as_written)]
_Load = Annotated[NotNegative, BeforeValidator(_as_written)]


class _FluxComponent(_Lenient):
    id: Name
    parallelism: _Count = 1
    numTasks: _Count | None = None  # noqa: N815 - Flux's own name
    onHeapMemoryLoad: _Load | None = None  # noqa: N815
    offHeapMemoryLoad: _Load | None = None  # noqa: N815
    cpuLoad: _Load | None = None  # noqa: N815


class _FluxGrouping(_Lenient):
    type: str = "SHUFFLE"
    streamId: Name | None = None  # noqa: N815
    args: list[Any] | None = None


class _FluxStream(_Lenient):
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    grouping: _FluxGrouping | None = None


class _FluxConfig(_Lenient):
    """The settings of Storm that say how much a topology needs."""

    workers: _Count | None = Field(None, alias="topology.workers")
    priority: Annotated[int, Field(ge=0), BeforeValidator(_as_written)] | None = Field(
        None, alias="topology.priority"
    )
    worker_max_heap_mb: Annotated[Positive, BeforeValidator(_as_written)] | None = Field(
        None, alias="topology.worker.max.heap.size.mb"
    )
    onheap_mb: _Load | None = Field(None, alias="topology.component.resources.onheap.memory.mb")
    offheap_mb: _Load | None = Field(None, alias="topology.component.resources.offheap.memory.mb")
    cpu_points: _Load | None = Field(None, alias="topology.component.cpu.pcore.percent")
    resources: dict[Name, _Load] | None = Field(None, alias="topology.component.resources.map")


_NO_CONFIG = _FluxConfig.model_validate({})


class _FluxFile(_Lenient):
    name: Name
    config: _FluxConfig | None = None
    spouts: list[_FluxComponent] | None = None
    bolts: list[_FluxComponent] | None = None
    streams: list[_FluxStream] | None = None


def is_flux(value: Mapping[str, object]) -> bool:
    """Whether a document looks like Flux: it has Flux's lists and no format of ours."""
    return "format" not in value and bool(
        {"spouts", "bolts", "includes", "topologySource"} & set(value)
    )


def topology_from_flux(
    document: ParsedFile,
    properties: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Topology:
    """The topology a Flux file describes, or an error with everything that is in the way.

    ``${ENV-NAME}`` is looked up in ``environ``, which a user hands over (Flux: ``--env-filter``):
    a file of somebody else's does not get to read the environment by itself.
    """
    value = _substituted(_with_includes(document, (), []), properties or {}, environ or {})
    document = ParsedFile(document.name, value, document._positions)
    if as_mapping(value).get("topologySource") is not None:
        message = "is built by Java code, which only Storm can run; import it from a live cluster"
        raise InputError(document.finding(("topologySource",), message))
    file, findings = check(document, _FluxFile)
    findings += first_findings(document, _reference_findings(document))
    if file is None or findings:
        raise InputError(*findings)
    topology = _topology(file)
    # What our own file may not say is refused here, and not first when it is read again.
    topology_from(document_of(topology_to_dict(topology), document.name))
    return topology


def _topology(file: _FluxFile) -> Topology:
    config = file.config or _NO_CONFIG
    spouts, bolts = file.spouts or [], file.bolts or []
    return Topology(
        name=file.name,
        components=tuple(
            _component(c, kind, config)
            for kind, group in ((Kind.SPOUT, spouts), (Kind.BOLT, bolts))
            for c in group
        ),
        streams=tuple(_stream(stream) for stream in file.streams or []),
        workers=config.workers,
        priority=config.priority or 0,
        worker_max_heap_mb=config.worker_max_heap_mb,
    )


def _with_includes(document: ParsedFile, chain: tuple[str, ...], read: list[str]) -> dict[str, Any]:
    """The file with its includes merged in; what it says itself wins unless ``override``.

    ``chain`` is the files that lead here, ``read`` all those read so far.
    """
    value = dict(as_mapping(document.value))
    for i, include in enumerate(as_list(value.pop("includes", None))):
        fields = as_mapping(include)
        place = ("includes", i, "file")
        path = _included_path(Path(document.name), str(fields.get("file", "")))
        if path is None:
            message = f"{shown(fields.get('file'))} is not beside this file; copy it there"
            raise InputError(document.finding(place, message))
        key = str(path.resolve())
        if key in chain or len(read) >= _MOST_INCLUDES:
            raise InputError(document.finding(place, "includes itself, or too many others"))
        read.append(key)
        included = _with_includes(read_document(path), (*chain, key), read)
        value = _merged(value, included, override=fields.get("override") is True)
    return value


def _included_path(including: Path, name: str) -> Path | None:
    """Resources live in the user's jar; the best we can do is a file of that name beside us."""
    relative = name.lstrip("/")
    if not relative or ".." in Path(relative).parts:
        return None
    candidates = (including.parent / relative, including.parent / Path(relative).name)
    return next((path for path in candidates if path.is_file()), None)


def _merged(own: dict[str, Any], other: dict[str, Any], *, override: bool) -> dict[str, Any]:
    result = dict(own)
    for key, value in other.items():
        mine = result.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            result[key] = mine | value if override else value | mine
        elif isinstance(mine, list) and isinstance(value, list):
            ids = {str(as_mapping(item).get("id")) for item in mine} - {"None"}
            result[key] = mine + [v for v in value if str(as_mapping(v).get("id")) not in ids]
        elif mine is None or override:
            result[key] = value
    return result


def _substituted(value: Any, properties: Mapping[str, str], environ: Mapping[str, str]) -> Any:
    """Flux's ``${name}`` and ``${ENV-NAME}``; unknown ones stay and are found where they matter."""
    if isinstance(value, dict):
        return {k: _substituted(v, properties, environ) for k, v in value.items()}
    if isinstance(value, list):
        return [_substituted(v, properties, environ) for v in value]
    if not isinstance(value, str):
        return value

    def value_of(match: re.Match[str]) -> str:
        name = match.group(1)
        if name.startswith(_ENV):
            return environ.get(name.removeprefix(_ENV), match.group())
        return properties.get(name, match.group())

    return _PROPERTY.sub(value_of, value)


def _reference_findings(document: ParsedFile) -> Iterator[Finding]:
    top = as_mapping(document.value)
    ids: dict[str, int] = {}
    for group in ("spouts", "bolts"):
        for i, item in enumerate(as_list(top.get(group))):
            name = as_mapping(item).get("id")
            if isinstance(name, str):
                if name in ids:
                    yield document.finding((group, i, "id"), f"{shown(name)} is used twice")
                ids[name] = i
    if not as_list(top.get("spouts")):
        yield document.finding(("spouts",), "there is no spout")
    for i, item in enumerate(as_list(top.get("streams"))):
        stream = as_mapping(item)
        for end in ("from", "to"):
            name = stream.get(end)
            if isinstance(name, str) and name not in ids:
                message = no_such("spout or bolt", name, ids)
                yield document.finding(("streams", i, end), message)
        grouping = as_mapping(stream.get("grouping")).get("type", "SHUFFLE")
        if isinstance(grouping, str) and grouping.upper() not in _GROUPINGS:
            message = no_such("grouping", grouping, _GROUPINGS)
            yield document.finding(("streams", i, "grouping", "type"), message)
    name = top.get("name")
    if isinstance(name, str) and (match := _PROPERTY.search(name)):
        yield document.finding(("name",), _no_value(match.group(1)))


def _no_value(name: str) -> str:
    if variable := name.removeprefix(_ENV) if name.startswith(_ENV) else "":
        return (
            f"{name} has no value: the environment is read with penstock import flux --env-filter "
            f"only, and must have {variable}"
        )
    return f"property {name} has no value; penstock import flux --property {name}=VALUE"


def _component(fields: _FluxComponent, kind: Kind, config: _FluxConfig) -> Component:
    onheap = config.onheap_mb if fields.onHeapMemoryLoad is None else fields.onHeapMemoryLoad
    offheap = config.offheap_mb if fields.offHeapMemoryLoad is None else fields.offHeapMemoryLoad
    known = onheap is not None or offheap is not None
    return Component(
        name=fields.id,
        kind=kind,
        # Storm gives a component no more executors than it has tasks.
        instances=min(fields.parallelism, fields.numTasks or fields.parallelism),
        tasks=fields.numTasks,
        cpu_points=config.cpu_points if fields.cpuLoad is None else fields.cpuLoad,
        memory_mb=(onheap or 0.0) + (offheap or 0.0) if known else None,
        offheap_mb=offheap or 0.0,
        resources=generic_resources(config.resources),
    )


def _stream(fields: _FluxStream) -> Stream:
    grouping = fields.grouping or _FluxGrouping()
    kind = _GROUPINGS[grouping.type.upper()]
    return Stream(
        source=fields.source,
        target=fields.target,
        name=grouping.streamId or DEFAULT_STREAM,
        grouping=kind,
        fields=tuple(str(a) for a in grouping.args or ()) if kind is Grouping.FIELDS else (),
    )

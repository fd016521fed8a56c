"""The cluster format: machine types, groups of machines, and the network between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import Finding, InputError, shown
from penstock.files.document import ParsedFile
from penstock.files.schema import (
    MANY_FINDINGS,
    Amounts,
    Count,
    FileModel,
    Fraction,
    Name,
    NotNegative,
    Positive,
    ResourceName,
    Strict,
    Version,
    as_list,
    as_mapping,
    check_file,
    first_findings,
    no_such,
)
from penstock.files.topology_file import given
from penstock.model.cluster import DEFAULT_SLOTS, Cluster, Hop, Link, Machine, MachineType, Network
from penstock.model.resources import ResourceKind

MOST_MACHINES = 100_000
_DEFAULTS = Machine("", "")


class TypeFields(Strict):
    """What machines of a type have in common."""

    cpu_points: Positive = Field(100.0, description="CPU capacity: 100 per machine or per core.")
    core_points: Positive | None = Field(
        None, description="Most that one thread can use; all if absent."
    )
    speed: Positive | None = Field(
        None,
        description="Speed of one core; 1 = as where costs were measured (`--estimate-from`).",
    )
    memory_mb: Positive | None = None
    slots: Annotated[int, Field(ge=1, le=10_000)] = Field(
        DEFAULT_SLOTS, description="Worker processes it can hold."
    )
    nic_mbps: Positive | None = Field(None, description="Network card, each direction.")
    base_cpu_points: NotNegative = Field(0.0, description="What the machine itself uses.")
    worker_cpu_points: NotNegative = Field(0.0, description="What each worker process uses.")
    worker_memory_mb: NotNegative = 0.0
    idle_watts: NotNegative | None = None
    full_watts: NotNegative | None = None
    price_per_hour: NotNegative | None = None
    sockets: Count | None = None
    cores: Count | None = Field(None, description="Cores of one socket.")
    ghz: Positive | None = None
    flops_per_cycle: Positive | None = Field(
        None, description="Floating-point operations of one core per cycle."
    )
    ram_mb: Positive | None = Field(
        None, description="Memory built in, where the engine offers less (`memory_mb`)."
    )
    fingerprint: Amounts = Field(
        default_factory=dict,
        description="Work per second of CPU, by kind (`penstock calibrate --fingerprint`).",
    )
    variant_of: Name | None = Field(
        None, description="Type as the engine knows it: these are slow, or others use them too."
    )
    resources: Amounts = Field(
        default_factory=dict,
        description="Other resources of a machine, by name: gpu: 4. It has none of others.",
    )


class ResourceFields(Strict):
    """What is to be known of a resource; one that is only counted and hard needs no entry."""

    unit: str = Field("", description="Shown after amounts.")
    soft: bool = Field(
        False, description="No plan is refused for it; rstorm weighs it all the same."
    )


class MachineGroup(Strict):
    """Machines of one type in one rack: a count, or their names."""

    type: str
    count: Annotated[int, Field(ge=0, le=MOST_MACHINES)] | None = None
    name: Name | None = Field(None, description="Prefix of the names, or the name of the one.")
    names: list[Name] | None = None
    hosts: list[str] | None = Field(None, description="What the engine calls them, if different.")
    rack: Name = _DEFAULTS.rack
    region: Name = _DEFAULTS.region


class LinkFields(Strict):
    latency_ms: NotNegative = 0.0
    bandwidth_mbps: Positive | None = None


class RegionLinkFields(LinkFields):
    between: Annotated[list[Name], Field(min_length=2, max_length=2)]


class NetworkFields(Strict):
    """A link per hop class, and pairs of regions that differ from other_region."""

    same_process: LinkFields = Field(default_factory=LinkFields)
    same_machine: LinkFields = Field(default_factory=LinkFields)
    same_rack: LinkFields = Field(default_factory=LinkFields)
    other_rack: LinkFields = Field(default_factory=LinkFields)
    other_region: LinkFields = Field(default_factory=LinkFields)
    regions: list[RegionLinkFields] = Field(default_factory=list)


class ClusterFile(FileModel):
    """A cluster of machines of a few types."""

    format: Literal["penstock/cluster"]
    version: Version[Literal[1]]
    name: Name
    description: str = ""
    headroom: Fraction = Field(
        0.0, description="Fraction of each machine's and thread's CPU kept free."
    )
    worker_min_cpu_points: NotNegative = Field(
        0.0, description="Requests mode: the least CPU that a worker counts for."
    )
    types: Annotated[dict[Name, TypeFields], Field(min_length=1)]
    machines: Annotated[list[MachineGroup], Field(min_length=1)]
    network: NetworkFields = Field(default_factory=NetworkFields)
    resources: dict[ResourceName, ResourceFields] = Field(
        default_factory=dict,
        description="Units of resources beside CPU and memory, and which are soft.",
    )


def cluster_from(document: ParsedFile) -> Cluster:
    """The cluster in a document, or an error with everything that is wrong with it."""
    document, file, findings = check_file(document, ClusterFile)
    if len(findings) < MANY_FINDINGS:
        findings += first_findings(document, _reference_findings(document))
    if file is None or findings:
        raise InputError(*findings)
    # Counted before they are made: a few groups can stand for more than the memory holds.
    findings = _number_findings(document, file.machines)
    if findings:
        raise InputError(*findings)
    machines = _machines(file.machines)
    findings = _name_findings(document, machines)
    if findings:
        raise InputError(*findings)
    return Cluster(
        name=file.name,
        types=tuple(_machine_type(name, fields) for name, fields in file.types.items()),
        machines=tuple(machines),
        network=_network(file.network),
        headroom=file.headroom,
        worker_min_cpu_points=file.worker_min_cpu_points,
        resources=tuple(
            ResourceKind(name, fields.unit, fields.soft)
            for name, fields in sorted(file.resources.items())
        ),
    )


def _machine_type(name: str, fields: TypeFields) -> MachineType:
    amounts = {"resources": fields.resources, "fingerprint": fields.fingerprint}
    by_name = {key: tuple(sorted(values.items())) for key, values in amounts.items()}
    return MachineType(name, **(fields.model_dump() | by_name))


def _reference_findings(document: ParsedFile) -> Iterator[Finding]:
    top = as_mapping(document.value)
    types = as_mapping(top.get("types"))
    for i, group in enumerate(as_list(top.get("machines"))):
        fields = as_mapping(group)
        kind = fields.get("type")
        if isinstance(kind, str) and kind not in types:
            message = no_such("machine type", kind, types)
            yield document.finding(("machines", i, "type"), message)
        yield from _naming_findings(document, i, fields)
    for name, fields in types.items():
        yield from _type_findings(document, name, as_mapping(fields))
    groups = map(as_mapping, as_list(top.get("machines")))
    regions = sorted({str(group.get("region", _DEFAULTS.region)) for group in groups})
    network = as_mapping(top.get("network"))
    for i, link in enumerate(as_list(network.get("regions"))):
        for j, region in enumerate(as_list(as_mapping(link).get("between"))):
            if isinstance(region, str) and region not in regions:
                message = no_such("region", region, regions)
                place = ("network", "regions", i, "between", j)
                yield document.finding(place, message)


def _naming_findings(document: ParsedFile, i: int, fields: dict[str, object]) -> list[Finding]:
    names, count, hosts = fields.get("names"), fields.get("count"), fields.get("hosts")
    at = ("machines", i)
    if isinstance(names, list):
        if count is not None or fields.get("name") is not None:
            return [document.finding((*at, "names"), "cannot be combined with count or name")]
        count = len(names)
    elif count is None and fields.get("name") is None:
        return [document.finding(at, "needs count, name or names")]
    if isinstance(hosts, list) and len(hosts) != (1 if count is None else count):
        return [document.finding((*at, "hosts"), f"{len(hosts)} hosts for {count or 1} machines")]
    return []


def _type_findings(document: ParsedFile, name: str, fields: dict[str, object]) -> list[Finding]:
    findings = []
    at = ("types", name)
    idle, full = fields.get("idle_watts"), fields.get("full_watts")
    if isinstance(idle, (int, float)) and isinstance(full, (int, float)) and idle > full:
        message = f"{shown(idle)} is more than full_watts {shown(full)}"
        findings.append(document.finding((*at, "idle_watts"), message))
    cpu, core = fields.get("cpu_points", 100.0), fields.get("core_points")
    if isinstance(cpu, (int, float)) and isinstance(core, (int, float)) and core > cpu:
        message = f"{shown(core)} is more than cpu_points {shown(cpu)} of the whole machine"
        findings.append(document.finding((*at, "core_points"), message))
    return findings


def _number_findings(document: ParsedFile, groups: list[MachineGroup]) -> list[Finding]:
    number = sum(_size(group) for group in groups)
    if not number:
        return [document.finding(("machines",), "every group has count 0; there is no machine")]
    if number > MOST_MACHINES:
        message = f"{number:,} machines; at most {MOST_MACHINES:,} are handled"
        return [document.finding(("machines",), message)]
    return []


def _size(group: MachineGroup) -> int:
    if group.names is not None:
        return len(group.names)
    return 1 if group.count is None else group.count


def _name_findings(document: ParsedFile, machines: list[Machine]) -> list[Finding]:
    twice = [name for name, times in Counter(m.name for m in machines).items() if times > 1]
    return [
        document.finding(("machines",), f'two machines are named "{name}"; rename one group')
        for name in twice[:20]
    ]


def _machines(groups: list[MachineGroup]) -> list[Machine]:
    """Machines of a counted group are numbered, on through all groups with the same prefix."""
    totals: Counter[str] = Counter()
    for group in groups:
        if group.names is None and group.count is not None:
            totals[group.name or group.type] += group.count
    used: Counter[str] = Counter()
    machines = []
    for group in groups:
        prefix = group.name or group.type
        if group.names is not None:
            names = group.names
        elif group.count is None:
            names = [prefix]
        else:
            width = len(str(totals[prefix]))
            first = used[prefix] + 1
            names = [f"{prefix}-{n:0{width}d}" for n in range(first, first + group.count)]
            used[prefix] += group.count
        hosts = group.hosts or [""] * len(names)
        machines += [
            Machine(name, group.type, group.rack, group.region, host)
            for name, host in zip(names, hosts, strict=True)
        ]
    return machines


def _network(fields: NetworkFields) -> Network:
    def link(given: LinkFields) -> Link:
        return Link(given.latency_ms, given.bandwidth_mbps)

    return Network(
        links=(
            link(fields.same_process),
            link(fields.same_machine),
            link(fields.same_rack),
            link(fields.other_rack),
            link(fields.other_region),
        ),
        between_regions=tuple((r.between[0], r.between[1], link(r)) for r in fields.regions),
    )


def cluster_to_dict(cluster: Cluster) -> dict[str, object]:
    """The cluster as its file says it; what equals the default is left out."""
    head: dict[str, object] = {**ClusterFile.FORMAT.head, "name": cluster.name}
    optional = {
        "headroom": cluster.headroom or None,
        "worker_min_cpu_points": cluster.worker_min_cpu_points or None,
    }
    body: dict[str, object] = {
        "types": {t.name: _type_dict(t) for t in cluster.types},
        "machines": [
            _group_dict(list(group))
            for _, group in groupby(
                cluster.machines, key=lambda m: (m.type, m.rack, m.region, bool(m.host))
            )
        ],
    }
    last: dict[str, object] = {
        "network": _network_dict(cluster.network),
        "resources": {kind.name: _resource_dict(kind) for kind in cluster.resources},
    }
    return head | given(optional) | body | {key: value for key, value in last.items() if value}


def _resource_dict(kind: ResourceKind) -> dict[str, object]:
    return given({"unit": kind.unit or None, "soft": kind.soft or None})


def _type_dict(kind: MachineType) -> dict[str, object]:
    default = asdict(MachineType(""))
    fields = asdict(kind)
    del fields["name"]
    for amounts in ("resources", "fingerprint"):
        fields[amounts] = dict(fields[amounts]) or default[amounts]
    always = ("cpu_points", "slots")
    return {k: v for k, v in fields.items() if k in always or v != default[k]}


def _group_dict(machines: list[Machine]) -> dict[str, object]:
    first = machines[0]
    return {"type": first.type} | given(
        {
            "names": [m.name for m in machines],
            "hosts": [m.host for m in machines] if first.host else None,
            "rack": first.rack if first.rack != _DEFAULTS.rack else None,
            "region": first.region if first.region != _DEFAULTS.region else None,
        }
    )


def _network_dict(network: Network) -> dict[str, object]:
    def link(value: Link) -> dict[str, object]:
        return given(
            {"latency_ms": value.latency_ms or None, "bandwidth_mbps": value.bandwidth_mbps}
        )

    links = {hop.name.lower(): link(network.links[hop]) for hop in Hop if link(network.links[hop])}
    regions = [{"between": [a, b]} | link(value) for a, b, value in network.between_regions]
    return links | ({"regions": regions} if regions else {})

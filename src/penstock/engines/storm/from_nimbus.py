"""What Nimbus tells, through the bridge."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from penstock.engines.storm.bridge import Bridge, BridgeError
from penstock.engines.storm.records import (
    EVEN_SHUFFLE,
    ClusterRecord,
    ComponentRecord,
    ExecutorRecord,
    InputRecord,
    SupervisorRecord,
    TopologyRecord,
)
from penstock.files.storm_metadata import metadata_of
from penstock.files.storm_resources import COMPONENT_MAP, generic_resources

_CPU, _MEMORY = "cpu.pcore.percent", "memory.mb"
_DEFAULTS = {
    "cpu_points": "topology.component.cpu.pcore.percent",
    "onheap_mb": "topology.component.resources.onheap.memory.mb",
    "offheap_mb": "topology.component.resources.offheap.memory.mb",
}


#: Why one topology may not be readable while all others are: somebody else's, or just killed.
_OF_ONE_TOPOLOGY = ("not-allowed", "no-such-topology")


def read_nimbus(bridge: Bridge, only: Container[str] | None = None) -> ClusterRecord:
    """The cluster as Nimbus knows it; names and types of machines are in ZooKeeper.

    ``only`` names the topologies to ask for; the others are as if they were not there.
    """
    cluster = bridge.ask("cluster")
    meta, notes = _metadata(bridge)
    hosts = [s["host"] for s in cluster["supervisors"]]
    # Just after a change Nimbus knows a worker's host before its supervisor.
    alone = {s["host"]: s["id"] for s in cluster["supervisors"] if hosts.count(s["host"]) == 1}
    topologies, unreadable = [], {}
    for summary in cluster["topologies"]:
        if only is not None and summary["name"] not in only:
            continue
        try:
            topologies.append(_topology(bridge, summary, alone))
        except BridgeError as error:
            if error.kind not in _OF_ONE_TOPOLOGY:
                raise
            unreadable[summary["name"]] = str(error)
    return ClusterRecord(
        source="Nimbus",
        machines=tuple(_machine(s, meta.get(s["id"], {})) for s in cluster["supervisors"]),
        topologies=tuple(topologies),
        settings={key: str(value) for key, value in cluster["settings"].items()},
        unreadable=unreadable,
        notes=notes,
    )


def _metadata(bridge: Bridge) -> tuple[dict[str, Mapping[str, Any]], tuple[str, ...]]:
    """What supervisors say of themselves; a secured ZooKeeper answers daemons only."""
    try:
        answer = bridge.ask("machines")
    except BridgeError as error:
        note = (
            f"ZooKeeper was not read ({error}): machines are called by their hosts, their types "
            "must come from --types, and their racks, regions and hardware are not known"
        )
        return {}, (note,)
    return {key: entry.get("meta") or {} for key, entry in answer.items()}, ()


def _machine(answer: Mapping[str, Any], meta: Mapping[str, Any]) -> SupervisorRecord:
    resources = answer["resources"]
    return SupervisorRecord(
        id=answer["id"],
        host=answer["host"],
        slots=answer["slots"],
        cpu_points=float(resources.get(_CPU, 100.0)),
        memory_mb=float(resources.get(_MEMORY, 1024.0)),
        blacklisted=bool(answer["blacklisted"]),
        resources=generic_resources(resources),
        metadata=metadata_of(meta),
    )


def _topology(
    bridge: Bridge, summary: Mapping[str, Any], supervisors: Mapping[str, str]
) -> TopologyRecord:
    answer = bridge.ask("topology", topology=summary["id"])
    where = bridge.ask("assignments", topology=summary["id"])
    counts = {
        (e["component"], e["first_task"]): e
        for e in bridge.ask("statistics", topology=summary["id"])["executors"]
    }
    components = tuple(_component(n, c, answer) for n, c in sorted(answer["components"].items()))
    executors = tuple(
        _executor(e, counts.get((e["component"], e["first_task"]), {}), supervisors)
        for e in where["executors"]
    )
    version = summary.get("topology_version") or answer.get("topology.version")
    return TopologyRecord(
        name=summary["name"],
        id=summary["id"],
        status=summary["status"],
        scheduler_info=summary.get("scheduler_info") or "",
        version=None if version is None else str(version),
        workers=answer.get("topology.workers"),
        priority=answer.get("topology.priority"),
        components=components,
        executors=executors,
        shuffles_near=answer.get(EVEN_SHUFFLE) is False,
    )


def _component(
    name: str, answer: Mapping[str, Any], topology: Mapping[str, Any]
) -> ComponentRecord:
    asked = {
        key: answer[key] if answer.get(key) is not None else topology.get(default)
        for key, default in _DEFAULTS.items()
    }
    offheap = float(asked["offheap_mb"] or 0.0)
    onheap = asked["onheap_mb"]
    return ComponentRecord(
        name=name,
        is_spout=answer["kind"] == "spout",
        tasks=answer.get("tasks") or None,
        cpu_points=None if asked["cpu_points"] is None else float(asked["cpu_points"]),
        memory_mb=None if onheap is None else float(onheap) + offheap,
        offheap_mb=offheap,
        inputs=tuple(
            InputRecord(i["component"], i["stream"], i["grouping"], tuple(i.get("fields", ())))
            for i in sorted(answer["inputs"], key=lambda i: (i["component"], i["stream"]))
        ),
        # A component's own map stands in place of the topology's, as all its settings do.
        resources=generic_resources(answer.get("resources") or topology.get(COMPONENT_MAP)),
    )


def _executor(
    answer: Mapping[str, Any], counts: Mapping[str, Any], supervisors: Mapping[str, str]
) -> ExecutorRecord:
    executed = counts.get("executed")
    return ExecutorRecord(
        component=answer["component"],
        first_task=answer["first_task"],
        last_task=answer["last_task"],
        supervisor=answer.get("supervisor") or supervisors.get(answer["host"], answer["host"]),
        port=answer["port"],
        uptime_s=float(answer["uptime_s"]),
        emitted=counts.get("emitted", {}),
        executed=None
        if executed is None
        else float(sum(e["tuples"] for e in executed if not e["component"].startswith("__"))),
    )

"""What Storm's UI tells, through its REST interface.

It knows no metadata of supervisors, so machine types come from a mapping; and of the groupings of a
topology only the visualization speaks, which names streams and groupings but not the fields.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from penstock.engines.storm.records import (
    EVEN_SHUFFLE,
    ClusterRecord,
    ComponentRecord,
    ExecutorRecord,
    InputRecord,
    SupervisorRecord,
    TopologyRecord,
)
from penstock.errors import PenstockError
from penstock.files.storm_resources import generic_resources, written_amounts

_ANSWERS_WITHIN_S = 20.0
#: Of one answer: the largest, a topology of 100,000 executors, has a tenth.
_MOST_BYTES = 256 * 10**6
_GROUPINGS = {
    "shuffle": "shuffle",
    "none": "shuffle",
    "fields": "fields",
    "all": "all",
    "global": "global",
    "direct": "direct",
    "local_or_shuffle": "local-or-shuffle",
}

_NO_METADATA = (
    "the UI does not tell the metadata of supervisors: their racks, regions and hardware are not "
    "known (--nimbus or --storm-yaml tells them)"
)

#: Takes what stands after ``/api/v1/`` and gives the answer.
Ask = Callable[[str], Any]


class UiError(PenstockError):
    """The UI could not be asked, or its answer is none."""


def ask_ui(url: str) -> Ask:
    """Asks the UI at ``http://host:8080``."""
    base = url.rstrip("/")
    if _scheme(base) not in ("http", "https"):
        raise UiError(f'the UI is at an address such as http://host:8080, not "{url}"')

    def ask(path: str) -> Any:
        address = f"{base}/api/v1/{path}"
        try:
            with urllib.request.urlopen(address, timeout=_ANSWERS_WITHIN_S) as answer:
                data = answer.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise UiError(f"{address} answers with more than {_MOST_BYTES // 10**6} MB")
            return json.loads(data)
        except urllib.error.HTTPError as error:
            raise UiError(f"{address} answers {error.code} {error.reason}") from None
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            said = str(error) or type(error).__name__
            raise UiError(f"{address} does not answer: {said}") from None

    return ask


def _scheme(address: str) -> str:
    try:
        return urllib.parse.urlsplit(address).scheme
    except ValueError:  # a bracket that is not closed
        return ""


def read_ui(ask: Ask, source: str = "the UI") -> ClusterRecord:
    """The cluster as its UI shows it."""
    try:
        return ClusterRecord(
            source=source,
            machines=tuple(_machine(s) for s in ask("supervisor/summary")["supervisors"]),
            topologies=tuple(_topology(ask, t) for t in ask("topology/summary")["topologies"]),
            notes=(_NO_METADATA,),
        )
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UiError(f"{source} does not answer as Storm 2.8 does: {error!r}") from None


def _machine(answer: Mapping[str, Any]) -> SupervisorRecord:
    return SupervisorRecord(
        id=answer["id"],
        host=answer["host"],
        slots=int(answer["slotsTotal"]),
        cpu_points=float(answer["totalCpu"]),
        memory_mb=float(answer["totalMem"]),
        blacklisted=bool(answer.get("blacklisted", False)),
        resources=generic_resources(written_amounts(answer.get("totalGenericResources"))),
    )


def _topology(ask: Ask, summary: Mapping[str, Any]) -> TopologyRecord:
    at = "topology/" + urllib.parse.quote(summary["id"], safe="")
    answer = ask(at)
    supervisors = {(w["host"], w["port"]): w["supervisorId"] for w in answer.get("workers", ())}
    graph = ask(f"{at}/visualization")
    settings = answer.get("configuration", {})
    components, executors = [], []
    for entry in [*answer["spouts"], *answer["bolts"]]:
        name = entry.get("spoutId") or entry["boltId"]
        detail = ask(f"{at}/component/{urllib.parse.quote(name, safe='')}")
        components.append(_component(name, entry, graph.get(name, {})))
        executors += _executors(name, detail, supervisors)
    return TopologyRecord(
        name=answer["name"],
        id=answer["id"],
        status=answer["status"],
        scheduler_info=answer.get("schedulerInfo") or "",
        version=answer.get("topologyVersion"),
        workers=settings.get("topology.workers"),
        priority=settings.get("topology.priority"),
        components=tuple(components),
        executors=tuple(executors),
        shuffles_near=settings.get(EVEN_SHUFFLE) is False,
    )


def _component(name: str, answer: Mapping[str, Any], graph: Mapping[str, Any]) -> ComponentRecord:
    offheap = float(answer.get("requestedMemOffHeap") or 0.0)
    return ComponentRecord(
        name=name,
        is_spout="spoutId" in answer,
        tasks=int(answer["tasks"]),
        cpu_points=float(answer["requestedCpu"]),
        memory_mb=float(answer["requestedMemOnHeap"]) + offheap,
        offheap_mb=offheap,
        inputs=tuple(
            InputRecord(i[":component"], i[":stream"], _GROUPINGS.get(i[":grouping"], "custom"))
            for i in graph.get(":inputs", ())
        ),
        resources=generic_resources(written_amounts(answer.get("requestedGenericResourcesComp"))),
    )


def _executors(
    component: str, answer: Mapping[str, Any], supervisors: Mapping[tuple[str, int], str]
) -> list[ExecutorRecord]:
    entries = answer["executorStats"]
    # The UI counts streams for a component as a whole; its executors get equal parts.
    emitted = {
        s["stream"]: float(s["emitted"] or 0) / max(1, len(entries))
        for s in answer.get("outputStats", ())
    }
    taken = [
        float(s["executed"] or 0)
        for s in answer.get("inputStats", ())
        if not s["component"].startswith("__")
    ]
    executed = sum(taken) / max(1, len(entries)) if "inputStats" in answer else None
    records = []
    for entry in entries:
        first, last = entry["id"].strip("[]").split("-")
        place = (entry["host"], entry["port"])
        records.append(
            ExecutorRecord(
                component=component,
                first_task=int(first),
                last_task=int(last),
                supervisor=supervisors.get(place, entry["host"]),
                port=int(entry["port"]),
                uptime_s=float(entry.get("uptimeSeconds") or 0),
                emitted=emitted,
                executed=executed,
            )
        )
    return records

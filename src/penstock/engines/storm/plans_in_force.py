"""Plans of other topologies, which stay in force when some topologies get a new plan.

Nimbus reads one plan file. What it says of topologies that run and that the new plan does not name
goes along in the new file, under ``kept``, as the scheduler and the groupings read it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any

from penstock.files.plan_file import PlanFile, plan_to_dict
from penstock.files.store import dumps
from penstock.files.writer import to_json
from penstock.model.plan import Plan

PlanPart = dict[str, Any]


def parts_in_force(
    old: bytes | None, running: Container[str], planned: Container[str]
) -> list[PlanPart]:
    """What the file from before says of topologies that run and are not planned anew.

    A file that is broken has nothing to keep: the scheduler does not follow it either.
    """
    try:
        return _narrowed_parts(json.loads(old or b"{}"), running, planned)
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _narrowed_parts(
    file: Mapping[str, Any], running: Container[str], planned: Container[str]
) -> list[PlanPart]:
    if file.get("format") != PlanFile.FORMAT.name:
        return []
    parts: list[PlanPart] = []
    seen: set[str] = set()
    # The plan itself, then what it keeps.
    for part in (file, *file.get("kept", ())):
        wanted = [
            t
            for t in part["topologies"]
            if t["name"] in running and t["name"] not in planned and t["name"] not in seen
        ]
        if wanted:
            names = {t["name"] for t in wanted}
            seen |= names
            parts.append(_narrowed(part, wanted, names))
    return parts


def names_in(parts: list[PlanPart]) -> list[str]:
    return [topology["name"] for part in parts for topology in part["topologies"]]


def plan_file_text(plan: Plan, beside: list[PlanPart]) -> str:
    """The plan file, with the plans of other topologies beside this one."""
    return to_json({**plan_to_dict(plan), "kept": beside}) if beside else dumps(plan)


def _narrowed(part: Mapping[str, Any], topologies: list[Any], names: set[str]) -> PlanPart:
    """Only what is read on the cluster. All topologies' names stay: labels depend on their number.

    ``topology/component`` is what a component is called where there are several.
    """
    inputs = part["inputs"]
    return {
        "topologies": topologies,
        "if_lost": list(part.get("if_lost", ())),
        "deployed": [d for d in part.get("deployed", ()) if d["topology"] in names],
        "inputs": {
            "topologies": [
                {key: t[key] for key in ("name", "topology_version") if t.get(key) is not None}
                for t in inputs["topologies"]
            ],
            "cluster": {"machines": inputs["cluster"]["machines"]},
        },
    }

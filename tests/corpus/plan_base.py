"""A valid plan with shares, a contingency and everything else that a plan file can say."""

from __future__ import annotations

from typing import Any

from penstock.files.writer import fingerprint

Document = dict[str, Any]


def sealed(plan: Document) -> Document:
    """The plan with the fingerprints of the inputs that it now carries."""
    inputs = plan["inputs"]
    plan["made_from"] = {
        "topologies": {t["name"]: fingerprint(t) for t in inputs["topologies"]},
        "cluster": fingerprint(inputs["cluster"]),
        "profile": fingerprint(inputs["profile"]),
    }
    return plan


def plan_document() -> Document:
    """``low`` on two machines with shares, ``mid`` and ``high`` on one each."""
    low = [
        {"machine": "a1", "slot": 0, "share": 0.25},
        {"machine": "a2", "slot": 1, "share": 0.75},
    ]
    components = {"low": {"kind": "spout"}, "mid": {}, "high": {}}
    for source, target in (("low", "mid"), ("mid", "high")):
        components[source]["streams"] = [{"to": target, "grouping": "shuffle", "selectivity": 1.0}]
    rows = {row: {"on": {"A": {"e": 0.1, "met": 1.0}}} for row in components}
    return sealed(
        {
            "format": "penstock/plan",
            "version": 1,
            "scheduler": {"name": "hetero", "parameters": {"r0": 1.0, "loud": True}, "seed": 0},
            "made_from": {},
            "predicted": {
                "rate_per_s": {"line": 100.0},
                "scale": 100.0,
                "throughput_per_s": 300.0,
                "limited_by": "CPU of a1",
                "bound_scale": 110.0,
                "bound_kind": "",
                "gap": 0.1,
                "proven_optimal": False,
                "machines": [
                    {
                        "machine": "a1",
                        "instances": 3,
                        "cpu_points": 90.0,
                        "usable_cpu_points": 100.0,
                        "memory_mb": 10.0,
                    }
                ],
                "violations": [],
            },
            "notes": ["made by hand"],
            "topologies": [
                {
                    "name": "line",
                    "components": {
                        "low": low,
                        "mid": [{"machine": "a1", "slot": 0}],
                        "high": [{"machine": "a1", "slot": 0}],
                    },
                }
            ],
            "if_lost": [
                {
                    "machine": "a1",
                    "moves": [{"component": "mid", "instance": 0, "machine": "a2", "slot": 0}],
                    "shares": [{"component": "low", "of": [0.5, 0.5]}],
                    "rate_left_per_s": 50.0,
                }
            ],
            "deployed": [
                {
                    "topology": "line",
                    "id": "line-1-1700000000",
                    "components": {"low": [{"machine": "a2", "slot": 1}]},
                }
            ],
            "inputs": {
                "topologies": [
                    {
                        "format": "penstock/topology",
                        "version": 1,
                        "name": "line",
                        "components": components,
                    }
                ],
                "cluster": {
                    "format": "penstock/cluster",
                    "version": 1,
                    "name": "pair",
                    "types": {"A": {"cpu_points": 100.0, "slots": 4}},
                    "machines": [{"type": "A", "names": ["a1", "a2"]}],
                },
                "profile": {
                    "format": "penstock/profile",
                    "version": 1,
                    "name": "made-up",
                    "origin": "assumed",
                    "rows": rows,
                },
                "weighted": True,
                "given_counts": [2, 1, 1],
            },
        }
    )

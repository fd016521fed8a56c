"""One valid document of each format, with every field said, for the corpus to break."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.corpus.plan_base import plan_document

Document = dict[str, Any]

TOPOLOGY: Document = {
    "format": "penstock/topology",
    "version": 1,
    "name": "words",
    "description": "sentences to words to counts",
    "workers": 3,
    "priority": 1,
    "demand_per_s": 100,
    "worker_max_heap_mb": 768,
    "topology_version": "1.4.2",
    "fanout": "copy",
    "components": {
        "lines": {
            "kind": "spout",
            "profile": "lowCompute",
            "share": 2,
            "streams": [{"to": "split", "tuple_bytes": 60}],
        },
        "split": {
            "kind": "bolt",
            "profile": "midCompute",
            "instances": 2,
            "max_instances": 9,
            "tasks": 8,
            "threads": 1.5,
            "selectivity": 7,
            "fanout": "split",
            "requests": {"cpu_points": 10, "memory_mb": 512, "offheap_mb": 64},
            "streams": [
                {
                    "to": "count",
                    "name": "out",
                    "grouping": "fields",
                    "selectivity": 8,
                    "tuple_bytes": 20,
                    "keys": 1000,
                    "key_skew": 1.1,
                    "fields": ["word"],
                }
            ],
        },
        "count": {"profile": "highCompute"},
    },
    "bound_by": "memory",
}

CLUSTER: Document = {
    "format": "penstock/cluster",
    "version": 1,
    "name": "two-rooms",
    "description": "a small cluster",
    "headroom": 0.1,
    "worker_min_cpu_points": 5,
    "types": {
        "M1": {
            "cpu_points": 400,
            "core_points": 100,
            "speed": 1.4,
            "memory_mb": 8192,
            "slots": 4,
            "nic_mbps": 1000,
            "base_cpu_points": 2,
            "worker_cpu_points": 3,
            "worker_memory_mb": 300,
            "idle_watts": 40,
            "full_watts": 90,
            "price_per_hour": 0.2,
            "sockets": 1,
            "cores": 4,
            "ghz": 2.4,
            "flops_per_cycle": 8,
            "ram_mb": 16384,
            "fingerprint": {"integer": 500.5, "memory": 320},
            "variant_of": "M2",
        },
        "M2": {},
    },
    "machines": [
        {"type": "M1", "count": 2, "name": "big", "rack": "r1", "region": "east"},
        {"type": "M2", "names": ["small-a", "small-b"], "hosts": ["a.example", "b.example"]},
    ],
    "network": {
        "same_process": {"latency_ms": 0},
        "same_machine": {"latency_ms": 0.02},
        "same_rack": {"latency_ms": 0.2, "bandwidth_mbps": 1000},
        "other_rack": {"latency_ms": 1},
        "other_region": {"latency_ms": 20},
        "regions": [{"between": ["east", "region-1"], "latency_ms": 14}],
    },
}

PROFILE: Document = {
    "format": "penstock/profile",
    "version": 1,
    "name": "costs",
    "description": "what a tuple costs",
    "origin": "measured",
    "source": "a run in the lab",
    "rows": {
        "lowCompute": {
            "memory_mb": 64,
            "on": {
                "M1": {
                    "e": 0.06,
                    "met": 1.5,
                    "e_remote": 0.01,
                    "e_error": 0.001,
                    "met_error": 0.1,
                    "samples": 40,
                    "extrapolated": False,
                },
                "M2": {
                    "e": 0.1,
                    "met": 1.5,
                    "extrapolated": True,
                    "estimate": {"measured_on": "M1", "speed": 0.6, "basis": "speed"},
                },
                "M3": {"e": 0.1, "met": 1.5},
            },
        },
        "midCompute": {"on": {f"M{i}": {"e": 0.2, "met": 1.5} for i in (1, 2, 3)}},
        "highCompute": {"on": {f"M{i}": {"e": 0.3, "met": 1.5} for i in (1, 2, 3)}},
    },
    "streams": [
        {
            "source": "low",
            "target": "mid",
            "stream": "default",
            "topology": "linear",
            "selectivity": 0.9,
            "selectivity_error": 0.01,
            "tuple_bytes": 120,
        }
    ],
}

TERMS: Document = {
    "format": "penstock/terms",
    "version": 1,
    "carry_per_s": 100,
    "least": ["price", "traffic"],
    "give_up": 0.05,
    "latency_ms": {"linear": 500},
    "avoid": ["M1-1"],
    "apart": [["low", "mid"], ["high"]],
    "fixed": [{"component": "low", "machine": "M2-1", "instances": 1}],
    "current": [{"component": "low", "machine": "M2-1", "instances": 2}],
    "most_moves": 9,
    "weights": {"linear": 0.5},
}

SCENARIO: Document = {
    "format": "penstock/scenario",
    "version": 1,
    "name": "bad day",
    "description": "a machine slows down, another dies",
    "duration_s": 100,
    "warmup_s": 10,
    "sample_s": 2,
    "offered": {
        "of_sustainable": 0.7,
        "arrivals": "even",
        "steps": [{"at_s": 0, "factor": 1}, {"at_s": 50, "factor": 1.5}],
    },
    "service": {
        "shape": "lognormal",
        "variation": 2,
        "components": {"low": {"shape": "empirical", "samples": [1, 2.5]}},
    },
    "queue_limit": 1000,
    "when_full": "drop",
    "max_spout_pending": 500,
    "acking": True,
    "timeout_s": 5,
    "replay": False,
    "selectivity": "batch",
    "shuffle": "load-aware",
    "sharing": "by-plan",
    "tuples_per_batch": 2,
    "use_headroom": True,
    "changes": [
        {"at_s": 20, "slow": "M1-1", "speed": 0.5, "until_s": 40},
        {"at_s": 30, "down": "M2-1"},
    ],
}

SWEEP: Document = {
    "format": "penstock/sweep",
    "version": 1,
    "name": "grid",
    "problems": [{"topology": "linear", "cluster": "nasiri-testbed", "met": 1}],
    "schedulers": ["hetero"],
    "seeds": [0, 7],
    "scenarios": [{"load": 0.9, "seconds": 30}, {"saturate": True}],
    "runs": 2,
    "fluid": False,
    "counts_from": "hetero",
}

FLUX: Document = {
    "name": "words",
    "config": {"topology.workers": 2, "topology.priority": 1},
    "spouts": [{"id": "lines", "className": "org.example.Lines", "parallelism": 2}],
    "bolts": [
        {
            "id": "split",
            "className": "org.example.Split",
            "parallelism": 4,
            "numTasks": 8,
            "onHeapMemoryLoad": 128,
            "offHeapMemoryLoad": 16,
            "cpuLoad": 20,
        },
        {"id": "count", "className": "org.example.Count"},
    ],
    "streams": [
        {"from": "lines", "to": "split", "grouping": {"type": "SHUFFLE"}},
        {"from": "split", "to": "count", "grouping": {"type": "FIELDS", "args": ["word"]}},
    ],
}

WATCH: Document = {
    "format": "penstock/watch",
    "version": 1,
    "policy": "penstock",
    "parameters": {"change_minutes": 10},
    "latency_target_s": 5,
    "most_moves_per_hour": 100,
    "forbidden_hours": ["22:00-06:00"],
}

HOOKS: Document = {
    "format": "penstock/hooks",
    "version": 1,
    "within_s": 30,
    "machines": {"m7": {"sleep": "ssh m7 systemctl suspend", "wake": "wakeonlan 00:11:22"}},
}

STORM_YAML: Document = {
    "storm.zookeeper.servers": ["zk.example"],
    "storm.local.hostname": "worker-1",
    "supervisor.cpu.capacity": 800,
    "supervisor.memory.capacity.mb": 16384,
    "supervisor.slots.ports": [6700, 6701],
    "supervisor.scheduler.meta": {
        "machine-type": "old",
        "rack": "r1",
        "region": "eu",
        "cores": "4",
        "ghz": "2.4",
    },
}

PRODUCTION_CLUSTER: Document = {
    "name": "recorded",
    "min_worker_cpu_pcore_percent": 10,
    "racks": [
        {
            "supervisors": [
                {
                    "id": f"node-{i}",
                    "host": f"host-{i}",
                    "rack": "r1",
                    "cpu_capacity_percent": 400,
                    "memory_mb": 4096,
                    "slots": 4,
                }
                for i in (1, 2)
            ]
        }
    ],
}

PRODUCTION_TOPOLOGIES: list[Document] = [
    {
        "name": "t1",
        "workers": 1,
        "priority": 2,
        "worker_max_heap_mb": 2000,
        "components": [
            {
                "id": name,
                "kind": kind,
                "parallelism": 2,
                "parallelism_nimbus": 2,
                "tasks": 2,
                "cpu_pcore_percent": 10,
                "onheap_mb": 128,
                "offheap_mb": 0,
            }
            for name, kind in (("in", "spout"), ("out", "bolt"))
        ],
        "streams": [
            {"from": "in", "to": "out", "stream": "default", "grouping": "fields", "fields": ["k"]}
        ],
    }
]


def base(kind: str) -> Any:
    """A fresh copy of the valid document of a kind."""
    documents: dict[str, Any] = {
        "topology": TOPOLOGY,
        "cluster": CLUSTER,
        "profile": PROFILE,
        "terms": TERMS,
        "scenario": SCENARIO,
        "sweep": SWEEP,
        "watch": WATCH,
        "hooks": HOOKS,
        "flux": FLUX,
        "storm": STORM_YAML,
        "recorded cluster": PRODUCTION_CLUSTER,
        "recorded topologies": PRODUCTION_TOPOLOGIES,
    }
    return plan_document() if kind == "plan" else deepcopy(documents[kind])

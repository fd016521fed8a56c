"""Small valid files in Storm's own formats."""

from __future__ import annotations

from typing import Any

FLUX: dict[str, Any] = {
    "name": "words",
    "config": {"topology.workers": 2, "topology.priority": 1},
    "components": [{"id": "scheme", "className": "org.example.Scheme"}],
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
        {"id": "count", "className": "org.example.Count", "parallelism": 1},
    ],
    "streams": [
        {"name": "a", "from": "lines", "to": "split", "grouping": {"type": "SHUFFLE"}},
        {"from": "split", "to": "count", "grouping": {"type": "FIELDS", "args": ["word"]}},
    ],
}

STORM_YAML: dict[str, Any] = {
    "storm.zookeeper.servers": ["zk.example"],
    "storm.local.hostname": "worker-1",
    "nimbus.seeds": ["127.0.0.1"],
    "nimbus.thrift.port": 1,
    "supervisor.cpu.capacity": 800,
    "supervisor.memory.capacity.mb": 16384,
    "supervisor.slots.ports": [6700, 6701],
    "supervisor.scheduler.meta": {"machine-type": "old", "rack": "r1"},
}

#: A recorded production cluster, one file per name.
RECORDED: dict[str, Any] = {
    "cluster.json": {
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
    },
    "topologies.json": [
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
                {
                    "from": "in",
                    "to": "out",
                    "stream": "default",
                    "grouping": "fields",
                    "fields": ["k"],
                }
            ],
        }
    ],
}

#: Of Storm's LoggingMetricsConsumer.
LOG_LINE = (
    "2026-11-15 08:05:08,591 1794729908\t     127.0.0.11:6710\t  3:mid         \t"
    "__execute-count-src:default\t412\n"
    "2026-11-15 08:05:08,591 1794729908\t     127.0.0.11:6710\t  3:mid         \t"
    "__emit-count-default\t400\n"
)
#: Of the registry's reporter, with CPU times of threads between.
REGISTRY = (
    "1794731749545 thread Thread-12-mid-executor[3,3] 830002\n"
    "1794731749545 thread MetricRegistryTimer 28372221\n"
    "1794731759545 thread Thread-12-mid-executor[3,3] 1830002\n"
)
_WINDOW = {"window": ":all-time", "windowPretty": "All time", "emitted": 40, "transferred": 40}
#: Of the UI: a topology and one of its components.
REST: dict[str, Any] = {
    "topology": {
        "name": "flow",
        "id": "flow-1-1794729908",
        "status": "ACTIVE",
        "uptimeSeconds": 120,
        "spouts": [{"spoutId": "src", "executors": 1, "tasks": 1, "emitted": 40}],
        "bolts": [{"boltId": "mid", "executors": 1, "tasks": 1, "executeLatency": "0.1"}],
        "configuration": {"topology.workers": 1, "topology.stats.sample.rate": 0.05},
        "topologyStats": [_WINDOW],
    },
    "component": {
        "id": "src",
        "topologyId": "flow-1-1794729908",
        "componentType": "spout",
        "executors": 1,
        "tasks": 1,
        "executorStats": [
            {
                "id": "[1-1]",
                "host": "127.0.0.11",
                "port": 6710,
                "uptimeSeconds": 100,
                "emitted": 40,
                "transferred": 40,
                "completeLatency": "1.5",
                "acked": 40,
                "failed": 0,
            }
        ],
        "outputStats": [{"stream": "default", "emitted": 40, "transferred": 40}],
    },
}

"""A resource beside memory that binds on machines of many cores is planned for as memory is."""

import pytest

import penstock


def scale(old: dict, new: dict, request: dict) -> float:
    topology = {
        "format": "penstock/topology",
        "version": 1,
        "name": "clicks",
        "components": {
            "read": {"kind": "spout", "streams": [{"to": "parse"}]},
            "parse": {"streams": [{"to": "count"}]},
            "count": {"requests": request},
        },
    }
    cluster = {
        "format": "penstock/cluster",
        "version": 1,
        "name": "office",
        "types": {
            "old": {"cpu_points": 400, "core_points": 100, **old},
            "new": {"cpu_points": 1600, "core_points": 100, **new},
        },
        "machines": [{"type": "old", "count": 4}, {"type": "new", "count": 2}],
    }
    costs = {"read": (0.010, 0.006), "parse": (0.040, 0.020), "count": (0.012, 0.0072)}
    profile = {
        "format": "penstock/profile",
        "version": 1,
        "name": "clicks",
        "origin": "assumed",
        "rows": {
            row: {"on": {"old": {"e": old_e, "met": 1.5}, "new": {"e": new_e, "met": 1.5}}}
            for row, (old_e, new_e) in costs.items()
        },
    }
    result = penstock.plan(penstock.problem(topology, cluster, profile))
    assert result.plan is not None
    assert result.plan.predicted.violations == ()
    return float(result.facts.scale)


@pytest.mark.slow
def test_disks_that_bind_cost_no_more_rate_than_memory_that_binds():
    # Three instances of count fit an old machine and eight a new one.
    by_memory = scale({"memory_mb": 200}, {"memory_mb": 500}, {"memory_mb": 60})
    disks = {"resources": {"disk": 200}}, {"resources": {"disk": 500}}
    assert scale(*disks, {"resources": {"disk": 60}}) == pytest.approx(by_memory, rel=1e-9)

"""Reports for the tests: one with every section, and names nobody should have."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

from penstock import app
from penstock.app import reports
from penstock.app.report_options import ReportOptions
from penstock.files.document import document_of
from penstock.files.simulation_file import Simulation, simulation_from
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.report.page import Document
from penstock.report.plan_report import PlanReport, plan_report_page
from penstock.simulate.compiled import has_numba

HOSTILE_NAMES = (
    "<script>alert(1)<",
    "\"quoted\" 'name' & more",
    "שלום-עולם",
    "$x^{2}_% #tag |pipe| `tick`",
    "a-very-long-name-" * 11,
)


def hostile_problem() -> Problem:
    """A chain of components with the names above, on machines with the same."""
    components = {name: {} for name in HOSTILE_NAMES}
    for name, following in pairwise(HOSTILE_NAMES):
        components[name] = {"streams": [{"to": following, "tuple_bytes": 100}]}
    components[HOSTILE_NAMES[0]]["kind"] = "spout"
    topology = {
        "format": "penstock/topology",
        "version": 1,
        "name": HOSTILE_NAMES[0],
        "components": components,
    }
    cluster = {
        "format": "penstock/cluster",
        "version": 1,
        "name": HOSTILE_NAMES[3],
        "types": {HOSTILE_NAMES[1]: {"memory_mb": 4000}},
        "machines": [{"name": name, "type": HOSTILE_NAMES[1]} for name in HOSTILE_NAMES],
    }
    profile = {
        "format": "penstock/profile",
        "version": 1,
        "name": HOSTILE_NAMES[0],
        "origin": "assumed",
        "rows": {name: {"on": {HOSTILE_NAMES[1]: {"e": 0.01, "met": 1}}} for name in HOSTILE_NAMES},
    }
    return app.problem(topology, cluster, profile)


def simulation() -> Simulation:
    """A small simulation of Linear on the testbed, written down rather than run."""
    moments = [
        {
            "from_s": float(k),
            "until_s": k + 1.0,
            "topologies": [
                {
                    "topology": "linear",
                    "offered_per_s": 400.0 + k,
                    "completed_per_s": 399.0 + k,
                    "latency_p50_ms": 20.0 + k,
                    "latency_p99_ms": 80.0 + 10 * (k % 3),
                }
            ],
            "present": {"low": 3.0 + k % 2, "mid": 9.0, "high": 30.0 + k},
            "utilisation": {"M1-1": 0.8, "M2-1": 0.75, "M3-1": 0.5 + 0.02 * k},
        }
        for k in range(12)
    ]
    figures = {
        "completed_per_s": (404.5, 2.0),
        "topologies.linear.latency_p50_ms": (25.5, 1.0),
        "topologies.linear.latency_p99_ms": (90.0, 5.0),
    }
    value = {
        "format": "penstock/simulation",
        "version": 1,
        "topologies": ["linear"],
        "cluster": "nasiri-testbed",
        "scenario": "steady",
        "model": "engine",
        "seed": 0,
        "runs": 1,
        "events": 12345,
        "stopped": False,
        "warmup_s": 0.0,
        "interval_over": "batches",
        "changes": [{"at_s": 6.0, "what": "M3-1 slow"}, {"at_s": 9.0, "what": "M3-1 back"}],
        "figures": {k: {"mean": m, "half_width": h} for k, (m, h) in figures.items()},
        "over_time": moments,
    }
    return simulation_from(document_of(value, "sim.json"))


@cache
def small_facts() -> PlanReport:
    """Linear on the testbed by hetero, before by default, compared, with a simulation."""
    problem = app.problem("linear", "nasiri-testbed")
    wanted = ReportOptions(
        schedulers=("default", "hetero"),
        seeds=2,
        before=_plan(problem, "default"),
        simulation=simulation(),
        simulate=False,
    )
    plan = _plan(problem, "hetero")
    curve = app.load_curve(plan, (0.5, 0.9), seconds=30) if has_numba() else None
    return replace(reports.report_on_plan(plan, wanted), load_curve=curve)


@cache
def small_report() -> Document:
    return plan_report_page(small_facts())


def _plan(problem: Problem, scheduler: str) -> Plan:
    made = app.plan(problem, scheduler).plan
    assert made is not None
    return made

"""What ``penstock bench production`` measures: every scheduler on recorded production clusters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from penstock import app
from penstock.errors import PenstockError
from penstock.evaluate.network import pair_hops
from penstock.files.production import load_production
from penstock.model.cluster import Hop
from penstock.model.plan import Scalar
from penstock.model.problem import Problem
from penstock.planning.numbers import percent, seconds
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.penstock.requests.search import mean_distance
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.data import production_folder

#: Storm's own ResourceAwareScheduler on the same data, run with Storm 2.8.3 on a 2-core machine.
_STORMS_OWN = {
    "largeCluster01": "Storm's RAS|1094|0|0|0.8 %|2.2 %|82.3 %|14.6 %|2.108|27 s",
    "largeCluster03": "Storm's RAS|80|0|0|2.7 %|2.2 %|76.8 %|18.4 %|2.109|0.4 s",
}
_COLUMNS = [
    "scheduler",
    "machines",
    "topologies refused",
    "limits broken",
    "same worker",
    "same node",
    "same rack",
    "other rack",
    "mean distance",
    "time",
]
_VARIANTS: dict[str, list[tuple[str, dict[str, Scalar]]]] = {
    "rstorm": [("rstorm", {}), ("rstorm, CPU hard", {"hard": "memory,cpu"})],
}


@lru_cache(maxsize=4)
def _problem(cluster: str) -> Problem:
    return load_production(production_folder(cluster), "storm-test")


@lru_cache(maxsize=64)
def _planned(cluster: str, scheduler: str, hard: str = "") -> app.PlanAnswer:
    parameters: dict[str, Scalar] = {"hard": hard} if hard else {}
    return app.plan(_problem(cluster), scheduler, parameters=parameters)


def every_scheduler(cluster: str) -> FigureTable:
    """Machines, refusals, broken limits, network mix of connected executor pairs, and time."""
    _problem(cluster)  # without the data nothing applies, for another reason than the rows say
    rows = [_STORMS_OWN[cluster].split("|")]
    for name in SCHEDULERS.names():
        for label, settings in _VARIANTS.get(name, [(name, {})]):
            try:
                planned = _planned(cluster, name, str(settings.get("hard", "")))
            except PenstockError as error:
                reason = error.findings[0].message.split(";")[0]
                rows.append([label, f"does not apply: {reason}", *[""] * (len(_COLUMNS) - 2)])
                continue
            rows.append(_row(label, planned))
    return FigureTable(f"{cluster}, executors as Storm's own test counts them", _COLUMNS, rows)


def _row(label: str, planned: app.PlanAnswer) -> list[str]:
    refused = str(len(planned.outcome.shortfalls))
    if planned.plan is None:
        return [label, "0", refused, *[""] * 6, seconds(planned.seconds)]
    hops = pair_hops(planned.problem, planned.plan.placement)
    total = float(hops.sum()) or 1.0
    mix = [percent(float(hops[hop]) / total) for hop in Hop if hop is not Hop.OTHER_REGION]
    return [
        label,
        str(planned.facts.machines_used),
        refused,
        str(len(planned.facts.violations)),
        *mix,
        f"{_distance(planned):.3f}",
        seconds(planned.seconds),
    ]


def _distance(planned: app.PlanAnswer) -> float:
    """Mean distance of connected executor pairs: 0 same worker, 1 node, 2 rack, 3 other rack."""
    if planned.plan is None:
        return 0.0
    return mean_distance(planned.problem, planned.plan.placement)


def machines_against_distance(cluster: str, nearness: list[float]) -> FigureTable:
    """The curve that ``penstock`` offers between few machines and short distances."""
    rows = []
    for value in nearness:
        planned = _near(cluster, value)
        machines = str(planned.facts.machines_used)
        row = [f"{value:g}", machines, f"{_distance(planned):.4f}", seconds(planned.seconds)]
        rows.append(row)
    columns = ["nearness", "machines", "mean distance", "time"]
    return FigureTable(f"{cluster}, penstock from fewest machines to least distance", columns, rows)


@lru_cache(maxsize=16)
def _near(cluster: str, nearness: float) -> app.PlanAnswer:
    return app.plan(_problem(cluster), "penstock", parameters={"nearness": nearness})


def penstock_figure(repeats: int, cluster: str, figure: str) -> Iterator[float]:
    """``machines``, ``distance``, ``seconds``, ``refused`` or ``broken`` limits, as it comes."""
    del repeats
    planned = _planned(cluster, "penstock", "")
    figures = {
        "machines": float(planned.facts.machines_used),
        "distance": _distance(planned),
        "seconds": planned.seconds,
        "refused": float(len(planned.outcome.shortfalls)),
        "broken": float(len(planned.facts.violations)),
    }
    yield figures[figure]


def rstorm_machines(repeats: int, cluster: str) -> Iterator[float]:
    """Machines used by rstorm with CPU hard, as in Storm's RAS."""
    del repeats
    yield float(_planned(cluster, "rstorm", "memory,cpu").facts.machines_used)


def rstorm_refused(repeats: int, cluster: str, hard: str) -> Iterator[float]:
    del repeats
    yield float(len(_planned(cluster, "rstorm", hard).outcome.shortfalls))


def memory_broken(repeats: int, cluster: str) -> Iterator[float]:
    """Limits broken by schedulers that say they look at memory (with CPU hard where they can)."""
    del repeats
    _problem(cluster)
    for name, scheduler in SCHEDULERS.usable().items():
        if not scheduler.looks.memory:
            continue
        try:
            planned = _planned(cluster, name, "memory,cpu" if name == "rstorm" else "")
        except PenstockError:
            continue
        yield float(len(planned.facts.violations))

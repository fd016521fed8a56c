"""The cells of a sweep: plan a problem with a scheduler, simulate the plan in a scenario."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from penstock import schedulers
from penstock.app.plans import plan as plan_problem
from penstock.app.problems import problem as problem_of
from penstock.app.simulations import simulate
from penstock.errors import Finding, InputError, PenstockError
from penstock.files.plan_file import problem_to_dict
from penstock.files.sweep_file import Sweep, SweepScenario
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.simulate.results import figures_of
from penstock.simulate.scenario import Scenario
from penstock.simulate.variants import saturated, shortened

#: What a change of the code that changes results must change, so that old cells are not reused.
_EDITION = 2


@dataclass(frozen=True)
class Cell:
    """One experiment, complete: it can be sent anywhere."""

    number: int
    problem: Problem
    title: str
    scheduler: str
    seed: int
    scenario: SweepScenario
    runs: int
    fluid: bool
    counts_from: str

    @property
    def names(self) -> dict[str, Any]:
        """The columns that say which cell it is."""
        return {
            "cell": self.number,
            "topologies": self.problem.title,
            "cluster": self.problem.cluster.name,
            "problem": self.title,
            "scheduler": self.scheduler,
            "seed": self.seed,
            "scenario": self.scenario.name,
        }

    @property
    def key(self) -> str:
        """Names the cell by all that decides its result, and by its place in the table."""
        inputs = problem_to_dict(self.problem)
        inputs_and_settings = [
            _EDITION,
            self.names,
            inputs,
            self.runs,
            self.fluid,
            self.counts_from,
        ]
        text = json.dumps(inputs_and_settings, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode())
        digest.update(pickle.dumps(self.scenario, protocol=4))
        return f"{self.number:06d}-{digest.hexdigest()[:16]}"


def cells_of(sweep: Sweep) -> list[Cell]:
    """All cells of a grid in order; everything that is wrong with it at once."""
    findings: list[Finding] = []
    problems: list[Problem] = []
    for number, given in enumerate(sweep.problems):
        try:
            problems.append(
                problem_of(
                    list(given.topologies),
                    given.cluster,
                    given.profile,
                    weighted=given.weighted,
                    headroom=given.headroom,
                    met=given.met,
                )
            )
        except PenstockError as error:
            findings += [Finding(str(f), field=f"problems[{number}]") for f in error.findings]
    for number, name in enumerate(sweep.schedulers):
        try:
            schedulers.get(name)
        except PenstockError as error:
            findings += [Finding(f.message, field=f"schedulers[{number}]") for f in error.findings]
    if findings:
        raise InputError(*findings)
    titles = _titles(problems, sweep)
    grid = product(
        zip(problems, titles, strict=True), sweep.schedulers, sweep.seeds, sweep.scenarios
    )
    return [
        Cell(number, problem, title, scheduler, seed, scenario, sweep.runs, sweep.fluid,
             sweep.counts_from)
        for number, ((problem, title), scheduler, seed, scenario) in enumerate(grid)
    ]  # fmt: skip


def _titles(problems: Sequence[Problem], sweep: Sweep) -> list[str]:
    """Each problem's name, with what makes it differ from others of the same name."""
    return [
        f"{problem.title} on {problem.cluster.name}"
        + (" weighted" if given.weighted else "")
        + (f" met {given.met:g}" if given.met is not None else "")
        + (f" headroom {given.headroom:g}" if given.headroom is not None else "")
        for problem, given in zip(problems, sweep.problems, strict=True)
    ]


def run_cell(cell: Cell) -> dict[str, Any]:
    """The row of a cell. Runs wherever Spark wants it to."""
    planned = plan_problem(
        cell.problem, cell.scheduler, seed=cell.seed, counts_from=cell.counts_from
    )
    row: dict[str, Any] = {**cell.names, "placed": planned.plan is not None}
    if planned.plan is None:
        return {**row, "why_not": "; ".join(str(s) for s in planned.outcome.shortfalls)}
    facts = planned.facts
    row |= {
        "why_not": None,
        "instances": len(planned.plan.placement),
        "machines_used": facts.machines_used,
        "planned_scale": facts.scale,
        "planned_throughput_per_s": facts.throughput_per_s,
        "gap": facts.gap,
    }
    scenario = _scenario(cell, planned.plan)
    result = simulate(planned.plan, scenario, seed=cell.seed, runs=cell.runs, fluid=cell.fluid)
    means = [figures_of(one) for one in result.each]
    for name in ("completed_per_s", "throughput_per_s", "watts"):
        row[name] = _number(float(np.mean([one[name] for one in means])))
    for name in ("latency_ms", "latency_p50_ms", "latency_p99_ms", "timed_out_per_s", "lost_per_s"):
        # Not known of one topology is not known of the worst.
        values = [np.max([getattr(t, name) for t in one.topologies]) for one in result.each]
        row[name] = _number(float(np.mean(values)))
    row["offered_per_s"] = float(
        np.mean([sum(t.offered_per_s for t in one.topologies) for one in result.each])
    )
    row["busiest_utilisation"] = max(m.utilisation for m in result.measured.machines)
    return {**row, "warmup_s": result.warmup_s, "events": result.events}


def _scenario(cell: Cell, plan: Plan) -> Scenario:
    given = cell.scenario
    scenario = given.scenario
    if given.seconds is not None:
        scenario = shortened(scenario, given.seconds)
    if given.saturate:
        scenario = saturated(scenario, plan.problem, plan.placement)
    return replace(scenario, name=given.name)


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None

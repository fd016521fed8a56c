"""``penstock demo``: the main job on embedded defaults, from telemetry to plan to picture."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from penstock import api
from penstock.change.diff import diff
from penstock.cli.output import is_terminal, make_folder, say, show, write_file
from penstock.errors import EXIT_DONE
from penstock.evaluate.capacity import capacity
from penstock.evaluate.overload import overload
from penstock.files.store import save
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.report.measured import measured_view
from penstock.report.numbers import percent, plain
from penstock.report.picture import placement_svg
from penstock.report.simulation import simulation_view
from penstock.report.text import (
    bound_view,
    changes_view,
    comparison_remarks,
    comparison_view,
    overload_view,
    plan_view,
)
from penstock.simulate.compiled import has_numba
from penstock.telemetry.findings import Measured
from penstock.telemetry.session import spark_session

_TOPOLOGY = "diamond"
_CLUSTER = "nasiri-medium"
_SCHEDULERS = ("default", "hetero", "penstock")
#: Twenty minutes in windows of ten seconds, at loads that change every minute.
_WINDOWS, _HOLD = 120, 6
_WORKER_CPU_POINTS = 4.0


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path(
        "demo-output"
    ),
) -> int:
    """Measure the Diamond on local Spark, plan it on unlike machines, and compare schedulers.

    penstock demo

    penstock demo --out /tmp/penstock-demo
    """
    make_folder(out)
    today = api.plan(api.problem(_TOPOLOGY, _CLUSTER), "default").plan
    assert today is not None  # the example fits
    _step(f"1. Telemetry: {_TOPOLOGY} runs on {_CLUSTER} as Storm places it")
    mean_scale = _write_telemetry(today, out / "telemetry")
    _step("2. Measure: the pipeline on local Spark finds the costs again")
    found = _measure(out / "telemetry")
    show(measured_view(found))
    assert found.profile is not None  # nothing is missing in what was written
    _step("3. Measured beside predicted: CPU of each machine at the mean load")
    show(_beside(today, found.profile, found, mean_scale))
    problem = build(today.problem.topologies, today.problem.cluster, found.profile)
    best = _compare_and_show(problem)
    save(found.profile, out / "profile.json")
    save(best, out / "plan.json")
    write_file(out / "plan.svg", placement_svg(best))
    _step("Results")
    show(f"{out / 'telemetry'}     what the topology reported, as JSON lines")
    show(
        f"{out / 'profile.json'}  what was measured; made by: penstock profile {out / 'telemetry'}"
    )
    show(f"{out / 'plan.json'}     the plan; look at it with: penstock show {out / 'plan.json'}")
    show(f"{out / 'plan.svg'}      who runs where; open it in a browser")
    say("done")
    return EXIT_DONE


def _write_telemetry(plan: Plan, folder: Path) -> float:
    """What the placement reports while its load changes, noisy and faulty; its mean scale."""
    from penstock.telemetry.synthetic import Faults, Noise, Recording, levels, write_json_lines

    rng = np.random.default_rng(1)
    scale = levels(plan.predicted.scale or 0.0, _WINDOWS, rng, hold=_HOLD)
    recording = Recording(
        problem=plan.problem,
        placement=plan.placement,
        scale=scale,
        # As Storm counts: one tuple in twenty.
        noise=Noise(cpu_relative=0.03, cpu_points=0.1, sample_rate=0.05),
        faults=Faults(outliers=0.01, duplicates=0.005, restarts=0.0005),
        worker_cpu_points=_WORKER_CPU_POINTS,
    )
    shutil.rmtree(folder, ignore_errors=True)
    written = write_json_lines(recording, folder, rng, files=4)
    show(
        f"{written.records:,} records of {len(plan.placement)} instances in "
        f"{len(written.paths)} files, {written.duplicates} of them twice, 1 % of the readings wild"
    )
    return float(scale.mean())


def _measure(folder: Path) -> Measured:
    with spark_session(short=True) as spark:
        from penstock.telemetry.pipeline import build_profile
        from penstock.telemetry.source import open_source

        return build_profile(spark, open_source(spark, str(folder.absolute())), progress=say)


def _beside(plan: Plan, profile: Profile, found: Measured, scale: float) -> Table:
    """CPU per machine as the fitted profile predicts it, and as telemetry had it, by type."""
    problem = build(plan.problem.topologies, plan.problem.cluster, profile)
    load = capacity(problem, plan.placement)
    predicted = load.machine_fixed + load.machine_slope * scale
    measured = dict(found.findings.machine_cpu_points)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("machine type")
    for column in ("machines", "predicted (points)", "measured (points)", "largest difference"):
        table.add_column(column, justify="right")
    for kind in problem.cluster.types:
        here = [
            (float(predicted[m]), measured[machine.name])
            for m, machine in enumerate(problem.cluster.machines)
            if machine.type == kind.name and machine.name in measured
        ]
        ours, theirs = (float(np.mean(column)) for column in zip(*here, strict=True))
        worst = max(abs(p - m) / m for p, m in here)
        table.add_row(kind.name, str(len(here)), plain(ours), plain(theirs), percent(worst))
    return table


def _compare_and_show(problem: Problem) -> Plan:
    machines = len(problem.cluster.machines)
    _step(f"4. Plan it on {machines} machines with {', '.join(_SCHEDULERS)}, from the profile")
    found = api.compare(problem, _SCHEDULERS)
    rows = [row.facts for row in found.rows]
    show(comparison_view(rows, bars=is_terminal()))
    show(*comparison_remarks(rows))

    assert found.bound is not None  # the example has rates
    _step("5. How much better can any plan be?")
    show(bound_view(problem, found.bound))

    plans = {row.scheduler: row.plan for row in found.rows if row.plan is not None}
    best = max(plans.values(), key=lambda plan: plan.predicted.scale or 0.0)
    _step(f"6. The best plan, by {best.scheduler}")
    show(plan_view(best, bars=is_terminal()))

    _step("7. What would change against Storm's own placement")
    show(changes_view(diff(plans["default"], best)))

    _step("8. And if one and a half times as much arrives?")
    offered = 1.5 * (best.predicted.scale or 0.0)
    show(overload_view(best.problem, overload(best.problem, best.placement, offered)))

    if has_numba():
        _step("9. Is it true? A simulated minute at 0.8 of the plan's rate, tuple by tuple")
        show(simulation_view(api.simulate(best)))
    else:
        say("not simulated, because numba is not installed: pip install 'penstock[simulate]'")
    return best


def _step(title: str) -> None:
    show("", f"── {title} " + "─" * max(4, 90 - len(title)))

"""``penstock demo``: the main job on embedded defaults, from a run on Spark to a plan."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from penstock import app
from penstock.app import reports
from penstock.app.report_options import ReportOptions
from penstock.change.diff import diff
from penstock.cli.output import make_folder, say, show, write_file
from penstock.cli.report import now
from penstock.engines.spark.session import spark_session
from penstock.errors import EXIT_DONE, PenstockError
from penstock.evaluate.overload import overload
from penstock.files.examples import load_topology
from penstock.files.store import save
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.telemetry import UNKNOWN_TYPE
from penstock.model.topology import Topology
from penstock.planning.numbers import percent
from penstock.report.charts import has_charts
from penstock.report.page.html import to_html
from penstock.report.pages.bound import bound_page
from penstock.report.pages.changes import changes_page
from penstock.report.pages.comparison import comparison_page
from penstock.report.pages.offered_load import overload_page
from penstock.report.pages.placement import placement_file
from penstock.report.pages.plan import plan_page
from penstock.report.pages.profile import profile_page
from penstock.report.pages.simulation import simulation_page
from penstock.simulate.compiled import has_numba
from penstock.telemetry.findings import Measurement

if TYPE_CHECKING:
    from penstock.engines.base import Batch

_TOPOLOGY = "diamond"
_SCHEDULERS = ("default", "hetero", "penstock")
#: Numbers in a batch, parts of them that batches take in turn, seconds from one to the next.
_ROWS, _LEVELS, _EVERY_S, _BATCHES = 2400, (0.25, 0.5, 1.0), 2.0, 18
#: Machines that are a whole core like the one measured on, a half and a third: four of each.
_UNLIKE = {"whole": 100.0, "half": 50.0, "third": 33.0}
_OF_EACH = 4
#: Batches before this age of the run are left out.
_WARM_UP_S = 8.0
#: A busy computer needs more than one run before every cost is known well enough.
_MOST_RUNS = 4


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path(
        "demo-output"
    ),
) -> int:
    """Run the Diamond on local Spark, measure it, plan it on unlike machines, compare schedulers.

    penstock demo

    penstock demo --out my-demo
    """
    make_folder(out)
    graph = load_topology(_TOPOLOGY)
    with spark_session() as spark:
        _step(f"1. Run: {_TOPOLOGY} as a PySpark stream on real tuples, at three loads")
        watched = _run(spark, graph, out / "run")
        _step("2. Measure: the pipeline on Spark fits what a tuple costs in each component")
        fitted = _measure(spark, out / "run" / "telemetry")
        for _ in range(_MOST_RUNS - 1):
            if not fitted.not_ready:
                break
            show(*_missing(fitted), "The run goes on, for more of the same:")
            watched += _run(spark, graph, out / "run", goes_on=True)
            fitted = _measure(spark, out / "run" / "telemetry")
    show(profile_page(fitted))
    measured = _whole_profile(fitted)
    _step("3. Measured beside fitted: CPU of each component over the whole run")
    show(_beside(watched, measured))
    profile = measured.as_on(UNKNOWN_TYPE, _UNLIKE)
    compared, best = _compare_and_show(build(graph, _unlike_machines(), profile))
    save(measured, out / "profile.json")
    save(best, out / "plan.json")
    page = _report(compared, best, out)
    _step("Results")
    show(f"{out / 'run'}           results, state and telemetry of the run")
    show(
        f"{out / 'profile.json'}  what was measured; made by: penstock profile "
        f"{out / 'run' / 'telemetry'} --warm-up {_WARM_UP_S:g}"
    )
    show(f"{out / 'plan.json'}     the plan; look at it with: penstock show {out / 'plan.json'}")
    if page is not None:
        show(f"{out / 'plan.svg'}      who runs where; open it in a browser")
        show(
            f"{page}   all of it on one page; open it in a browser:", f"  {page.resolve().as_uri()}"
        )
    say("done")
    return EXIT_DONE


def _unlike_machines() -> Cluster:
    return Cluster(
        "unlike",
        tuple(MachineType(kind, cpu_points=points) for kind, points in _UNLIKE.items()),
        tuple(Machine(f"{kind}-{i + 1}", kind) for kind in _UNLIKE for i in range(_OF_EACH)),
    )


def _run(spark: Any, graph: Topology, folder: Path, *, goes_on: bool = False) -> list[Batch]:
    """The topology on Spark for a while, from its beginning or from where it stopped.

    What its batches did.
    """
    from penstock.engines.spark.code import load_code, shipped_code
    from penstock.engines.spark.deployment import Deployment
    from penstock.engines.spark.runner import Runner
    from penstock.engines.spark.sources import RateSource

    path = shipped_code(graph.name)
    assert path is not None  # the example has code
    if not goes_on:
        shutil.rmtree(folder, ignore_errors=True)
    seen: list[Batch] = []
    source = RateSource(_ROWS, _LEVELS)
    even = Deployment.evenly(graph, spark.sparkContext.defaultParallelism)
    show(f"{source.about}, every {_EVERY_S:g} s, {_BATCHES} batches")
    runner = Runner(
        spark, graph, load_code(path, graph), source, folder.absolute(), lambda: even, seen.append,
        every_s=_EVERY_S,
    )  # fmt: skip
    runner.run(lambda: len(seen) >= _BATCHES)
    tuples = sum(s.produced or 0.0 for batch in seen for s in batch.samples)
    seconds = sum(batch.seconds for batch in seen)
    show(f"{tuples:,.0f} tuples in {seconds:.0f} s, each counted once")
    return seen


def _measure(spark: Any, folder: Path) -> Measurement:
    from penstock.telemetry.pipeline import build_profile
    from penstock.telemetry.settings import Settings
    from penstock.telemetry.source import open_source

    source = open_source(spark, str(folder.absolute()))
    # The run is short: its first minute is all there is.
    return build_profile(spark, source, Settings(warm_up_s=_WARM_UP_S), progress=say)


def _missing(measured: Measurement) -> list[str]:
    return [f"{missing.row} is not known yet: {missing.why}" for missing in measured.not_ready]


def _whole_profile(measured: Measurement) -> Profile:
    try:
        return measured.whole_profile()
    except PenstockError as error:
        remedy = "is this computer very busy? try again when it is not"
        raise PenstockError(f"{error}\n{remedy}") from None


def _beside(watched: list[Batch], profile: Profile) -> Table:
    """CPU seconds of each component as it used them, and as the fitted profile has them."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("component")
    for column in ("tuples", "CPU (s)", "fitted (s)", "difference"):
        table.add_column(column, justify="right")
    costs = {cost.row: cost for cost in profile.costs}
    warm = [batch for batch in watched if (batch.samples[0].uptime_s or 0.0) > _WARM_UP_S]
    for name in sorted({sample.component for batch in warm for sample in batch.samples}):
        mine = [s for batch in warm for s in batch.samples if s.component == name]
        tuples = [s.produced or sum(i.tuples for i in s.inputs or ()) for s in mine]
        used = sum((s.cpu_points or 0.0) * s.window_ms for s in mine) / 1e5
        fixed = sum(costs[name].met * s.window_ms for s in mine) / 1e5
        fitted = fixed + costs[name].e * sum(tuples) / 100
        table.add_row(
            name, f"{sum(tuples):,.0f}", f"{used:.2f}", f"{fitted:.2f}", percent(fitted / used - 1)
        )
    return table


def _compare_and_show(problem: Problem) -> tuple[app.Comparison, Plan]:
    machines = len(problem.cluster.machines)
    _step(f"4. Plan it on {machines} machines with {', '.join(_SCHEDULERS)}, from the profile")
    comparison = app.compare(problem, _SCHEDULERS)
    rows = [row.facts for row in comparison.rows]
    show(comparison_page(rows))

    assert comparison.bound is not None  # the example has rates
    _step("5. How much better can any plan be?")
    show(bound_page(problem, comparison.bound))

    plans = {row.scheduler: row.plan for row in comparison.rows if row.plan is not None}
    best = max(plans.values(), key=lambda plan: plan.predicted.scale or 0.0)
    _step(f"6. The best plan, by {best.scheduler}")
    show(plan_page(best))

    _step("7. What would change against Storm's own placement")
    show(changes_page(diff(plans["default"], best)))

    _step("8. And if one and a half times as much arrives?")
    offered = 1.5 * (best.predicted.scale or 0.0)
    show(overload_page(best.problem, overload(best.problem, best.placement, offered)))

    if has_numba():
        _step("9. Is it true? A simulated minute at 0.8 of the plan's rate, tuple by tuple")
        show(simulation_page(app.simulate(best)))
    else:
        say("not simulated, because numba is not installed: pip install 'penstock[simulate]'")
    return comparison, best


def _report(compared: app.Comparison, best: Plan, out: Path) -> Path | None:
    """One page about the plan, from what is known already; its path, if charts can be drawn."""
    if not has_charts():
        say("no report, because matplotlib is not installed: pip install 'penstock[report]'")
        return None
    _step("10. All of it on one page")
    began = time.monotonic()
    known = {row.scheduler: row for row in compared.rows}
    wanted = ReportOptions(
        schedulers=_SCHEDULERS, seeds=1, before=known["default"].plan, known=known
    )
    report = reports.report_on_plan(best, wanted)
    page = reports.page(report, wanted, "penstock demo", now(), time.monotonic() - began)
    path = out / "report.html"
    write_file(path, to_html(page))
    write_file(out / "plan.svg", placement_file(best))
    show(f"{len(page.sections)} sections, {sum(1 for _ in page.numbers()):,} numbers")
    return path


def _step(title: str) -> None:
    show("", f"── {title} " + "─" * max(4, 90 - len(title)))

"""``penstock rehearse``: try policies on recorded loads before trusting one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import say, show, write_file, write_json
from penstock.control.policies import registry
from penstock.control.scores import Score
from penstock.errors import EXIT_DONE, EXIT_INTERRUPTED, InputError, UsageError
from penstock.report.charts import require_charts
from penstock.report.page.views import VIEWS, view_of
from penstock.report.pages.rehearsal import rehearsal_dict, rehearsal_page, rehearsed_rows

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def command(
    loads: Annotated[
        list[Path], typer.Argument(help="Recorded loads: CSV of time and rate at even distances.")
    ],
    topologies: Annotated[
        list[str], typer.Option("--topology", "-t", help="Topology file, or a shipped example.")
    ] = ["diamond"],  # noqa: B006
    cluster: options.Cluster = None,
    profile: options.Profile = None,
    weighted: options.Weighted = False,
    policies: Annotated[
        str | None, typer.Option("--policy", help="Policies, with commas between. Default: all.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="Guard rails (penstock schema watch).")
    ] = None,
    rules_for_all: Annotated[
        bool, typer.Option("--rules-for-all", help="Hold the peers to the guard rails, too.")
    ] = False,
    highest: Annotated[
        str,
        typer.Option(
            "--highest", help="Highest rate of a load, as a part of the bound; own: as recorded."
        ),
    ] = "70%",
    lose_every: Annotated[
        str | None, typer.Option("--lose-every", help="Lose a random machine: 45m.")
    ] = None,
    back_after: Annotated[
        str, typer.Option("--back-after", help="When it comes back: 10m.")
    ] = "10m",
    slow_every: Annotated[
        str | None, typer.Option("--slow-every", help="Slow a random machine in use down: 2h.")
    ] = None,
    slow_to: Annotated[
        str, typer.Option("--slow-to", help="Its speed then, as a part of its own.")
    ] = "60%",
    slow_for: Annotated[str, typer.Option("--slow-for", help="How long it is slow: 1h.")] = "1h",
    median: Annotated[
        str | None, typer.Option("--median", help="Take medians over so long as the rate: 5m.")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", help="Only the first days of each load.", min=0.01)
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Seeds of chance, from 0.", min=1)] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for results, journals and the best watch.yaml."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", help="Rehearse on Spark, a task each: local[…] or spark://…"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the page with pictures: page.html.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Rehearse policies on recorded loads: machine-hours, time over target, changes, regret.

    penstock rehearse load.csv -t diamond -c nasiri-large --weighted --policy penstock,flink

    penstock rehearse load.csv --lose-every 45m --slow-every 2h --seeds 3 --out results
    """
    if page is not None:
        require_charts()
        view_of(page)
    defaults = app.RehearsalOptions()
    chosen = tuple(policies.split(",")) if policies else defaults.policies
    watch = app.watch_setting(rules)
    for name in chosen:
        registry.get(name)
    registry.configured(watch.policy, watch.parameters)
    wanted = app.RehearsalOptions(
        policies=chosen,
        seeds=seeds,
        highest=_part(highest),
        faults=None
        if lose_every is None
        else app.FaultPlan(
            _seconds("--lose-every", lose_every), _seconds("--back-after", back_after)
        ),
        slow=None
        if slow_every is None
        else app.SlowPlan(
            _seconds("--slow-every", slow_every),
            _part(slow_to, "--slow-to") or 1.0,
            _seconds("--slow-for", slow_for),
        ),
        median_s=None if median is None else _seconds("--median", median),
        days=days,
        watch=watch,
        rules_for_all=rules_for_all,
    )
    problem = app.problem(topologies, cluster, profile, weighted=weighted)
    if not problem.has_rates:
        raise InputError("a rehearsal needs costs: give a profile (--profile)")
    with options.stoppable_budget(stopping="ending with what is finished") as budget:
        found = app.rehearse(
            problem, loads, wanted, out=out, master=master, progress=_progress,
            stop=lambda: budget.stopped,
        )  # fmt: skip
    rows = rehearsed_rows([(row.score, row.series) for row in found.rows])
    title = f"{problem.title} on {problem.cluster.name}"
    if as_json:
        write_json(rehearsal_dict(rows, found.best))
    elif rows:
        show(rehearsal_page(title, rows, found.best))
    if page is not None and rows:
        document = rehearsal_page(title, rows, found.best, pictures=True)
        write_file(page, VIEWS[view_of(page)](document), is_printed=True)
        say(f"wrote {page}")
    if found.was_stopped:
        say("stopped; with --out the same command goes on with what is left")
        return EXIT_INTERRUPTED
    return EXIT_DONE


def _progress(score: Score, was_kept: bool) -> None:
    again = " (kept)" if was_kept else ""
    say(f"{score.load}, {score.policy}, seed {score.seed}{again}")


def _part(text: str, option: str = "--highest") -> float | None:
    own = option == "--highest"
    if own and text == "own":
        return None
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise UsageError(
            f'{option} must be a part such as 70% or 0.7{", or own" if own else ""}, not "{text}"'
        )
    return value


def _seconds(option: str, text: str) -> float:
    unit = _UNITS.get(text[-1:], 0.0)
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise UsageError(f'{option} must be a time such as 30s, 45m or 2h, not "{text}"')
    return value

"""``penstock apply``: a plan put in force, with the person's consent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli import engine_options, history_options, options
from penstock.cli.output import say, show, write_file, write_json
from penstock.engines.registry import DEFAULT_ENGINE
from penstock.errors import EXIT_CHANGES, EXIT_DONE
from penstock.files.answer_formats import answer_head
from penstock.files.receipt_file import receipt_to_dict
from penstock.files.writer import to_json
from penstock.report.pages.changes import changes_page

if TYPE_CHECKING:
    from penstock.change.history import Receipt
    from penstock.engines.publication import Publication


def command(
    plan: Annotated[Path, typer.Argument(help="The plan to put in force.")],
    engine: engine_options.To = DEFAULT_ENGINE,
    nimbus: engine_options.Nimbus = None,
    storm_yaml: engine_options.StormYaml = None,
    types: engine_options.Types = None,
    more: engine_options.EngineOptions = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Apply the plan; without it, only show what would change.")
    ] = (False),
    wait_s: Annotated[
        int, typer.Option("--wait", help="Seconds to wait for tuples in flight.", min=0)
    ] = 2,
    within_s: Annotated[
        float,
        typer.Option(
            "--within", help="Roll back if the plan is not in force after this many seconds.", min=1
        ),
    ] = 120.0,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan-file", help="Where Nimbus' plan file is mounted on this machine."),
    ] = None,
    receipt: Annotated[
        Path, typer.Option("--receipt", help="File to write the receipt to.")
    ] = Path("receipt.json"),
    history: history_options.History = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 if something would change.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Put a plan in force on a running cluster, or go back; without --yes, show what would move.

    penstock apply plan.json --nimbus storm-master

    penstock apply plan.json --storm-yaml conf/storm.yaml --yes --within 300
    """
    loaded = options.load_plan(plan)
    target = engine_options.engine(
        engine, more, nimbus=nimbus, storm_yaml=storm_yaml, types=types, plan_file=plan_file
    )
    with app.prepared(loaded, target, name=str(plan), say=say) as ready:
        publication = ready.publication
        if not as_json:
            show(changes_page(publication.changes), *_steps(publication, wait_s))
        if publication.beside:
            say(f"plans that stay in force: {', '.join(publication.beside)}")
        if not yes:
            if as_json:
                write_json(_dry_run(publication, wait_s))
            say(
                "nothing was changed; --yes applies the plan"
                if publication.any
                else "nothing to do"
            )
            return EXIT_CHANGES if detailed_exitcode and publication.any else EXIT_DONE

        def keep(state: Receipt) -> None:
            write_file(receipt, to_json(receipt_to_dict(state)))

        done = ready.publish(wait_s=wait_s, within_s=within_s, history=history, keep=keep)
    if as_json:
        write_json(receipt_to_dict(done))
    say(f"plan {done.plan_id} is in force after {done.ended_s - done.began_s:.1f} s; see {receipt}")
    return EXIT_DONE


def _steps(publication: Publication, wait_s: int) -> list[str]:
    lines = []
    for step in publication.steps:
        if not step.pauses:
            lines.append(f"{step.topology}: no worker restarts")
            continue
        counts = ", ".join(f"{name} to {count}" for name, count in step.executors.items())
        lines.append(
            f"{step.topology}: {step.workers_restarted} of {step.workers} workers restart, "
            f"about {step.pause_s(wait_s):.0f} s without new tuples"
            + (f"; executors of {counts}" if counts else "")
        )
    return lines


def _dry_run(publication: Publication, wait_s: int) -> dict[str, object]:
    steps = [
        {
            "topology": step.topology,
            "executors": dict(step.executors),
            "workers_restarted": step.workers_restarted,
            "workers": step.workers,
            "pause_s": step.pause_s(wait_s),
        }
        for step in publication.steps
    ]
    changes = publication.changes.to_dict()
    beside = list(publication.beside)
    return {**answer_head("dry-run"), "topologies": steps, **changes, "kept": beside}

"""``penstock apply``: a plan put in force, with the person's consent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.change.guard import stale
from penstock.cli import history_options, options, storm_options
from penstock.cli.output import say, show, write_file, write_json
from penstock.engines.storm.kept import names_in
from penstock.engines.storm.permission import Permission, plan_file_of
from penstock.engines.storm.publication import Publication, Receipt, prepare
from penstock.engines.storm.publish import Publisher, read_plan_file
from penstock.errors import EXIT_CHANGES, EXIT_DONE, Finding, StaleError
from penstock.files.answer_formats import answer_head
from penstock.files.writer import to_json
from penstock.report.text import changes_view


def command(
    plan: Annotated[Path, typer.Argument(help="The plan to put in force.")],
    nimbus: storm_options.Nimbus = None,
    storm_yaml: storm_options.StormYaml = None,
    types: storm_options.Types = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would be.")] = (
        False
    ),
    wait_s: Annotated[
        int, typer.Option("--wait", help="Seconds that tuples in flight are given.", min=0)
    ] = 2,
    within_s: Annotated[
        float, typer.Option("--within", help="Go back if it is not in force after so long.", min=1)
    ] = 120.0,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan-file", help="Where Nimbus' plan file is mounted here."),
    ] = None,
    receipt: Annotated[Path, typer.Option("--receipt", help="File for what was done.")] = Path(
        "receipt.json"
    ),
    history: history_options.History = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 if something would change.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Put a plan in force on a running Storm, or go back; without --yes, show what would move.

    penstock apply plan.json --nimbus storm-master

    penstock apply plan.json --storm-yaml conf/storm.yaml --yes --within 300
    """
    wanted = options.load_plan(plan)
    target = storm_options.Target(nimbus, None, storm_yaml, types)
    with target.bridge() as bridge:
        snapshot = target.snapshot_over(bridge)
        old = stale(wanted, snapshot)
        if old:
            raise StaleError(*(Finding(change, str(plan)) for change in old), "plan again")
        permission = Permission.asked(bridge, plan_file)
        path = plan_file_of(snapshot, permission, plan_file)
        publication = prepare(wanted, snapshot)
        kept_plans = names_in(Publisher.kept(publication, read_plan_file(path)))
        if not as_json:
            show(changes_view(publication.changes), *_steps(publication, wait_s))
        if kept_plans:
            say(f"plans that stay in force: {', '.join(kept_plans)}")
        if not yes:
            if as_json:
                write_json(_dry(publication, wait_s) | {"kept": kept_plans})
            say("nothing was changed; --yes does it" if publication.any else "nothing to do")
            return EXIT_CHANGES if detailed_exitcode and publication.any else EXIT_DONE

        kept = history_options.Kept(history_options.folder(history), wanted)

        def keep(done: Receipt) -> None:
            kept.keep(done.to_dict())
            write_file(receipt, to_json(done.to_dict()))

        publisher = Publisher(
            bridge, path, say, keep,
            wait_s=wait_s, within_s=within_s, permission=permission,
            machine_types=target.machine_types,
        )  # fmt: skip
        done = publisher.publish(publication)
    if as_json:
        write_json(done.to_dict())
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


def _dry(publication: Publication, wait_s: int) -> dict[str, object]:
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
    return {**answer_head("dry-run"), "topologies": steps, **changes}

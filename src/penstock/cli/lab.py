"""``penstock lab``: unlike machines on this one computer, to try plans on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock import app as api
from penstock.cli import engine_options, lab_demo, lab_storm, options
from penstock.cli.lab_demo import DEFAULT_ENGINE
from penstock.cli.output import say, show, write_json
from penstock.engines.base import Ability
from penstock.engines.lab import keeper
from penstock.engines.lab.cluster import lab_cluster
from penstock.engines.lab.lab import WARM_UP_S
from penstock.engines.lab.machines import parse_machines
from penstock.engines.registry import naming_its_package, require
from penstock.errors import EXIT_DONE, EXIT_FAILURE
from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import plain

app = typer.Typer(
    help="Start and stop a cluster of unlike machines on this computer.", no_args_is_help=True
)


MachinesOption = Annotated[
    str, typer.Option("--machines", help="CPU points of each machine (100 is one core).")
]
ClusterOut = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the lab's machines to this cluster file.")
]
DEFAULT_MACHINES = "90,50,30"


app.command("demo", short_help="Run, measure, plan, and run again with the plan.")(lab_demo.command)
app.command("submit", short_help="Submit a topology to the Storm lab.")(lab_storm.submit)
app.command("feed", short_help="Change the rate of a topology on the Storm lab.")(lab_storm.feed)
app.command("end", short_help="End a topology on the Storm lab.")(lab_storm.end)


@app.command("up", short_help="Start a lab, which runs until penstock lab down.")
def up(
    engine: engine_options.EngineName = DEFAULT_ENGINE,
    machines: MachinesOption = DEFAULT_MACHINES,
    warm_up: Annotated[
        float,
        typer.Option(
            "--warm-up", help="Seconds for which a new program runs without limits.", min=0
        ),
    ] = WARM_UP_S,
    out: ClusterOut = None,
    as_json: options.Json = False,
) -> int:
    """Start a cluster whose machines have so many points of a core each.

    penstock lab up --engine spark --machines 90,50,30 --out lab.yaml

    penstock lab up --machines 80,40 --warm-up 40
    """
    parse_machines(machines)
    target = engine_options.engine(engine)
    require(target, Ability.LAB)
    # Here, where it can be said: the keeper of the lab has no terminal.
    with naming_its_package(engine):
        target.require_lab(say)
    say(f"starting a {engine} lab of {machines}")
    lab = keeper.up(engine, machines, warm_up)
    for note in lab.notes:
        say(f"note: {note}")
    _write_cluster(lab, out)
    return _show(lab, as_json=as_json)


@app.command("status", short_help="Show the lab's machines and what they use.")
def status(
    engine: engine_options.EngineName = DEFAULT_ENGINE,
    address: Annotated[
        bool, typer.Option("--address", help="Print only the lab's address.")
    ] = False,
    out: ClusterOut = None,
    as_json: options.Json = False,
) -> int:
    """Show what is up: address, machines, limits, what each used in the last second.

    penstock lab status

    penstock lab status --json
    """
    lab = keeper.find(engine)
    if lab is None:
        say(f"no {engine} lab is up; penstock lab up starts one")
        return EXIT_FAILURE
    if address:
        show(lab.address)
        return EXIT_DONE
    _write_cluster(lab, out)
    return _show(lab, as_json=as_json)


@app.command("down", short_help="Stop the lab and remove its files.")
def down(engine: engine_options.EngineName = DEFAULT_ENGINE) -> int:
    """Stop the lab: processes end, control groups and folders go.

    penstock lab down

    penstock lab down --engine spark
    """
    say(f"the {engine} lab is down" if keeper.down(engine) else "no lab was up")
    return EXIT_DONE


def _write_cluster(lab: keeper.LabFile, out: Path | None) -> None:
    if out is not None:
        api.save(lab_cluster(parse_machines(lab.machines)), out)
        say(f"wrote {out}")


def _show(lab: keeper.LabFile, *, as_json: bool) -> int:
    machines = keeper.machines_of(lab)
    if as_json:
        write_json(
            {
                **answer_head("lab"),
                "engine": lab.engine,
                "address": lab.address,
                "notes": list(lab.notes),
                "machines": [
                    {
                        "name": m.name, "type": m.type, "cpu_points": m.points,
                        "used_points": m.used_points, "limited": m.is_limited,
                    }
                    for m in machines
                ],
            }
        )  # fmt: skip
        return EXIT_DONE
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("machine")
    table.add_column("type")
    for column in ("points", "used now (points)", "processes"):
        table.add_column(column, justify="right")
    table.add_column("")
    for m in machines:
        used = plain(m.used_points)
        state = {True: "", False: "warming up, not limited yet", None: "not limited"}[m.is_limited]
        table.add_row(m.name, m.type, plain(m.points), used, str(m.processes), state)
    show(table)
    show(f"address: {lab.address}")
    return EXIT_DONE

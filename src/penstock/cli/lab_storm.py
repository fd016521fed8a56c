"""``penstock lab submit``, ``feed`` and ``end``: topologies to try plans on, on a Storm lab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import say
from penstock.engines.lab import keeper
from penstock.engines.lab.machines import parse_machines
from penstock.engines.storm.bridge import open_bridge
from penstock.engines.storm.lab_topology import SHAPES, LabTopology
from penstock.errors import EXIT_DONE, InputError, UnknownNameError, UsageError
from penstock.files.examples import load_topology
from penstock.files.schema import is_name
from penstock.model.topology import Kind
from penstock.planning.numbers import plain

Rate = Annotated[float, typer.Option("--rate", help="Tuples/s of all spouts together.", min=0)]


def submit(
    shape: Annotated[str, typer.Argument(help=f"One of {', '.join(SHAPES)}.")],
    name: Annotated[
        str | None, typer.Option("--name", help="What it is called; its shape without.")
    ] = None,
    rate: Rate = 50.0,
    executors: Annotated[
        list[str] | None,
        typer.Option("--executors", help="As mid=2, more than once; one each without."),
    ] = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Streams are divided by the plan's shares.")
    ] = False,
    traffic: Annotated[
        bool, typer.Option("--traffic", help="Count tuples by the task they came from.")
    ] = False,
) -> int:
    """Submit one of the topologies that plans are tried on to the Storm lab that is up.

    penstock lab submit linear --rate 100

    penstock lab submit star --name wide --executors hub=3 --executors sink-1=2 --weighted
    """
    if shape not in SHAPES:
        raise UnknownNameError("topology for a Storm lab", shape, SHAPES)
    called = name or shape
    if not is_name(called):
        raise UsageError(f'--name must be a name without slashes, not "{called}"')
    counts = _counts(shape, executors or [])
    lab = _lab()
    topology = LabTopology(Path(lab.folder), shape, called)
    topology.feed(rate)
    with open_bridge(conf_dir=Path(lab.address).parent) as bridge:
        topology.submit(
            bridge, counts, len(parse_machines(lab.machines)), weighted=weighted, traffic=traffic
        )
    say(f"{called} is submitted, at {plain(rate)} tuples/s")
    say(f"penstock lab feed {called} RATE changes it")
    say("next: penstock plan --from storm -p live -o plan.json, penstock apply plan.json")
    return EXIT_DONE


def feed(
    name: Annotated[str, typer.Argument(help="What the topology is called.")],
    rate: Annotated[float, typer.Argument(help="Tuples/s of all spouts together.", min=0)],
) -> int:
    """Change the rate of a topology on the Storm lab, while it runs.

    penstock lab feed linear 200

    penstock lab feed linear 0
    """
    topology = LabTopology(Path(_lab().folder), "", name)
    if not topology.rate_file.exists():
        raise InputError(f'no topology "{name}" was submitted by penstock lab submit')
    topology.feed(rate)
    say(f"{name}: {plain(rate)} tuples/s from now on")
    return EXIT_DONE


def end(name: Annotated[str, typer.Argument(help="What the topology is called.")]) -> int:
    """End a topology on the Storm lab.

    penstock lab end linear

    penstock lab end wide
    """
    with open_bridge(conf_dir=Path(_lab().address).parent) as bridge:
        bridge.ask("kill", name=name, wait_s=0)
    say(f"{name} ends")
    return EXIT_DONE


def _lab() -> keeper.LabFile:
    lab = keeper.find("storm")
    if lab is None or not lab.address:
        raise InputError("no Storm lab is up; penstock lab up --engine storm starts one")
    return lab


def _counts(shape: str, given: list[str]) -> dict[str, int]:
    """Executors of every component; problems all at once."""
    own = [c.name for c in load_topology(shape).components if c.kind is not Kind.ACKER]
    counts = dict.fromkeys(own, 1)
    wrong = []
    for text in given:
        component, _, count = text.partition("=")
        if component not in counts:
            wrong.append(f'{shape} has no component "{component}"; it has {", ".join(own)}')
        elif not count.isdigit() or int(count) < 1:
            wrong.append(f'--executors takes mid=2, not "{text}"')
        else:
            counts[component] = int(count)
    if wrong:
        raise UsageError("; ".join(wrong))
    return counts

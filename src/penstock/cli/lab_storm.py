"""``penstock lab submit``, ``feed`` and ``end``: topologies to try plans on, on a Storm lab."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock import app
from penstock.app.labs import components_of
from penstock.cli.output import say
from penstock.engines.storm.lab_topology import SHAPES
from penstock.errors import EXIT_DONE, UsageError
from penstock.planning.numbers import plain

Rate = Annotated[float, typer.Option("--rate", help="Tuples/s of all spouts together.", min=0)]


def submit(
    shape: Annotated[str, typer.Argument(help=f"One of {', '.join(SHAPES)}.")],
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the topology. Default: its shape.")
    ] = None,
    rate: Rate = 50.0,
    executors: Annotated[
        list[str] | None,
        typer.Option(
            "--executors", help="Executors of a component, repeatable. Default: one of each."
        ),
    ] = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Streams are divided by the plan's shares.")
    ] = False,
    traffic: Annotated[
        bool, typer.Option("--traffic", help="Count tuples by the task they came from.")
    ] = False,
    queued: Annotated[
        bool,
        typer.Option("--queued", help="What is offered waits for the spouts, as in a topic."),
    ] = False,
) -> int:
    """Submit one of the topologies that plans are tried on to the Storm lab that is up.

    penstock lab submit linear --rate 100

    penstock lab submit star --name wide --executors hub=3 --executors sink-1=2 --weighted
    """
    counts = _counts(shape, executors or [])
    called = app.lab_submit(
        shape,
        name,
        rate_per_s=rate,
        executors=counts,
        weighted=weighted,
        traffic=traffic,
        queued=queued,
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
    app.lab_feed(name, rate)
    say(f"{name}: {plain(rate)} tuples/s from now on")
    return EXIT_DONE


def end(name: Annotated[str, typer.Argument(help="What the topology is called.")]) -> int:
    """End a topology on the Storm lab.

    penstock lab end linear

    penstock lab end wide
    """
    app.lab_end(name)
    say(f"{name} ends")
    return EXIT_DONE


def _counts(shape: str, given: list[str]) -> dict[str, int]:
    """Executors of every component; problems all at once."""
    own = components_of(shape)
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

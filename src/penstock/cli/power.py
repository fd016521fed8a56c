"""``penstock power``: put machines to sleep and wake them, by the operator's own commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app as api
from penstock.cli import engine_options
from penstock.cli.output import say
from penstock.errors import EXIT_DONE

app = typer.Typer(help="Put machines to sleep and wake them.", no_args_is_help=True)

Machine = Annotated[str, typer.Argument(help="Name of the machine.")]
HooksPath = Annotated[
    Path, typer.Option("--hooks", help="Commands by machine; only you may write this file.")
]


@app.command("sleep", short_help="Put a machine to sleep on which nothing runs.")
def sleep(
    machine: Machine,
    hooks: HooksPath,
    taken_from: engine_options.FromEngine = "storm",
    nimbus: engine_options.Nimbus = None,
    ui: engine_options.Ui = None,
    storm_yaml: engine_options.StormYaml = None,
    more: engine_options.EngineOptions = None,
) -> int:
    """Put a machine to sleep; one with instances on it is refused, one that fails stays in service.

    penstock power sleep b --hooks hooks.yaml --storm-yaml conf/storm.yaml

    penstock power sleep b --hooks hooks.yaml --nimbus storm-master
    """
    target = engine_options.engine(taken_from, more, nimbus=nimbus, ui=ui, storm_yaml=storm_yaml)
    api.sleep(machine, hooks, target, say=say)
    say(f"{machine} was put to sleep")
    return EXIT_DONE


@app.command("wake", short_help="Wake a machine.")
def wake(machine: Machine, hooks: HooksPath) -> int:
    """Wake a machine.

    penstock power wake b --hooks hooks.yaml
    """
    api.wake(machine, hooks)
    say(f"{machine} was woken")
    return EXIT_DONE

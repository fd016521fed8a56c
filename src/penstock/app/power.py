"""Machines put to sleep and woken by the operator's own commands."""

from __future__ import annotations

from pathlib import Path

from penstock.app.clusters import silent, snapshot
from penstock.engines.base import Engine, Say
from penstock.errors import Finding, InputError, PenstockError, UnknownNameError
from penstock.files.hooks_file import load_hooks
from penstock.model.hooks import HookKind, Hooks
from penstock.model.snapshot import Snapshot
from penstock.system.bounded_command import run_bounded


def sleep(machine: str, hooks: str | Path, target: Engine, *, say: Say = silent) -> None:
    """Put a machine to sleep on which nothing runs; one that the hook does not reach stays."""
    known = load_hooks(hooks)
    command = _command(known, machine, HookKind.SLEEP)
    now = snapshot(target, say)
    # Under another name it would look as if nothing ran on it.
    if machine not in now.cluster.machine_index:
        raise UnknownNameError("machine on this cluster", machine, list(now.cluster.machine_index))
    if running := what_runs_on(now, machine):
        some = ", ".join(running[:3]) + (f" and {len(running) - 3} more" if running[3:] else "")
        message = (
            f"{some} {'run' if running[1:] else 'runs'} on it; drain it first: penstock plan "
            f"--from {target.name} --avoid {machine}, and penstock apply"
        )
        raise InputError(Finding(message, field=machine))
    result = run_bounded(command, known.within_s)
    if not result.is_done:
        raise PenstockError(f"{machine} stays in service: {result.why}")


def wake(machine: str, hooks: str | Path) -> None:
    """Wake a machine."""
    known = load_hooks(hooks)
    result = run_bounded(_command(known, machine, HookKind.WAKE), known.within_s)
    if not result.is_done:
        raise PenstockError(f"{machine} may still be asleep: {result.why}")


def what_runs_on(running: Snapshot, machine: str) -> list[str]:
    """Components with an instance on a machine, as ``topology/component``."""
    return [
        f"{deployed.topology}/{component}"
        for deployed in running.deployed
        for component, places in deployed.components
        if any(place[0] == machine for place in places)
    ]


def _command(hooks: Hooks, machine: str, kind: HookKind) -> tuple[str, ...]:
    if machine not in hooks.commands:
        raise UnknownNameError("machine with hooks", machine, sorted(hooks.commands))
    return hooks.commands[machine][kind]

"""What to do about costs that a profile lacks: a line for the cluster file, a command to paste."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from penstock.errors import MissingCostsError


def what_helps(
    error: MissingCostsError, arguments: Sequence[str], known: Collection[str]
) -> list[str]:
    """Lines to print after the error of a command; none where its verb lacks the options."""
    if not error.options.keys() <= set(known):
        return []
    given = {text.partition("=")[0] for text in arguments}
    added = [w for option in error.options.items() if option[0] not in given for w in option]
    command = f"try: {shlex.join(['penstock', *arguments, *added])}"
    if not error.without_speed:
        return [command]
    measured_on = error.options["--estimate-from"]
    types = ", ".join(f"types.{kind}" for kind in error.without_speed)
    meaning = f'1 = a core as fast as on "{measured_on}", 1.5 = half as fast again'
    return [f"add speed: to {types} in the cluster file ({meaning})", f"then {command}"]

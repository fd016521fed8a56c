"""Verbs of other distributions: entry points of the group ``penstock.verbs``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points

from penstock.cli.output import say

GROUP = "penstock.verbs"


def installed_verbs() -> Iterator[tuple[str, Callable[..., int]]]:
    """Each verb's name with its command, by name; one that cannot be loaded is said and left out.

    Its package may lack what it needs, and the other verbs go on without it.
    """
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            command = entry.load()
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.value
            say(f"the verb {entry.name} of {package} is left out: {type(error).__name__}: {error}")
            continue
        yield entry.name, command

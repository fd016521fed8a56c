"""The verbs by name, each loaded when it is asked for: who plans does not wait for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from keyword import iskeyword
from typing import Any

import typer

from penstock.cli.help_texts import with_common_help
from penstock.errors import PenstockError

#: Under this entry-point group other distributions declare verbs, ``penstock-bench`` its own.
ENTRY_POINT_GROUP = "penstock.verbs"


class LazyVerbs(Mapping[str, Any]):
    """Verb to its command, as the parser knows it.

    A verb of ours is the ``command`` of the module of its name, or the ``app`` of one that has
    verbs below it. One of another distribution that cannot be loaded says so when it is called.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        """``own`` has our verbs with what the list of verbs says of each."""
        self._own = own
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, verb: str) -> Any:
        if verb not in self._loaded:
            self._loaded[verb] = with_common_help(self._load(verb))
        return self._loaded[verb]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._own, *self._installed]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        entries = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name)
        return {entry.name: entry for entry in entries}

    def _load(self, verb: str) -> Any:
        if verb in self._own:
            module = import_module(f"penstock.cli.{verb}{'_' if _is_taken(verb) else ''}")
            one = getattr(module, "command", None) or module.app
            return _parsed(verb, one, self._own[verb])
        entry = self._installed[verb]
        try:
            return _parsed(verb, entry.load())
        # Its package may lack what it needs, and the other verbs go on without it.
        except Exception as error:
            return _unusable(entry, error)


def _is_taken(verb: str) -> bool:
    """Whether Python has the word for itself."""
    return iskeyword(verb) or verb == "help"


def _parsed(verb: str, one: Any, line: str | None = None, **settings: Any) -> Any:
    """A function with its options, or a group of verbs, as a command of the program."""
    program = typer.Typer(add_completion=False, rich_markup_mode=None)
    program.callback()(lambda: None)
    if isinstance(one, typer.Typer):
        program.add_typer(one, name=verb)
    else:
        program.command(verb, short_help=line, **settings)(one)
    group: Any = typer.main.get_command(program)
    return group.commands[verb]


def _unusable(entry: EntryPoint, error: Exception) -> Any:
    """A command that says why there is none, whatever it is called with."""
    package = entry.dist.name if entry.dist else entry.value
    why = f"cannot be loaded: {type(error).__name__}: {error}"

    def command() -> int:
        raise PenstockError(f'the verb "{entry.name}" of {package} {why}')

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    return _parsed(entry.name, command, f"({why})", context_settings=anything)

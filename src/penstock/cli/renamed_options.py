"""Options that were called something else: the old name works, is in no help, and warns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.cli.output import say

#: Verb, then the old name of an option, then today's. One idea has one name in all verbs, and one
#: name (or letter) means one thing.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "plan": {"--least": "--minimize", "--machines": "--all-machines"},
    "show": {"--machines": "--all-machines"},
    "explain": {"--machines": "--all-machines"},
    "report": {"--before": "--current"},
    "simulate": {
        "--seconds": "--duration",
        "--most-tuples": "--max-tuples",
        "-s": "--scenario",
    },
    "sweep": {"--again": "--retry-failed"},
    "history measure": {"--anew": "--rebuild"},
    "import flux": {"-e": "--env-filter"},
    "lab submit": {"-e": "--executors"},
    "run": {"--kafka": "--source"},
    # Verbs of the harness.
    "generate": {"--types": "--machine-types"},
    "reproduce": {"--again": "--rerun"},
}


def with_todays_names(arguments: Sequence[str]) -> list[str]:
    """The arguments with renamed options under today's names; each old one is warned about."""
    verb, renamed = _renamed_in(arguments)
    options, rest = _before_the_end_of_options(arguments)
    translated = []
    for text in options:
        old, today = _todays(text, renamed)
        if old:
            say(f"warning: {old} of penstock {verb} is now called {renamed[old]}")
        translated.append(today)
    return [*translated, *rest]


def _renamed_in(arguments: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    for words in (2, 1):
        verb = " ".join(arguments[:words])
        if verb in RENAMED:
            return verb, RENAMED[verb]
    return "", {}


def _before_the_end_of_options(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before ``--``, and the rest."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:end], arguments[end:]


def _todays(text: str, renamed: Mapping[str, str]) -> tuple[str, str]:
    """The old option that a word is, if it is one, and the word as it is typed today."""
    for old, new in renamed.items():
        if text == old:
            return old, new
        if old.startswith("--") and text.startswith(f"{old}="):
            return old, new + text[len(old) :]
        # A value may stand right behind a letter: -sdies.yaml.
        if not old.startswith("--") and text.startswith(old):
            return old, f"{new}={text[len(old) :].removeprefix('=')}"
    return "", text

"""What all help texts have in common: examples on lines of their own, values named alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

#: What an option takes, by its parameter's name; the same in all verbs. Of the others, by type.
_VALUES = {
    "add": "<type=n>",
    "agents": "<folder>",
    "apart": "<components>",
    "avoid": "<machines>",
    "baseline": "<file|name>",
    "cluster": "<file|name>",
    "config": "<name=value>",
    "counts_from": "<scheduler>",
    "demand": "<factor|rate>",
    "example": "<name>",
    "executors": "<component=n>",
    "fix": "<component=machine>",
    "kafka": "<url>",
    "keep": "<time>",
    "keep_raw": "<time>",
    "latency": "<ms>",
    "levels": "<fractions>",
    "loads": "<fractions>",
    "master": "<url>",
    "minimize": "<goals>",
    "older_than": "<time>",
    "properties": "<name=value>",
    "profile": "<file|name>",
    "raw_older_than": "<time>",
    "remove": "<machines>",
    "scheduler": "<name>",
    "schedulers": "<names>",
    "setting": "<name=value>",
    "settings": "<name=value>",
    "since": "<time>",
    "telemetry": "<folder>",
}
_BY_TYPE = {Path: "<path>", str: "<text>", int: "<n>", float: "<number>"}
_EXAMPLE = re.compile(r"^penstock ", re.MULTILINE)


def with_common_help(command: Any) -> Any:
    """A verb, and those below it, whose help lists examples whole and says what options take."""
    command.help = examples_apart(command.help or "")
    hints = get_type_hints(command.callback) if command.callback else {}
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.metavar is None:
            parameter.metavar = _value(parameter, hints.get(parameter.name))
    for below in getattr(command, "commands", {}).values():
        with_common_help(below)
    return command


def examples_apart(text: str) -> str:
    """The text with its examples last, one to a line however narrow the terminal is."""
    sentence, *rest = re.split(r"\n\s*\n", text.replace("\b\n", ""))
    examples = [part for part in rest if _EXAMPLE.match(part)]
    others = [part for part in rest if part not in examples]
    if not examples:
        return text
    lines = "\n".join(f"  {example.strip()}" for example in examples)
    return "\n\n".join([sentence, *others, f"\b\nExamples:\n{lines}"])


def _value(parameter: Any, hint: object) -> str | None:
    """``<file|name>``; nothing for a flag, and the parser's own words for a list of choices."""
    if parameter.is_flag:
        return None
    kinds = [_BY_TYPE[kind] for kind in (hint, *get_args(hint)) if kind in _BY_TYPE]
    return _VALUES.get(parameter.name) or (kinds[0] if kinds else None)

"""YAML to plain values with line numbers, safe against hostile files.

Built on libyaml's event stream instead of PyYAML's loaders, because we need the line of every
value, YAML 1.2's idea of numbers (``1e3`` is one, ``no`` is a word), an error for a key given
twice, and a count of what aliases would expand to before anything expands it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.reader import ReaderError

from penstock.errors import Finding, InputError, shown
from penstock.files.document import (
    MOST_DEPTH,
    MOST_YAML_BYTES,
    ParsedFile,
    Place,
    field_name,
    raised_limit,
)

#: More values than any topology or cluster in YAML has; aliases count each time they are used.
MOST_VALUES = 200_000

_INTEGER = re.compile(r"[-+]?[0-9]{1,300}$|0x[0-9a-fA-F]{1,250}$|0o[0-7]{1,300}$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_WORDS: dict[str, object] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    ".nan": float("nan"),
    ".NaN": float("nan"),
    ".NAN": float("nan"),
}
_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)$")
_STRING_TAGS = (None, "!", "tag:yaml.org,2002:str")


def parse_yaml(text: str, name: str) -> ParsedFile:
    """One YAML document."""
    composer = _Composer(text, name)
    value = composer.document()
    positions = composer.positions
    return ParsedFile(name, value, lambda: positions)


class _Composer:
    """Turns events into values; every limit is checked as the events come."""

    def __init__(self, text: str, name: str) -> None:
        self.positions: dict[Place, int] = {}
        self._text, self._name = text, name
        # Each anchor's value, how many values it stands for and how deep it is.
        self._anchors: dict[str, tuple[object, int, int]] = {}
        self._open_anchors: set[str] = set()
        self._values = 0
        self._most_values = raised_limit(MOST_VALUES, MOST_YAML_BYTES)
        # Depth of the deepest value since the innermost open anchor began.
        self._deepest = 0
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        # The stubs know no event's attributes.
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)

    def document(self) -> object:
        try:
            self._skip(yaml.StreamStartEvent)
            event: Any = next(self._events)
            if isinstance(event, yaml.StreamEndEvent):
                return None  # every line is a comment
            value = self._value(next(self._events), (), 0)
            self._skip(yaml.DocumentEndEvent)
            event = next(self._events)
            if not isinstance(event, yaml.StreamEndEvent):
                raise self._error("holds a second document (---); one is expected", event)
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except ReaderError as error:
            raise self._character_error(error) from None
        return value

    def _skip(self, expected: type[yaml.Event]) -> None:
        event = next(self._events)
        assert isinstance(event, expected), event

    def _value(self, event: Any, place: Place, depth: int) -> object:
        self.positions[place] = _line(event)
        self._reach(depth, event)
        self._count(1, event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place, depth)
        anchor = getattr(event, "anchor", None)
        before, deepest = self._values, self._deepest
        if anchor:
            self._open_anchors.add(anchor)
            self._deepest = depth
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, place)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event, place, depth)
        else:
            value = self._mapping(event, place, depth)
        if anchor:
            self._open_anchors.discard(anchor)
            self._anchors[anchor] = (value, self._values - before + 1, self._deepest - depth)
            self._deepest = max(deepest, self._deepest)
        return value

    def _sequence(self, start: Any, place: Place, depth: int) -> list[object]:
        self._refuse_tag(start, place, "tag:yaml.org,2002:seq")
        items: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*place, len(items)), depth + 1))
        return items

    def _mapping(self, start: Any, place: Place, depth: int) -> dict[str, object]:
        self._refuse_tag(start, place, "tag:yaml.org,2002:map")
        mapping: dict[str, object] = {}
        merged: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error("a key must be a plain word or number", event, place)
            self._count(1, event)
            key = event.value
            if key == "<<" and event.implicit[0]:
                merged |= self._merge(place, depth)
                continue
            if key in mapping:
                raise self._error(f'"{key}" is given twice', event, (*place, key))
            key_line = _line(event)
            mapping[key] = self._value(next(self._events), (*place, key), depth + 1)
            self.positions[(*place, key)] = key_line
        return merged | mapping

    def _merge(self, place: Place, depth: int) -> dict[str, object]:
        event = next(self._events)
        value = self._value(event, (*place, "<<"), depth + 1)
        merged: dict[str, object] = {}
        for part in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(part, dict):
                raise self._error("<< takes a mapping or a list of mappings", event, place)
            merged |= part
        return merged

    def _alias(self, event: Any, place: Place, depth: int) -> object:
        if event.anchor in self._open_anchors:
            raise self._error(f"*{event.anchor} holds itself", event, place)
        if event.anchor not in self._anchors:
            raise self._error(f"*{event.anchor}: no such anchor", event, place)
        value, size, height = self._anchors[event.anchor]
        self._count(size, event)
        self._reach(depth + height, event)
        return value

    def _scalar(self, event: Any, place: Place) -> object:
        if event.tag not in _STRING_TAGS:
            self._refuse_tag(event, place, "")
        plain = event.implicit[0] and event.tag is None
        return plain_scalar(event.value) if plain else event.value

    def _refuse_tag(self, event: Any, place: Place, allowed: str) -> None:
        if event.tag not in (None, "!", allowed):
            raise self._error(
                f"tag {shown(event.tag)} is not allowed; write a plain value", event, place
            )

    def _reach(self, depth: int, event: Any) -> None:
        self._deepest = max(self._deepest, depth)
        if depth > MOST_DEPTH:
            raise self._error(f"nested more than {MOST_DEPTH} deep", event)

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > self._most_values:
            raise self._error(
                f"holds more than {self._most_values:,} values, aliases counted each time they are "
                "used; write large inputs as JSON",
                event,
            )

    def _error(self, message: str, event: Any, place: Place = ()) -> InputError:
        line = _line(event)
        return InputError(Finding(message, self._name, line, field_name(place)))

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> InputError:
        mark: Any = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark else None
        return InputError(Finding(f"not YAML: {what}", self._name, line))

    def _character_error(self, error: Any) -> InputError:
        before = self._text.encode()[: error.position]
        message = (
            f"not YAML: character #x{error.character:02x} is not allowed; is it a binary file?"
        )
        return InputError(Finding(message, self._name, before.count(b"\n") + 1))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def plain_scalar(text: str) -> object:
    """A plain scalar by the YAML 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.match(text):
        return float(text)
    if infinity := _INFINITY.match(text):
        return float(f"{infinity.group(1)}inf")
    return text

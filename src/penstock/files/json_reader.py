"""JSON to plain values; lines are worked out only when a message needs them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from penstock.errors import Finding, InputError
from penstock.files.document import (
    MEGABYTE,
    MOST_DEPTH,
    MOST_JSON_BYTES,
    ParsedFile,
    Place,
    Positions,
    raised_limit,
)

#: Lists, objects and members: a plan of 120,000 instances has fewer. Each takes some 200 bytes
#: and two microseconds, so that the worst file costs a second.
MOST_VALUES = 400_000
#: Above these a message names the field without its line: the search takes 5 µs a value.
_MOST_VALUES_SEARCHED = 60_000
_MOST_BYTES_SEARCHED = 4 * MEGABYTE
_MOST_DIGITS = 4300  # Python's own limit
# Possessive (*+): a string of megabytes must not leave a way back for each of its characters.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]+')


#: Escapes of text; what is left of a pair of surrogates without the other is no character.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


class _Repeated(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def parse_json(text: str, name: str) -> ParsedFile:
    """One JSON value. NaN and Infinity are read, so that the message names their field."""
    values, most = _about(text), raised_limit(MOST_VALUES, MOST_JSON_BYTES)
    if values > most:
        raise InputError(Finding(f"holds about {values:,} values; at most {most:,} are read", name))
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        what = "the file ends too early" if error.pos >= len(text.rstrip()) else error.msg
        raise InputError(Finding(f"not JSON: {what}", name, error.lineno)) from None
    except _Repeated as repeated:
        line = _line_of_second(text, repeated.key)
        raise InputError(Finding(f'"{repeated.key}" is given twice', name, line)) from None
    except RecursionError:
        raise InputError(Finding(f"nested more than {MOST_DEPTH} deep", name)) from None
    except ValueError:
        message = f"holds a number of more than {_MOST_DIGITS} digits"
        raise InputError(Finding(message, name, _line_of_long_number(text))) from None
    _refuse_deep(value, name)
    _refuse_half_characters(value, text, name)
    return ParsedFile(name, value, lambda: _positions(text))


def _about(text: str) -> int:
    """How many values the text holds, give or take those inside strings."""
    return text.count(",") + text.count("[") + text.count("{")


def _is_searched(text: str) -> bool:
    return len(text) <= _MOST_BYTES_SEARCHED and _about(text) <= _MOST_VALUES_SEARCHED


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Repeated(key)
            seen.add(key)
    return members


def _refuse_deep(value: object, name: str) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise InputError(Finding(f"nested more than {MOST_DEPTH} deep", name))


def _refuse_half_characters(value: object, text: str, name: str) -> None:
    """A surrogate without the other one, which no file can be written with."""
    if "\\ud" not in text and "\\uD" not in text:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        message = f"not JSON: half a character (\\u{code:04x}), a surrogate without the other one"
        raise InputError(Finding(message, name, _line_of_half(text))) from None


def _line_of_half(text: str) -> int | None:
    if not _is_searched(text):
        return None
    half = next((m for m in _ESCAPE.finditer(text) if m["half"]), None)
    return text.count("\n", 0, half.start()) + 1 if half else None


def _line_of_long_number(text: str) -> int | None:
    match = re.search(rf"[0-9]{{{_MOST_DIGITS + 1},}}", text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def _line_of_second(text: str, key: str) -> int | None:
    """The line on which an object gives a key again."""
    seen: set[Place] = set()
    if not _is_searched(text):
        return None
    for place, line in _walk(text):
        if place and place[-1] == key and place in seen:
            return line
        seen.add(place)
    return None


@lru_cache(maxsize=4)
def _positions(text: str) -> Positions:
    if not _is_searched(text):
        return {}
    lines: dict[Place, int] = {}
    for place, line in _walk(text):
        lines.setdefault(place, line)
    return lines


def _walk(text: str) -> Iterator[tuple[Place, int]]:
    """Every value of JSON text with its line, in order; what is not asked for may be no JSON."""
    # One entry per open container: the current key, or the current position in a list.
    stack: list[str | int] = []
    is_object: list[bool] = []
    expects_key = False
    line, counted_to = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", counted_to, token.start())
        counted_to = token.start()
        symbol = token.group()
        if symbol in "{[":
            if not is_object or not is_object[-1]:  # inside an object its key was noted already
                yield tuple(stack), line
            is_object.append(symbol == "{")
            stack.append("" if symbol == "{" else 0)
            expects_key = symbol == "{"
        elif symbol in "}]":
            stack.pop()
            is_object.pop()
            expects_key = False
        elif symbol == ",":
            expects_key = is_object[-1]
            if not is_object[-1]:
                stack[-1] = int(stack[-1]) + 1
        elif symbol == ":":
            expects_key = False
        elif expects_key:
            stack[-1] = json.loads(symbol)
            yield tuple(stack), line
        elif not is_object or not is_object[-1]:
            yield tuple(stack), line

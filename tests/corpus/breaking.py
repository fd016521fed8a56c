"""How the corpus breaks a valid document in one place and knows the line of that place.

The value to break is replaced by a marker, the document written, the marker looked up in the
text and replaced by the wrong value: so the line that a message must name comes from the text,
not from the code under test.
"""

from __future__ import annotations

import json
import math
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import yaml
from tests.corpus.bases import base

Place = tuple[str | int, ...]

_MARK = "@@mark@@"
#: The corpus is hundreds of documents; libyaml writes the same bytes in a tenth of the time.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: File name and command of each kind of document; the command must refuse the file.
COMMANDS = {
    "topology": "plan topology.yaml -c nasiri-testbed -p nasiri -o made.json",
    "cluster": "plan -e linear -c cluster.yaml -p nasiri --svg made.svg",
    "profile": "plan -e linear -c nasiri-testbed -p profile.yaml -o made.json",
    "terms": "plan -e linear -c nasiri-testbed --terms terms.yaml -o made.json",
    "scenario": "validate scenario.yaml",
    "sweep": "validate sweep.yaml",
    "plan": "show plan.json --svg made.svg",
    "flux": "import flux flux.yaml -o made.yaml",
    "storm": "import storm-yaml storm.yaml -o made.yaml",
    "recorded cluster": "import production recorded -o made",
    "recorded topologies": "import production recorded -o made",
}
FILES = {
    "topology": "topology.yaml",
    "cluster": "cluster.yaml",
    "profile": "profile.yaml",
    "terms": "terms.yaml",
    "scenario": "scenario.yaml",
    "sweep": "sweep.yaml",
    "plan": "plan.json",
    "flux": "flux.yaml",
    "storm": "storm.yaml",
    "recorded cluster": "recorded/cluster.json",
    "recorded topologies": "recorded/topologies.json",
}


class Broken(NamedTuple):
    """One file that must be refused, and what the message must say."""

    name: str
    kind: str
    filename: str
    data: bytes
    #: ``file:line field``, as the message begins after ``error: ``.
    place: str
    message: str

    @property
    def command(self) -> list[str]:
        return COMMANDS[self.kind].replace(FILES[self.kind], self.filename).split()


def text_of(document: Any, kind: str) -> str:
    """The document as its file says it, one value a line."""
    if FILES[kind].endswith(".json"):
        return json.dumps(document, indent=1)
    return yaml.dump(document, Dumper=_DUMPER, sort_keys=False)


def field_of(place: Place) -> str:
    field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place)
    return field.removeprefix(".")


def parent(document: Any, place: Place) -> Any:
    for part in place[:-1]:
        document = document[part]
    return document


def put(document: Any, place: Place, value: Any) -> Any:
    parent(document, place)[place[-1]] = value
    return document


def line_of(document: Any, place: Place, kind: str) -> int:
    """The line on which the value at a place begins."""
    if not place:
        return 1
    text = text_of(put(deepcopy(document), place, _MARK), kind)
    return text[: text.index(_MARK)].count("\n") + 1


def literal(value: Any, kind: str) -> str:
    """A wrong value as text; numbers that JSON does not have in the way Python writes them."""
    if FILES[kind].endswith(".json") or not isinstance(value, float) or math.isfinite(value):
        return json.dumps(value)
    return ".nan" if math.isnan(value) else ".inf"


@cache
def _marked(kind: str, place: Place) -> str:
    """A document with the marker in one place: written once for all values that are wrong there."""
    return text_of(put(base(kind), place, _MARK), kind)


def with_value(kind: str, place: Place, value: Any, message: str) -> Broken:
    """A document with one wrong value."""
    marked = _marked(kind, place)
    line = marked[: marked.index(_MARK)].count("\n") + 1
    quoted = f'"{_MARK}"' if FILES[kind].endswith(".json") else f"'{_MARK}'"
    text = marked.replace(quoted, literal(value, kind))
    name = f"{kind} {field_of(place)} = {literal(value, kind)[:30]}"
    return broken(name, kind, text, line, field_of(place), message)


def without(kind: str, place: Place) -> Broken:
    """A document that lacks a field; the message names the mapping that should have it."""
    document = base(kind)
    line = line_of(document, place[:-1], kind)
    del parent(document, place)[place[-1]]
    field = field_of(place)
    return broken(
        f"{kind} without {field}", kind, text_of(document, kind), line, field, "is missing"
    )


def misspelt(kind: str, place: Place) -> Broken:
    """A document with a letter too many in the name of a field."""
    document = base(kind)
    holder, right = parent(document, place), str(place[-1])
    wrong = right[:2] + right[1:]  # "instances" becomes "innstances"
    renamed = {wrong if key == right else key: value for key, value in holder.items()}
    holder.clear()
    holder.update(renamed)
    at = (*place[:-1], wrong)
    line = line_of(document, at, kind)
    message = f'no such field; did you mean "{right}"?'
    name = f"{kind} {field_of(place)} misspelt"
    return broken(name, kind, text_of(document, kind), line, field_of(at), message)


def with_unknown(kind: str, place: Place) -> Broken:
    """A document with a field that nobody knows."""
    document = base(kind)
    at = (*place, "hue")
    put(document, at, "blue")
    line = line_of(document, at, kind)
    name = f"{kind} {field_of(at)}"
    return broken(name, kind, text_of(document, kind), line, field_of(at), "no such field; ")


def broken(
    name: str, kind: str, text: str | bytes, line: int | None, field: str, message: str
) -> Broken:
    filename = FILES[kind]
    where = filename if line is None else f"{filename}:{line}"
    place = f"{where} {field}" if field else where
    data = text if isinstance(text, bytes) else text.encode()
    return Broken(name, kind, filename, data, place, message)

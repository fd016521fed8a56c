"""What all file formats share: strict pydantic models, and their errors in the user's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import Finding, close_match, shown
from penstock.files.document import Document, Place

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s/][^\n\r\t/]*$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Fraction = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class Strict(BaseModel):
    """Nothing is guessed: unknown fields, wrong types, NaN and infinity are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class FileModel(Strict):
    """A whole file: says what it is and in which version of the format."""

    #: The value of ``format``.
    FORMAT: ClassVar[str]
    version: Literal[1] = Field(description="Version of the format.")


_M = TypeVar("_M", bound=BaseModel)

_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "finite_number": "must be a finite number",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must be a name: not empty, without line breaks, tabs or slashes",
}


def check(document: Document, model: type[_M]) -> tuple[_M | None, list[Finding]]:
    """The document as a model, or everything about its shape that is wrong."""
    try:
        return model.model_validate(document.value), []
    except ValidationError as error:
        return None, [_finding(document, model, dict(e)) for e in error.errors(include_url=False)]
    except RecursionError:
        return None, [document.finding((), "nested too deeply")]


def _finding(document: Document, model: type[BaseModel], error: dict[str, Any]) -> Finding:
    # pydantic marks an error in a key itself with an extra "[key]".
    place: Place = tuple(part for part in error["loc"] if part != "[key]")
    kind, seen = error["type"], error["input"]
    if kind == "extra_forbidden":
        known = _fields_at(model, place[:-1])
        return document.finding(place, _unknown_field(str(place[-1]), known))
    if kind == "missing":
        return document.finding(place, "is missing")
    if kind in ("enum", "literal_error"):
        expected = str(error["ctx"].get("expected", "")).replace("'", "")
        close = close_match(str(seen), expected.replace(" or ", ", ").split(", "))
        hint = f'; did you mean "{close}"?' if close else ""
        return document.finding(place, f"must be {expected}, not {shown(seen)}{hint}")
    message = _MESSAGES.get(kind)
    if message is None:
        text = str(error["msg"])
        message = text.replace("Input should be", "must be").replace("Value error, ", "")
        message = message[:1].lower() + message[1:]
    return document.finding(place, f"{message}, not {shown(seen)}")


def _unknown_field(name: str, known: Sequence[str]) -> str:
    close = close_match(name, known)
    if close:
        return f'no such field; did you mean "{close}"?'
    return f"no such field; known: {', '.join(known)}" if known else "no such field"


def _fields_at(model: type[BaseModel], place: Place) -> list[str]:
    """The fields a model knows at a place, read off its JSON Schema."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    node: dict[str, Any] = schema
    for part in place:
        node = _resolved(node, definitions)
        if isinstance(part, int):
            node = node.get("items", {})
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        else:
            extra = node.get("additionalProperties")
            node = extra if isinstance(extra, dict) else {}
    return list(_resolved(node, definitions).get("properties", {}))


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and the one branch of an optional that is not null."""
    while True:
        if "$ref" in node:
            node = definitions[node["$ref"].rsplit("/", 1)[-1]]
        elif "anyOf" in node:
            node = next((b for b in node["anyOf"] if b.get("type") != "null"), {})
        else:
            return node


def as_mapping(value: object) -> dict[str, Any]:
    """The value if it is a mapping, else nothing: for checks that run on half-broken files."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else nothing."""
    return value if isinstance(value, list) else []

"""What all file formats share: strict pydantic models, and their errors in the user's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import is_
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import Finding, close_match, shown, unknown_name
from penstock.files.document import LONGEST_NAME, ParsedFile, Place, shortened
from penstock.files.versions import FormatVersion, Migrate

_NAME_PATTERN = r"^[^\s/\x00-\x1f\x7f-\x9f][^/\x00-\x1f\x7f-\x9f]*$"
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=_NAME_PATTERN)]
_LEAST, _MOST = 1e-15, 1e15


def _not_tiny(value: float) -> float:
    """Beyond these limits no quantity has a meaning, and sums of such numbers have none either."""
    if 0 < value < _LEAST:
        raise ValueError(f"must be 0 or at least {_LEAST:g}")
    return value


_NotTiny = AfterValidator(_not_tiny)
Positive = Annotated[float, Field(gt=0, le=_MOST, allow_inf_nan=False), _NotTiny]
NotNegative = Annotated[float, Field(ge=0, le=_MOST, allow_inf_nan=False), _NotTiny]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Fraction = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


#: Stated in fields of their own.
_OWN_FIELDS = ("cpu_points", "memory_mb", "slots")


def _not_a_field(name: str) -> str:
    if name in _OWN_FIELDS:
        raise ValueError("has a field of its own, beside resources")
    return name


#: What a machine has, or an instance asks for, of resources beside CPU and memory.
ResourceName = Annotated[Name, AfterValidator(_not_a_field)]
Amounts = dict[ResourceName, NotNegative]


class Strict(BaseModel):
    """Nothing is guessed: unknown fields, wrong types, NaN and infinity are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


_M = TypeVar("_M", bound=BaseModel)
_V = TypeVar("_V")
#: The type of the field ``version``: each format says its own, ``Version[Literal[1]]``.
Version = Annotated[_V, Field(description="Version of the format.")]


class FileModel(Strict):
    """A whole file: says what it is and in which version of the format.

    A new version of a format is a new number in the type of its ``version`` and one entry of
    ``MIGRATIONS``, both in the format's own class.
    """

    #: How a file of a version becomes one of the next, by version.
    MIGRATIONS: ClassVar[Mapping[int, Migrate]] = {}
    #: What the types of ``format`` and ``version`` say, with the migrations.
    FORMAT: ClassVar[FormatVersion]
    version: int
    format: str

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: object) -> None:
        (name,) = get_args(cls.model_fields["format"].annotation)
        (version,) = get_args(cls.model_fields["version"].annotation)
        cls.FORMAT = FormatVersion(name, version, cls.MIGRATIONS)


_F = TypeVar("_F", bound=FileModel)

#: Enough to see what is wrong; a hostile file has half a million.
MANY_FINDINGS = 100
_MOST_REFERENCE_FINDINGS = 25
#: Looking up so many takes longer than a user should wait.
_MOST_ERRORS = 20_000
#: Of a long list or mapping, so many entries are checked before the rest is.
_HEAD = 2000

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
    "string_too_long": "must have at most {max_length} characters",
    "string_unicode": "must be valid Unicode",
    "too_short": "must hold at least {min_length}",
    "too_long": "must hold at most {max_length}",
    "string_pattern_mismatch": "must be a name: not empty, without line breaks, tabs or slashes",
}


def check_file(
    document: ParsedFile, model: type[_F]
) -> tuple[ParsedFile, _F | None, list[Finding]]:
    """A file as one of its format's current version, as a model, and what is wrong with it."""
    document = model.FORMAT.as_current(document)
    return (document, *check(document, model))


def check(document: ParsedFile, model: type[_M]) -> tuple[_M | None, list[Finding]]:
    """The document as a model, or everything about its shape that is wrong."""
    head = _head(document.value)
    try:
        if head is not document.value:
            model.model_validate(head)
        return model.model_validate(document.value), []
    except ValidationError as error:
        return None, _findings(document, model, error)


def first_findings(document: ParsedFile, candidates: Iterable[Finding]) -> list[Finding]:
    """The first findings of a check that may have very many."""
    findings = list(islice(candidates, _MOST_REFERENCE_FINDINGS + 1))
    if len(findings) > _MOST_REFERENCE_FINDINGS:
        findings[-1] = document.finding((), "there are more errors like these")
    return findings


def _head(value: object) -> object:
    """The value with long lists and mappings cut; the value itself if there are none."""
    if isinstance(value, dict):
        cut = {key: _head(item) for key, item in islice(value.items(), _HEAD)}
        same = len(cut) == len(value) and all(cut[key] is value[key] for key in cut)
        return value if same else cut
    if isinstance(value, list):
        items = [_head(item) for item in value[:_HEAD]]
        same = len(items) == len(value) and all(map(is_, items, value))
        return value if same else items
    return value


def _findings(
    document: ParsedFile, model: type[BaseModel], error: ValidationError
) -> list[Finding]:
    count = error.error_count()
    if count > _MOST_ERRORS:
        message = f"holds {count:,} errors; is it a file of another kind?"
        return [document.finding((), message)]
    shown_errors = error.errors(include_url=False)[:MANY_FINDINGS]
    findings = [_finding(document, model, dict(e)) for e in shown_errors]
    if count > len(findings):
        findings.append(document.finding((), f"and {count - len(findings):,} more errors"))
    return findings


def _finding(document: ParsedFile, model: type[BaseModel], error: dict[str, Any]) -> Finding:
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
        close = close_match(shortened(seen), expected.replace(" or ", ", ").split(", "))
        hint = f'; did you mean "{close}"?' if close and isinstance(seen, str) else ""
        return document.finding(place, f"must be {expected}, not {seen_as(seen)}{hint}")
    if kind in _MESSAGES:
        message = _MESSAGES[kind].format(**error.get("ctx", {}))
    else:
        text = str(error["msg"])
        message = text.replace("Input should be", "must be").replace("Value error, ", "")
        message = message[:1].lower() + message[1:]
    return document.finding(place, f"{message}, not {seen_as(seen)}")


def seen_as(value: object) -> str:
    """What was seen in place of what was wanted; a list or mapping may be a whole file."""
    if isinstance(value, (dict, list)):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind} of {len(value)}" if value else f"an empty {kind}"
    return "nothing" if value is None else shown(value)


def no_such(what: str, name: str, known: Iterable[str]) -> str:
    """As :func:`unknown_name`, for a name that may be a whole file."""
    return unknown_name(what, shortened(name), known)


def _unknown_field(name: str, known: Mapping[str, Sequence[str]]) -> str:
    below = next((field for field, fields in known.items() if name in fields), None)
    close = f"{below}.{name}" if below else close_match(shortened(name), list(known))
    if close:
        return f'no such field; did you mean "{close}"?'
    return f"no such field; known: {', '.join(known)}" if known else "no such field"


def _fields_at(model: type[BaseModel], place: Place) -> dict[str, list[str]]:
    """The fields a model knows at a place, and those below each, read off its JSON Schema."""
    schema = _json_schema(model)
    definitions = schema.get("$defs", {})
    node: dict[str, Any] = schema
    for part in place:
        node = _resolved(node, definitions)
        if isinstance(part, int):
            node = node.get("items", {})
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        else:
            # A mapping by name: its keys have a pattern where names have one.
            patterns = node.get("patternProperties", {}).values()
            entries = [node.get("additionalProperties"), *patterns]
            node = next((entry for entry in entries if isinstance(entry, dict)), {})
    fields = _resolved(node, definitions).get("properties", {})
    return {
        name: list(_resolved(field, definitions).get("properties", {}))
        for name, field in fields.items()
    }


@lru_cache
def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and the one branch of an optional that is not null."""
    while True:
        if "$ref" in node:
            node = definitions[node["$ref"].rsplit("/", 1)[-1]]
        elif "anyOf" in node:
            node = next((b for b in node["anyOf"] if b.get("type") != "null"), {})
        else:
            return node


def is_name(value: object) -> bool:
    """Whether a value, or a number's text, may name something."""
    text = str(value) if isinstance(value, (str, int)) else ""
    return len(text) <= LONGEST_NAME and re.search(_NAME_PATTERN, text) is not None


def as_mapping(value: object) -> dict[str, Any]:
    """The value if it is a mapping, else nothing: for checks that run on half-broken files."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else nothing."""
    return value if isinstance(value, list) else []

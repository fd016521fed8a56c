"""Values to text: JSON that is stable to the byte and pleasant in a diff, and YAML."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import yaml

from penstock.files.replacement import remove_leftovers, replace_file

_WIDTH = 100


def to_json(value: object) -> str:
    """JSON in which whatever fits on a line stays on one; the same value gives the same bytes."""
    return _render(value, 0) + "\n"


def _render(value: object, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(flat) + 2 * depth <= _WIDTH or not isinstance(value, (dict, list)):
        return flat
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        parts = [
            f"{pad}{json.dumps(key, ensure_ascii=False)}: {_render(item, depth + 1)}"
            for key, item in value.items()
        ]
        opening, closing = "{", "}"
    else:
        parts = [pad + _render(item, depth + 1) for item in value]
        opening, closing = "[", "]"
    return f"{opening}\n" + ",\n".join(parts) + f"\n{'  ' * depth}{closing}"


class _Dumper(yaml.SafeDumper):
    """Quotes what our reader, which knows YAML 1.2, would take for a number: 1e3, 0o17."""


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"0o[0-7]+$"), ["0"])


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Other quotes fold the line breaks that only Unicode knows.
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(value: object) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)


def fingerprint(value: object) -> str:
    """SHA-256 of a value, the same for every way of writing it down."""
    plain = _whole_numbers(value)
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # A document is held against its fingerprint before anything else is known of it.
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _whole_numbers(value: object) -> object:
    """``100.0`` as ``100``: a tool that lays out JSON anew may write either."""
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def write_text(path: str | Path, text: str) -> None:
    """All or nothing: a reader sees the old file or the new one, whatever happens in between."""
    path = Path(path)
    remove_leftovers(Path(os.path.realpath(path)).parent)
    replace_file(path, text.encode())

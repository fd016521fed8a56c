"""A page and a JSON Schema for every format, and the table of their versions."""

from __future__ import annotations

import json
from typing import Any

from documentation.output import DOCS, GENERATED, write
from penstock.files.answer_formats import ANSWER_FORMATS
from penstock.files.examples import text as example_text
from penstock.files.store import (
    FILE_FORMATS,
    FORMATS,
    RECEIPT,
    SAMPLE,
    WRITTEN,
    json_schema,
    schema_version,
)
from penstock.files.versions import FormatVersion
from penstock.telemetry.manifest import FORMAT as TELEMETRY_STORE

HOOKS_EXAMPLE = """\
format: penstock/hooks
version: 1
machines:
  host-c: {sleep: ssh host-c systemctl suspend, wake: wakeonlan 00:11:22:33:44:55}
"""
TERMS_EXAMPLE = """\
format: penstock/terms
version: 1
carry_per_s: 50000
least: [price, traffic]
latency_ms: {clicks: 200}
avoid: [m7]
apart: [[parse, store], [read]]
fixed: [{component: read, machine: m1, instances: 2}]
"""
EXAMPLES = {
    "topology": ("topology", "wordcount"),
    "cluster": ("cluster", "office-mix"),
    "profile": ("profile", "lab"),
}


def write_formats() -> None:
    for name in (*FORMATS, *WRITTEN):
        schema = json_schema(name)
        # Schemas of older versions stay beside it, for files that were written then.
        write(DOCS / "formats" / schema_file(name), json.dumps(schema, indent=2) + "\n")
        write(DOCS / "formats" / f"{name}.md", format_page(name, schema))
    write(DOCS / "formats" / "versions.md", versions_page())


def schema_file(name: str) -> str:
    return f"{name}.v{schema_version(name)}.schema.json"


VERSIONS_INTRO = """\
# Versions of formats

Each format counts its own versions. The number goes up when a field changes its meaning, goes, or
becomes required; a new optional field leaves it as it is.

- A file of an older version is read as one of today's, and a note says so.
- A file of a newer version than Penstock knows is an error that says which versions it knows.
- What Penstock writes is of the current version.
"""


def versions_page() -> str:
    """Which version of each format is written, and which are read."""
    samples = FormatVersion(f"penstock/{SAMPLE}", schema_version(SAMPLE))
    # Telemetry has no format line: its schema says what it is.
    read = sorted((*FILE_FORMATS, samples, TELEMETRY_STORE), key=lambda known: known.name)
    lines = [GENERATED, VERSIONS_INTRO]
    lines += ["| read and written | version | versions read |", "| --- | --- | --- |"]
    for known in read:
        versions = ", ".join(map(str, range(known.oldest, known.current + 1)))
        lines.append(f"| `{known.name}` | {known.current} | {versions} |")
    lines += ["", "| only written: what `--json` prints | version |", "| --- | --- |"]
    lines += [f"| `{known.name}` | {known.current} |" for known in ANSWER_FORMATS.values()]
    return "\n".join(lines) + "\n"


def format_page(name: str, schema: dict[str, Any]) -> str:
    title = f"# The {name} format, version {schema_version(name)}\n"
    parts = [GENERATED, title, schema["description"] + "\n"]
    file = schema_file(name)
    parts.append(f"JSON Schema: [{file}]({file}), or `penstock schema {name}`.\n")
    if name in EXAMPLES:
        kind, example = EXAMPLES[name]
        yaml = example_text(kind, example)
        parts.append(f"The shipped example `{example}`:\n\n```yaml\n{yaml}```\n")
    elif name == SAMPLE:
        parts.append("Written as JSON lines or Parquet; see [telemetry](../telemetry.md).\n")
    elif name == RECEIPT:
        parts.append("Written by `penstock apply`; see [history](../history.md).\n")
    elif name == "terms":
        parts.append(
            "Given with `penstock plan --terms terms.yaml`; for most there is an option.\n"
        )
        parts.append(f"```yaml\n{TERMS_EXAMPLE}```\n")
    elif name == "hooks":
        parts.append("Given with `--hooks`; see [machines](../machines.md#sleep-and-wake).\n")
        parts.append(f"```yaml\n{HOOKS_EXAMPLE}```\n")
    elif name == "watch":
        parts.append("Given with `penstock rehearse --rules`; see [the loop](../control.md).\n")
    elif name in ("scenario", "sweep"):
        parts.append("See [the simulator](../simulator.md), with an example.\n")
    else:
        parts.append("A plan is written by `penstock plan --out plan.json`.\n")
    whole = "The record" if name == SAMPLE else "The file"
    objects = {whole: schema} | schema.get("$defs", {})
    for title, node in objects.items():
        if "properties" in node:
            parts.append(object_table(title, node, schema.get("$defs", {})))
    return "\n".join(parts)


def object_table(title: str, node: dict[str, Any], definitions: dict[str, Any]) -> str:
    lines = [f"## {title}\n"]
    if title != "The file" and node.get("description"):
        lines.append(node["description"].split("\n")[0] + "\n")
    lines += ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    required = node.get("required", [])
    for field, value in node["properties"].items():
        default = "required" if field in required else shown_default(value)
        meaning = value.get("description", "").replace("|", "\\|")
        lines.append(f"| `{field}` | {type_words(value, definitions)} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def shown_default(value: dict[str, Any]) -> str:
    if "default" not in value:
        return "empty"
    return "–" if value["default"] in (None, "") else f"`{json.dumps(value['default'])}`"


def type_words(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "anyOf" in value:
        branches = [type_words(b, definitions) for b in value["anyOf"] if b.get("type") != "null"]
        return " or ".join(branches)
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        target = definitions[name]
        if "enum" in target:
            return ", ".join(f"`{choice}`" for choice in target["enum"])
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if value.get("type") == "array":
        return f"list of {type_words(value['items'], definitions)}"
    if value.get("type") == "object":
        inner = value.get("additionalProperties")
        if isinstance(inner, dict):
            return f"names to {type_words(inner, definitions)}"
        return "mapping"
    return {"integer": "whole number", "string": "text", "boolean": "true or false"}.get(
        value.get("type", ""), value.get("type", "anything")
    ) + limits(value)


def limits(value: dict[str, Any]) -> str:
    words = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "exclusiveMaximum": "<",
    }
    found = [f"{sign} {value[key]:g}" for key, sign in words.items() if key in value]
    return f" {', '.join(found)}" if found else ""

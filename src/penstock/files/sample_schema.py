"""The JSON Schema of the telemetry record, from the record's own table of fields."""

from __future__ import annotations

from typing import Any

from penstock.model.telemetry import (
    INPUT_FIELDS,
    OUTPUT_FIELDS,
    SAMPLE_FIELDS,
    SAMPLE_VERSION,
    FieldType,
    SampleField,
)

_TYPES: dict[FieldType, dict[str, Any]] = {
    FieldType.TEXT: {"type": "string", "minLength": 1},
    FieldType.WHOLE: {"type": "integer"},
    FieldType.NUMBER: {"type": "number", "minimum": 0},
    FieldType.INPUTS: {"type": "array", "items": {"$ref": "#/$defs/Input"}},
    FieldType.OUTPUTS: {"type": "array", "items": {"$ref": "#/$defs/Output"}},
}


def sample_json_schema() -> dict[str, Any]:
    """What one JSON line of telemetry looks like."""
    schema = _object("One line of telemetry: what one task did in one window.", SAMPLE_FIELDS)
    schema["properties"]["version"] = {"const": SAMPLE_VERSION, "description": "The version."}
    schema["$defs"] = {
        "Input": _object("Tuples from one source on one stream.", INPUT_FIELDS),
        "Output": _object("Tuples put on one stream.", OUTPUT_FIELDS),
    }
    return schema


def _object(description: str, fields: tuple[SampleField, ...]) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "properties": {f.name: _property(f) for f in fields},
        # The machine type may come from a mapping of hosts.
        "required": [f.name for f in fields if f.required and f.name != "machine_type"],
    }


def _property(field: SampleField) -> dict[str, Any]:
    unit = f" ({field.unit})" if field.unit else ""
    return {**_TYPES[field.type], "default": None, "description": f"{field.meaning}{unit}"}

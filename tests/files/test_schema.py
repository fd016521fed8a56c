"""The JSON Schemas that ``penstock schema`` prints agree with the readers and the writers."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from tests.corpus.bases import base
from tests.corpus.breaking import parent, put
from tests.corpus.fields import MAPPINGS, REQUIRED
from tests.files import strategies as random

from penstock.errors import InputError, UnknownNameError
from penstock.files import examples
from penstock.files.document import read_document
from penstock.files.store import FORMATS, dumps, json_schema, load

RANDOM = {
    "topology": random.topologies,
    "cluster": random.clusters,
    "profile": random.profiles,
    "terms": random.terms,
    "plan": random.plans,
}


def mistakes(name: str, document: object) -> list[str]:
    validator = Draft202012Validator(json_schema(name))
    return [error.message for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", FORMATS)
def test_it_is_a_schema_of_draft_2020_12(name):
    schema = json_schema(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", FORMATS)
def test_it_accepts_the_valid_document_of_the_corpus(name):
    assert mistakes(name, base(name)) == []


@pytest.mark.parametrize("name", RANDOM)
def test_it_accepts_what_the_writer_writes(name):
    validator = Draft202012Validator(json_schema(name))

    @given(RANDOM[name])
    @settings(max_examples=25)
    def accepted(value):
        validator.validate(json.loads(dumps(value)))

    accepted()


@pytest.mark.parametrize("kind", ["topology", "cluster", "profile"])
def test_it_accepts_every_shipped_example(kind):
    folder = {"topology": "topologies", "cluster": "clusters", "profile": "profiles"}[kind]
    files = sorted(Path(str(resources.files(examples) / folder)).glob("*.yaml"))
    assert files
    assert {f.name: m for f in files if (m := mistakes(kind, read_document(f).value))} == {}


@pytest.mark.parametrize(("kind", "place"), [r for r in REQUIRED if r[0] in FORMATS], ids=str)
def test_it_misses_a_required_field(kind, place):
    document = base(kind)
    del parent(document, place)[place[-1]]
    assert mistakes(kind, document) == [f"{place[-1]!r} is a required property"]


@pytest.mark.parametrize(("kind", "place"), MAPPINGS, ids=str)
def test_it_rejects_an_unknown_field(kind, place):
    assert mistakes(kind, put(base(kind), (*place, "hue"), "blue"))


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("topology", ("version",), 2),
        ("topology", ("format",), "penstock/cluster"),
        ("topology", ("name",), "a/b"),
        ("topology", ("components", "split", "instances"), 0),
        ("topology", ("components", "split", "streams", 0, "grouping"), "shufle"),
        ("cluster", ("headroom",), 1),
        ("cluster", ("types", "M1", "cpu_points"), 0),
        ("cluster", ("network", "regions", 0, "between"), ["east"]),
        ("profile", ("rows", "lowCompute", "on", "M1", "e"), -1),
        ("profile", ("origin",), "guessed"),
        ("plan", ("topologies", 0, "components", "low", 0, "share"), 2),
        ("plan", ("scheduler", "parameters", "r0"), [1]),
    ],
    ids=str,
)
def test_it_rejects_a_wrong_value(kind, place, value):
    assert mistakes(kind, put(base(kind), place, value))


def test_an_unknown_format_is_told_by_name():
    with pytest.raises(UnknownNameError, match='no format "topologi"; did you mean "topology"'):
        json_schema("topologi")


def test_a_field_one_level_too_high_is_shown_its_place(tmp_path):
    (tmp_path / "t.yaml").write_text(
        "format: penstock/topology\nversion: 1\nname: t\n"
        "components:\n  a: {kind: spout, memory_mb: 512}\n"
    )
    with pytest.raises(InputError, match=r'memory_mb: .* did you mean "requests.memory_mb"\?'):
        load(tmp_path / "t.yaml")

"""JSON values with the lines they stand on."""

from __future__ import annotations

import math

import pytest

from penstock.errors import InputError
from penstock.files.document import read_document
from penstock.files.json_reader import parse_json

TEXT = r"""{
  "name": "braces { [ , : \" \\ in a text",
  "list": [1, {"a": "]",
    "b": [[], {}, [2,
      3]]}, "x"],
  "esc\"aped\u0041": {
    "empty": {}, "null": null,
    "deep": {"": {"é": -1.5e3}}
  }
}
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ((), 1),
        (("name",), 2),
        (("list",), 3),
        (("list", 0), 3),
        (("list", 1, "a"), 3),
        (("list", 1, "b"), 4),
        (("list", 1, "b", 1), 4),
        (("list", 1, "b", 2, 0), 4),
        (("list", 1, "b", 2, 1), 5),
        (("list", 2), 5),
        # "esc\"aped\u0041" is the key  esc"apedA
        (('esc"apedA',), 6),
        (('esc"apedA', "empty"), 7),
        (('esc"apedA', "deep", "", "é"), 8),
        (('esc"apedA', "gone"), 6),
        (("list", 9), 3),
    ],
)
def test_every_value_knows_its_line(place, line):
    document = parse_json(TEXT, "f.json")
    assert document.line(place) == line


def test_values_are_those_of_json():
    assert parse_json(TEXT, "f.json").value == {
        "name": 'braces { [ , : " \\ in a text',
        "list": [1, {"a": "]", "b": [[], {}, [2, 3]]}, "x"],
        'esc"apedA': {"empty": {}, "null": None, "deep": {"": {"é": -1500.0}}},
    }


def test_not_a_number_and_infinity_are_read_so_that_their_field_can_be_named():
    found = parse_json('{"a": NaN, "b": -Infinity}', "f.json").value
    assert math.isnan(found["a"])
    assert found["b"] == -math.inf


def test_the_second_of_two_equal_keys_is_named_by_its_line():
    text = '{"a": {"x": 1},\n "b": {"x": 1},\n "c": [{"x": 1,\n  "x": 2}]}'
    with pytest.raises(InputError) as error:
        parse_json(text, "f.json")
    assert str(error.value) == 'f.json:4: "x" is given twice'


@pytest.mark.parametrize("rest", ["}", "]", "},", ", 1", ' x "', "}}]]", '"\\x"', ':{"a":'])
def test_what_follows_the_second_of_two_equal_keys_need_not_be_json(rest):
    with pytest.raises(InputError) as error:
        parse_json('{"a": 1,\n "a": 2}' + rest, "f.json")
    assert str(error.value) == 'f.json:2: "a" is given twice'


def test_what_ends_too_early_is_said_to():
    with pytest.raises(InputError, match=r"f\.json:2: not JSON: the file ends too early"):
        parse_json('{"a":\n [1, 2', "f.json")


def test_a_document_of_very_many_values_has_no_lines_but_is_read():
    text = "[" + "0,\n" * 70_000 + "0]"
    document = parse_json(text, "f.json")
    assert len(document.value) == 70_001
    assert document.line((5,)) is None


def test_whole_pairs_and_what_only_looks_like_half_of_one_are_text():
    text = r'{"a": "\ud83d\ude00", "b": "\\ud800", "\u00e9": 1}'
    assert parse_json(text, "f").value == {"a": "😀", "b": r"\ud800", "é": 1}


@pytest.mark.parametrize(
    "half", [r"\ud800", r"\udc00", r"\ud800\ud800", r"\uDC00\uD800", r"\\\ud83d"]
)
def test_half_a_character_is_refused_in_keys_and_values(half):
    for text in (f'{{"a":\n"{half}"}}', f'{{"a": 1,\n"{half}": 2}}'):
        with pytest.raises(InputError, match=r"f:2: not JSON: half a character"):
            parse_json(text, "f")


def test_the_suffix_tells_json_from_yaml_in_any_case(tmp_path):
    (tmp_path / "A.JSON").write_text('{"a": "\\u00e9"}', encoding="utf-8")
    assert read_document(tmp_path / "A.JSON").value == {"a": "é"}
    # A colon without a blank is no mapping in YAML 1.1's plain style, but is after quotes.
    (tmp_path / "a.yml").write_text('{"a":1, b: no}', encoding="utf-8")
    assert read_document(tmp_path / "a.yml").value == {"a": 1, "b": "no"}

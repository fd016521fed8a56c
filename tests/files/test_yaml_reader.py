"""YAML 1.2 values with the lines they stand on."""

from __future__ import annotations

import math

import pytest

from penstock.errors import InputError
from penstock.files.document import read_document
from penstock.files.yaml_reader import parse_yaml


def value(text: str) -> object:
    return parse_yaml(text, "f.yaml").value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-12", -12),
        ("+3", 3),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("1.", 1.0),
        (".5", 0.5),
        ("-2.5e+1", -25.0),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        # Words and numbers of YAML 1.1 that are plain text in 1.2.
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2020-01-01", "2020-01-01"),
        ("1e3x", "1e3x"),
        ("0o18", "0o18"),
        ("e3", "e3"),
        (".", "."),
        # Quotes make text of anything.
        ('"1"', "1"),
        ("'true'", "true"),
        ('"a\\tb\\u00e9"', "a\tbé"),
        ("'it''s'", "it's"),
        ("!!str 12", "12"),
        ("! 12", "12"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, expected):
    found = value(f"a: {text}\n")["a"]
    assert found == expected
    assert type(found) is type(expected)


def test_nan_is_a_number_so_that_its_field_can_be_named():
    assert math.isnan(value("a: .nan")["a"])


def test_an_integer_of_thousands_of_digits_is_read_as_a_float_and_refused_by_its_field():
    assert value("a: " + "9" * 400)["a"] == math.inf


def test_keys_are_text_whatever_they_look_like():
    assert value("1: a\nyes: b\n~: c\n2.0: d") == {"1": "a", "yes": "b", "~": "c", "2.0": "d"}


def test_block_texts_keep_or_fold_their_lines():
    assert value("a: |\n  x\n  y\nb: >-\n  x\n  y\n") == {"a": "x\ny\n", "b": "x y"}


TEXT = """\
# a comment
name: t
components:

  split:
    streams:
      - to: a
        keys: 3
      -
        to: b
    list: [1,
      2, 3]
  "quoted key": {x: 1, y: {z: 2}}
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ((), 2),
        (("name",), 2),
        (("components",), 3),
        (("components", "split"), 5),
        (("components", "split", "streams"), 6),
        (("components", "split", "streams", 0), 7),
        (("components", "split", "streams", 0, "to"), 7),
        (("components", "split", "streams", 0, "keys"), 8),
        # The second item begins where its first key does.
        (("components", "split", "streams", 1), 10),
        (("components", "split", "streams", 1, "to"), 10),
        (("components", "split", "list", 0), 11),
        (("components", "split", "list", 2), 12),
        (("components", "quoted key", "y", "z"), 13),
        # What is missing is looked for in what should have it.
        (("components", "split", "streams", 1, "keys"), 10),
        (("components", "gone", "too"), 3),
    ],
)
def test_every_value_knows_its_line(place, line):
    assert parse_yaml(TEXT, "f.yaml").line(place) == line


def test_anchors_may_be_used_again():
    text = "a: &m {cpu: 1, mem: 2}\nb: *m\nc: [*m, *m]\n"
    one = {"cpu": 1, "mem": 2}
    assert value(text) == {"a": one, "b": one, "c": [one, one]}


def test_an_anchor_may_be_given_anew():
    assert value("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_merge_keys_fill_in_what_is_not_said():
    text = "base: &b {cpu: 1, mem: 2}\nx: {<<: *b, mem: 9}\ny:\n  mem: 9\n  <<: *b\n"
    assert value(text) == {
        "base": {"cpu": 1, "mem": 2},
        "x": {"cpu": 1, "mem": 9},
        "y": {"cpu": 1, "mem": 9},
    }


def test_of_several_merged_mappings_the_first_wins():
    text = "a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc: {<<: [*a, *b]}\n"
    assert value(text)["c"] == {"x": 1, "y": 3}


def test_a_quoted_merge_key_is_a_key_like_any_other():
    assert value('a: {"<<": 1}') == {"a": {"<<": 1}}


def test_a_merged_value_has_the_line_of_the_mapping_it_was_merged_into():
    document = parse_yaml("a: &a {x: 1}\nb:\n  y: 2\n  <<: *a\n", "f.yaml")
    assert document.line(("b", "x")) == 2


def test_sixty_levels_are_read_and_one_more_is_not():
    # The outermost list is depth 0 and holds the first of sixty more.
    assert value("[" * 61 + "]" * 61)
    with pytest.raises(InputError, match=r"f\.yaml:1: nested more than 60 deep"):
        value("[" * 62 + "]" * 62)


def test_a_byte_order_mark_and_windows_lines_do_no_harm(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: 2\r\n")
    document = read_document(path)
    assert document.value == {"a": 1, "b": {"c": 2}}
    assert document.line(("b", "c")) == 3


def test_only_comments_are_no_document_at_all():
    assert value("# a\n# b\n") is None
    assert value("---\n") is None

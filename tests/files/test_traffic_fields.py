"""Traffic between instances in a profile file: what is refused, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import profile

from penstock import load
from penstock.errors import InputError
from penstock.files.store import to_dict
from penstock.model.instance_traffic import InstanceTraffic


def with_traffic(*entries: dict[str, Any]) -> dict[str, Any]:
    return {**to_dict(profile(a=1.0, b=1.0)), "traffic": list(entries)}


PAIR = {"source": 1, "target": 2, "tuples_per_s": 4.5}
TASKS = {"a": [1], "b": [2]}


def test_an_entry_is_read():
    found = load(with_traffic({"tasks": TASKS, "pairs": [PAIR], "run": "t-1-99"})).traffic
    assert found == (InstanceTraffic((("a", (1,)), ("b", (2,))), ((1, 2, 4.5),), run="t-1-99"),)


def test_a_profile_without_any_says_nothing_of_it():
    assert "traffic" not in to_dict(profile(a=1.0))
    assert load(to_dict(profile(a=1.0))).traffic == ()


def test_the_part_left_out_is_of_all():
    entry = {"tasks": TASKS, "pairs": [PAIR], "left_out": {"pairs": 3, "tuples_per_s": 1.5}}
    # 1.5 of 6.
    assert load(with_traffic(entry)).traffic[0].part_left_out == 0.25


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"tasks": {"a": [1], "b": [1]}}, "task 1 is there 2 times"),
        ({"tasks": TASKS, "pairs": [{**PAIR, "target": 7}]}, "no component has task 7"),
        ({"tasks": TASKS, "pairs": [{**PAIR, "tuples_per_s": -1}]}, "greater than or equal to 0"),
        ({"tasks": {}}, "must hold at least 1"),
        ({"tasks": {"a": "1"}}, "must be a list"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(entry, words):
    with pytest.raises(InputError, match=words):
        load(with_traffic(entry))


def test_all_that_is_wrong_is_told_with_its_place():
    pairs = [{**PAIR, "source": 8}, {**PAIR, "target": 9}]
    with pytest.raises(InputError) as raised:
        load(with_traffic({"tasks": TASKS, "pairs": pairs}))
    places = [finding.field for finding in raised.value.findings]
    assert places == ["traffic[0].pairs[0].source", "traffic[0].pairs[1].target"]

"""The checks of make lint that are ours: class names and commit subjects."""

from __future__ import annotations

import pytest
from tests.scripts.scripts import script

duplicate_classes = script("check_class_names").duplicate_classes
subject_faults = script("check_commit_subjects").subject_faults


def test_a_class_name_in_two_files_is_a_duplicate(tmp_path):
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("class Plan: ...\n\nclass Cluster: ...\n")
    second.write_text("def build():\n    class Plan: ...\n")
    assert duplicate_classes([first, second]) == {"Plan": [f"{first}:1", f"{second}:2"]}


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        ("Split a stream's rate by share", 0),
        ("Split a stream's rate by share.", 1),
        ("x" * 72, 0),
        ("x" * 73, 1),
        ("x" * 73 + ".", 2),
    ],
)
def test_a_subject_is_short_and_has_no_full_stop(subject, number):
    assert len(subject_faults(subject)) == number

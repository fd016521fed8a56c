"""Hostile files cost at most a few times the CPU of the program's own start, and 500 MB.

Seconds are no measure: on a computer that others use too, the same work takes twice as many of them
a moment later.
"""

from __future__ import annotations

import pytest
from tests.corpus.broken import corpus
from tests.corpus.hostile import HOSTILE
from tests.corpus.measured import penstock

pytestmark = pytest.mark.slow

_MOST_STARTS = 4
_MOST_MB = 500.0


@pytest.fixture(scope="module")
def start_cpu_s(tmp_path_factory):
    """What it takes to refuse next to nothing: the most of three times."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "small.yaml").write_text("a: 1\n", encoding="utf-8")
    return max(penstock(folder, "validate", "small.yaml").cpu_s for _ in range(3))


@pytest.mark.parametrize(("name", "make", "message"), HOSTILE, ids=lambda part: str(part)[:20])
def test_a_hostile_file_is_refused_fast_and_in_little_memory(
    tmp_path, start_cpu_s, name, make, message
):
    make(tmp_path / name)
    found = penstock(tmp_path, "validate", name)
    assert found.code == 1, found.err[:2000]
    assert found.out == ""
    assert "Traceback" not in found.err
    assert found.err.startswith(f"error: {name}")
    assert message in found.err
    assert len(found.err) < 100_000
    assert found.cpu_s < _MOST_STARTS * start_cpu_s
    assert found.memory_mb < _MOST_MB


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in corpus()
        if case.name in ("billion laughs", "noise as plan", "a Python call")
    ],
    ids=lambda case: case.name,
)
def test_as_a_process_the_answer_is_that_of_the_call(tmp_path, case):
    (tmp_path / case.filename).write_bytes(case.data)
    found = penstock(tmp_path, *case.command)
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith(f"error: {case.place}")
    assert case.message in found.err
    assert {path.name for path in tmp_path.iterdir()} == {case.filename, "stdout", "stderr"}


def test_the_size_limit_can_be_raised_by_those_who_know(tmp_path, monkeypatch):
    text = "\n".join(["format: penstock/topology", "x: |", *(["  " + "y" * 98] * 90_000)])
    (tmp_path / "big.yaml").write_text(text, encoding="utf-8")
    assert "9 MB; at most 8 MB" in penstock(tmp_path, "validate", "big.yaml").err
    monkeypatch.setenv("PENSTOCK_MAX_FILE_MB", "10")
    assert "no such field" in penstock(tmp_path, "validate", "big.yaml").err

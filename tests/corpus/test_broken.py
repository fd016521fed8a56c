"""Every broken file is refused: exit code 1, its place named, no traceback, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.corpus.bases import base
from tests.corpus.breaking import COMMANDS, FILES, Broken, text_of
from tests.corpus.broken import corpus

CORPUS = corpus()
_PARTNERS = {"recorded cluster": "recorded topologies", "recorded topologies": "recorded cluster"}


def write(kind: str, data: bytes, filename: str = "") -> None:
    """The file, and the other file of its folder where it needs one."""
    path = Path(filename or FILES[kind])
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    if kind in _PARTNERS:
        other = _PARTNERS[kind]
        Path(FILES[other]).write_text(text_of(base(other), other), encoding="utf-8")


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


def test_the_corpus_has_at_least_200_files_of_different_names():
    assert len(CORPUS) >= 200
    names = [case.name for case in CORPUS]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", COMMANDS)
def test_what_the_corpus_breaks_is_valid(run, kind):
    write(kind, text_of(base(kind), kind).encode())
    code, _, err = run(*COMMANDS[kind].split())
    assert (code, "error" in err) == (0, False), err


@pytest.mark.slow
@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_a_broken_file_is_refused_with_its_place(run, case: Broken):
    write(case.kind, case.data, case.filename)
    before = files()
    code, out, err = run(*case.command)
    assert code == 1, err
    assert out == ""
    assert files() == before
    assert "Traceback" not in err
    place = f"error: {case.place}"
    about = [line for line in err.splitlines() if line.startswith(place)]
    assert about, f"{place} is not named in\n{err}"
    assert any(case.message in line for line in about), f"{case.message} is not said in\n{err}"


@pytest.mark.parametrize("case", CORPUS[::40], ids=lambda case: case.name)
def test_json_gives_the_same_findings_on_stdout(run, case: Broken):
    write(case.kind, case.data, case.filename)
    code, out, err = run(*case.command, "--json")
    said = json.loads(out)
    assert (code, said["format"], said["version"]) == (1, "penstock/error", 1)
    assert len(said["findings"]) == len(err.splitlines())
    assert all({"file", "line", "field", "message"} == set(one) for one in said["findings"])

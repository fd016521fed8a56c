"""A commit's file that somebody else has changed is told as that, with the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InputError
from penstock.telemetry.history.reader import TABLES, read_history
from penstock.telemetry.manifest import FOLDER, Manifest, local_manifest, manifest_name, manifest_of

SOUND = Manifest(7, {"rates": {"480": "rates/part=7/hour=480"}}, {"records": 3})
ODD: list[dict[str, Any]] = [
    {"number": "7"},
    {"parts": 3},
    {"parts": []},
    {"parts": {"rates": 3}},
    {"parts": {"rates": ["480"]}},
    {"parts": {"rates": {"480": None}}},
    {"facts": None},
    {"facts": []},
]


def changed(**fields: Any) -> bytes:
    return json.dumps(json.loads(SOUND.to_bytes()) | fields).encode()


def test_a_commit_is_read_as_it_was_written() -> None:
    assert manifest_of(SOUND.to_bytes(), "7.json") == SOUND


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_a_value_of_another_type_is_no_commit(odd: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"7\.json: is cut or broken; delete it to go back"):
        manifest_of(changed(**odd), "7.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"3", b"{", b"\xff", SOUND.to_bytes()[:-20]])
def test_what_is_cut_or_no_commit_at_all_is_told(data: bytes) -> None:
    with pytest.raises(InputError, match="is cut or broken"):
        manifest_of(data, "7.json")


def test_a_store_goes_back_to_the_commit_before(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / manifest_name(7)).write_bytes(SOUND.to_bytes())
    broken = tmp_path / manifest_name(8)
    broken.write_bytes(changed(parts=3))
    with pytest.raises(InputError, match="00000008"):
        local_manifest(tmp_path)
    broken.unlink()
    assert local_manifest(tmp_path) == SOUND


def test_the_history_shows_what_it_can_beside_an_odd_commit(tmp_path: Path) -> None:
    (tmp_path / TABLES / FOLDER).mkdir(parents=True)
    path = tmp_path / TABLES / manifest_name(1)
    path.write_bytes(changed(parts=3))
    entries, findings = read_history(tmp_path)
    assert entries == []
    assert ["is cut or broken" in str(finding) for finding in findings] == [True]
    path.write_bytes(changed(number=1, parts={}, facts={"unmeasured": [1]}))
    assert read_history(tmp_path) == ([], [])

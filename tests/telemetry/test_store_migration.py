"""A store of an older version is refused with the command that migrates it, and migrated by it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.telemetry.stores import commit, tasks_in, write_file, write_part

from penstock.app.stores import migrate_store
from penstock.cli.main import main
from penstock.errors import InputError
from penstock.telemetry import manifest, store_migration
from penstock.telemetry.local_store import LocalStore
from penstock.telemetry.manifest import local_manifest
from penstock.telemetry.store_reader import open_store, read_table
from penstock.telemetry.writer_lock import StoreBusyError, writing_to

HOUR = "2026-01-01-00"


def _one_file(root: Path, content: dict[str, Any]) -> dict[str, Any]:
    """As a version might be that holds each hour in one file, and counts in another fact."""
    rows = [{"task": 1}, {"task": 2}]
    content["parts"]["samples"] = {HOUR: write_file(root, "samples", HOUR, rows, "migrated")}
    content["facts"]["waiting"] = content["facts"].pop("pending")
    return content


def _renamed(root: Path, content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "facts": {**content["facts"], "version_three": str(root.name)}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store of version 1."""
    root = tmp_path / "tables"
    path = write_part(root, "samples", HOUR, [{"task": 1}, {"task": 2}], "1", files=2)
    commit(root, {"samples": {HOUR: path}}, pending=["x"])
    return root


@pytest.fixture
def version_three(root, monkeypatch):
    """This Penstock writes stores of version 3."""
    newer = replace(manifest.FORMAT, current=manifest.FORMAT.current + 2)
    monkeypatch.setattr(manifest, "FORMAT", newer)
    first = newer.current - 2
    monkeypatch.setattr(store_migration, "STEPS", {first: _one_file, first + 1: _renamed})
    return newer.current


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_a_store_of_today_needs_nothing(root):
    result = migrate_store(root)
    assert (result.before, result.commit) == (result.after, None)
    assert LocalStore(root).manifest().number == 1


def test_an_older_store_is_refused_with_the_command(root, version_three):
    said = rf"is version {version_three - 2} of penstock/telemetry-store, and this Penstock reads "
    told = rf"{said}version {version_three}; penstock store migrate {root} makes it one"
    for read in (lambda: read_table(root, "samples"), lambda: local_manifest(root)):
        with pytest.raises(InputError, match=told):
            read()


def test_the_command_takes_every_step_in_one_commit(root, version_three, capsys):
    assert run("store", "migrate", str(root)) == 0
    assert f"was version {version_three - 2} and is version {version_three} now" in (
        capsys.readouterr().err
    )
    newest = LocalStore(root).manifest()
    assert newest.number == 2
    assert newest.facts == {"waiting": ["x"], "version_three": "tables"}
    assert tasks_in(root, "samples") == [(HOUR, 1), (HOUR, 2)]
    # Commits of the version before are still cleaned up after.
    for _ in range(3):
        commit(root, {})
    assert not (root / "samples" / "part=1").exists()
    assert run("store", "migrate", str(root)) == 0
    assert "which is today's" in capsys.readouterr().err


def test_a_reader_of_the_older_version_is_not_disturbed(root, monkeypatch):
    with open_store(root) as store:
        steps = {manifest.FORMAT.current: _one_file}
        newer = replace(manifest.FORMAT, current=manifest.FORMAT.current + 1)
        monkeypatch.setattr(manifest, "FORMAT", newer)
        monkeypatch.setattr(store_migration, "STEPS", steps)
        migrate_store(root)
        for _ in range(4):
            commit(root, {})
        assert store.read("samples").num_rows == 2
        assert "part=1" in str(store.files("samples")[0])


def test_a_step_that_fails_leaves_the_store_as_it_was(root, version_three, monkeypatch):
    def fails(_root: Path, content: dict[str, Any]) -> dict[str, Any]:
        content["facts"].clear()
        raise InputError("no room")

    monkeypatch.setitem(store_migration.STEPS, version_three - 1, fails)
    before = {path.name: path.read_bytes() for path in (root / "manifest").iterdir()}
    with pytest.raises(InputError, match="no room"):
        migrate_store(root)
    assert {path.name: path.read_bytes() for path in (root / "manifest").iterdir()} == before


def test_a_version_without_a_step_is_said(root, version_three, monkeypatch):
    monkeypatch.setattr(store_migration, "STEPS", {})
    with pytest.raises(InputError, match=r"cannot bring to version \d+; make the store anew"):
        migrate_store(root)


def test_only_its_one_writer_migrates_it(root, version_three):
    with writing_to(root), pytest.raises(StoreBusyError):
        migrate_store(root)
    newest = json.loads((root / "manifest" / "00000001.json").read_text())
    assert newest["version"] == version_three - 2

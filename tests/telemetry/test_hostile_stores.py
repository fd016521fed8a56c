"""A store that somebody else changed: refused or read, and nothing outside it is deleted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.telemetry.stores import commit, samples, tasks_in, write_part

from penstock.errors import InputError
from penstock.telemetry.commit_pins import unpinned
from penstock.telemetry.local_store import LocalStore
from penstock.telemetry.manifest import FOLDER, manifest_name
from penstock.telemetry.store_reader import open_store

H0, H1 = "2026-01-01-00", "2026-01-01-01"
COMMANDS = (
    "store list tables",
    "store list tables --json",
    "store files tables samples",
    "store export tables samples -o samples.csv",
    "store export tables rates -o rates.jsonl",
    "store expire tables --older-than 1d --dry-run",
    "store expire tables --older-than 1d --delete-now",
    "store compact tables --delete-now",
    "store migrate tables",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two parts of samples of one hour, streams of two, a record set aside."""
    root = tmp_path / "tables"
    parts: dict[str, dict[str, str]] = {"samples": {}, "streams": {}}
    for task in (1, 2):
        parts["samples"][f"{H0}/b{task}"] = write_part(
            root, "samples", H0, samples(task), f"b{task}"
        )
    for hour in (H0, H1):
        parts["streams"][hour] = write_part(root, "streams", hour, [{"task": 1}], "9")
    aside = write_part(root, "quarantine", "aside", [{"reason": "not JSON"}], "b")
    commit(root, {**parts, "quarantine": {"aside/b": aside}}, records=3)
    return root


def edit(root: Path, **fields: Any) -> None:
    """Change fields of the commit, by table or fact where they hold such."""
    path = root / manifest_name(1)
    content = json.loads(path.read_bytes())
    for name, value in fields.items():
        whole = isinstance(value, dict) and isinstance(content.get(name), dict)
        content[name] = content[name] | value if whole else value
    path.write_text(json.dumps(content))


def a_sample(root: Path) -> Path:
    return min((root / "samples").rglob("*.parquet"))


def other_columns(root: Path) -> None:
    pq.write_table(pa.table({"task": ["x"], "topology": [1]}), a_sample(root))


def no_reason(root: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), next((root / "quarantine").rglob("*.parquet")))


def fifo_as_part(root: Path) -> None:
    path = a_sample(root)
    path.unlink()
    os.mkfifo(path)


def cut_part(root: Path) -> None:
    a_sample(root).write_bytes(a_sample(root).read_bytes()[:-30])


def set_aside(root: Path, text: bytes) -> None:
    next((root / "quarantine").rglob("*.parquet")).write_bytes(text)


DEEP = b"[" * 100_000 + b"]" * 100_000
ATTACKS = {
    "a number without zeros": lambda r: shutil.copy(r / manifest_name(1), r / FOLDER / "99.json"),
    "digits that are none": lambda r: (r / FOLDER / "²².json").write_text("{}"),
    "a link to nothing": lambda r: (r / manifest_name(9)).symlink_to("nowhere"),
    "a FIFO": lambda r: os.mkfifo(r / manifest_name(9)),
    "a folder": lambda r: (r / manifest_name(9)).mkdir(),
    "another commit's number": lambda r: shutil.copy(r / manifest_name(1), r / manifest_name(9)),
    "deep nesting": lambda r: (r / manifest_name(1)).write_bytes(DEEP),
    "a number of 30 digits": lambda r: edit(r, number=10**30),
    "a negative number": lambda r: edit(r, number=-5),
    "pending of another type": lambda r: edit(r, facts={"pending": 5}),
    "repeats of another type": lambda r: edit(r, facts={"repeats": {H0: {"twice": "x"}}}),
    "records of another type": lambda r: edit(r, facts={"records": "x"}),
    "endless records": lambda r: edit(r, facts={"records": float("inf")}),
    "a horizon of another type": lambda r: edit(r, facts={"expired_before_ms": "x"}),
    "a horizon of 30 digits": lambda r: edit(r, facts={"expired_before_ms": 10**30}),
    "a count of another type": lambda r: edit(r, facts={"expired_aside": {"not JSON": "x"}}),
    "an hour that is none": lambda r: edit(r, parts={"samples": {"9999-99-99-99/b": "samples/a"}}),
    "the last hour of all": lambda r: edit(
        r, parts={"samples": {"9999-12-31-23/b": f"samples/part=b1/hour={H0}"}},
        facts={"totals": True},
    ),
    "a table that no store has": lambda r: edit(r, parts={"nosuch": {"x": "samples/part=b1"}}),
    "a control character": lambda r: edit(r, parts={"streams": {"\x1b[31m": "streams/\x1b[31m"}}),
    "half a surrogate": lambda r: edit(r, parts={"streams": {"\ud800": "streams/\ud800"}}),
    "a part of a long name": lambda r: edit(r, parts={"streams": {H0: "streams/" + "x" * 300}}),
    "a NUL": lambda r: edit(r, parts={"streams": {H0: "streams/\0"}}),
    "a part that is a FIFO": fifo_as_part,
    "a part that is cut": cut_part,
    "a part that is no Parquet": lambda r: set_aside(r, b"hello"),
    "a part with other columns": other_columns,
    "a record set aside without a reason": no_reason,
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.slow
def test_a_store_that_was_changed_is_read_or_refused(run, root, tmp_path, attack):
    whole = tmp_path / "whole"
    root.rename(whole)
    for command in COMMANDS:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(whole, root)
        attack(root)
        code, out, err = run(command)
        assert code in (0, 1), f"{command}: {err}"
        assert not {"\x1b"} & {*out, *err}
        assert "tables" in err or code == 0, "says which file it is about"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "NaN"])
def test_a_number_that_no_json_holds_is_not_taken_into_the_next_commit(run, root, number):
    edit(root, facts={"batches": {"b1": {"records": 5, "aside": "HERE"}}})
    newest = max((root / "manifest").glob("*.json"))
    newest.write_text(newest.read_text().replace('"HERE"', number))
    code, _, err = run("store compact tables")
    assert (code, "is cut or broken" in err) == (1, True)


# -- nothing outside -------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user's beside the store."""
    folder = tmp_path / "photos"
    (folder / "2026").mkdir(parents=True)
    (folder / "2026" / "one.jpg").write_text("mine")
    return folder


@pytest.mark.parametrize(
    "where", ["../photos", "streams/../../photos", "/absolute", "streams", "."]
)
def test_a_commit_that_names_a_place_outside_is_refused(run, root, outside, where):
    edit(root, parts={"streams": {H0: str(outside) if where == "/absolute" else where}})
    for command in COMMANDS:
        code, _, err = run(command)
        assert (code, "is cut or broken" in err) == (1, True), command
    assert (outside / "2026" / "one.jpg").exists()


def test_a_commit_before_names_nothing_outside_that_is_deleted(root, outside):
    good = (root / manifest_name(1)).read_bytes()
    edit(root, parts={"streams": {H0: "../photos"}})
    content = json.loads(good) | {"number": 2}
    (root / manifest_name(2)).write_text(json.dumps(content))
    LocalStore(root).commit(LocalStore(root).manifest(), keep=1)
    assert (outside / "2026" / "one.jpg").exists()


@pytest.mark.parametrize("table", ["streams", "traffic"])
def test_no_link_in_a_store_leads_the_deletion_out_of_it(root, outside, table):
    if table == "traffic":
        (root / table).symlink_to(outside)  # what no commit names is removed below tables
    else:
        (root / table / "link").symlink_to(outside)
        edit(root, parts={table: {H0: f"{table}/link/2026"}})
    store = LocalStore(root)
    manifest = store.manifest()
    store.commit(manifest.with_parts("streams", {}, replacing=[H0]), keep=1)
    assert (outside / "2026" / "one.jpg").exists()


def test_who_locks_a_commit_keeps_no_reader_waiting_for_ever(root, monkeypatch):
    monkeypatch.setattr("penstock.telemetry.store_reader._PINNED_WITHIN_S", 0.0)
    with (
        unpinned([root / manifest_name(1)]),
        pytest.raises(InputError, match="locked by another process"),
        open_store(root),
    ):
        pass
    assert len(tasks_in(root)) == 2


# -- what is written -------------------------------------------------------------------------------


def test_an_export_keeps_a_link_and_replaces_what_it_leads_to(run, root, tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert run("store export tables streams -o link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert len((tmp_path / "real.csv").read_text().splitlines()) == 3


def test_an_export_into_a_fifo_is_read_at_its_other_end(run, root, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    reader = os.open(tmp_path / "pipe.csv", os.O_RDONLY | os.O_NONBLOCK)
    assert run("store export tables streams -o pipe.csv")[0] == 0
    assert len(os.read(reader, 65_536).splitlines()) == 3
    os.close(reader)
    assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_too_long_for_the_file_system_is_told(run, tmp_path, command):
    code, _, err = run(command.replace("tables", "x" * 300))
    assert code == 1
    assert "cannot be read: File name too long" in err

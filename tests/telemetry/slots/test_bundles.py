"""Several tables in one file come back as they were, all of them or those asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.telemetry.slots.bundles import read_bundle, write_bundle

PLAIN = pa.table({"whole": pa.array([1, None, 3]), "number": pa.array([0.5, None, 2.0])})
WORDS = pa.table({
    "word": pa.chunked_array([pa.array(["a", None]).dictionary_encode(),
                              pa.array(["b", "a"]).dictionary_encode()]),
})  # fmt: skip
EMPTY = PLAIN.slice(0, 0)
TABLES = {"plain": PLAIN, "words": WORDS, "empty": EMPTY, "größe": PLAIN.slice(1, 1)}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write_bundle(str(tmp_path), "slots/part=1", "2026-01-01-00", TABLES)


def test_tables_of_a_bundle_come_back_as_they_were(tmp_path: Path, path: str) -> None:
    found = read_bundle(str(tmp_path), path)
    assert list(found) == list(TABLES)
    for name, table in TABLES.items():
        assert found[name].to_pylist() == table.to_pylist(), name
        assert found[name].column_names == table.column_names
    assert found["plain"].schema == PLAIN.schema


def test_only_the_tables_asked_for_are_given(tmp_path: Path, path: str) -> None:
    assert list(read_bundle(str(tmp_path), path, {"words", "missing"})) == ["words"]
    assert read_bundle(str(tmp_path), path, set()) == {}


def test_a_bundle_written_again_is_another_file(tmp_path: Path, path: str) -> None:
    again = write_bundle(str(tmp_path), "slots/part=1", "2026-01-01-00", {"plain": EMPTY})
    assert path.startswith("slots/part=1/2026-01-01-00-")
    assert again != path
    assert read_bundle(str(tmp_path), path)["plain"].to_pylist() == PLAIN.to_pylist()


def test_a_bundle_of_no_table_holds_none(tmp_path: Path) -> None:
    assert read_bundle(str(tmp_path), write_bundle(str(tmp_path), "f", "n", {})) == {}


def test_an_address_with_a_scheme_is_the_same_place(tmp_path: Path, path: str) -> None:
    for root in (f"file:{tmp_path}", f"file://{tmp_path}"):
        assert list(read_bundle(root, path)) == list(TABLES)

"""Spark's classes in one file: who may have written it, and what Java is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.engines.spark.class_archive import ClassArchive


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "java").mkdir(mode=0o700)
    return ClassArchive.of(tmp_path / "java", tmp_path / "spark")


def test_the_first_java_can_leave_an_archive_and_the_next_one_uses_it(archive):
    assert archive.options()[0] == "-XX:+RecordDynamicDumpInfo"
    archive.folder.require()
    archive.path.write_bytes(b"classes")
    archive.path.chmod(0o600)
    assert archive.options()[0] == f'"-XX:SharedArchiveFile={archive.path}"'


def test_an_archive_that_others_may_write_to_is_not_used(archive):
    archive.folder.require()
    archive.path.write_bytes(b"classes")
    archive.path.chmod(0o666)
    assert not archive.is_there()


def test_other_jars_have_an_archive_of_their_own(archive, tmp_path: Path):
    other = tmp_path / "other"
    (other / "jars").mkdir(parents=True)
    assert ClassArchive.of(tmp_path / "java", other).path != archive.path


def test_a_java_that_cannot_leave_an_archive_is_as_good(archive):
    archive.write_from(SimpleNamespace(jvm=None))
    assert list(archive.folder.path.iterdir()) == []

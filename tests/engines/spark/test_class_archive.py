"""Spark's classes in one file: who may have written it, and what Java is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.engines.spark.class_archive import ClassArchive


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "java").mkdir(mode=0o700)
    return ClassArchive.of(tmp_path / "java", tmp_path / "spark")


def left(archive: ClassArchive, mode: int = 0o600) -> None:
    archive.folder.require()
    archive.path.write_bytes(b"classes")
    archive.path.chmod(mode)


def test_only_the_second_session_takes_the_time_to_leave_an_archive(archive):
    # Whoever starts Spark once, or while another records, does not pay for it.
    assert [bool(archive.options()) for _ in range(3)] == [False, True, False]


def test_later_sessions_use_what_is_there(archive):
    left(archive)
    used = archive.options()
    assert used[0] == f'"-XX:SharedArchiveFile={archive.path}"'
    assert (archive.options_to_use(), archive.is_recording) == (used, False)


def test_an_archive_that_others_may_write_to_is_not_used(archive):
    left(archive, mode=0o666)
    assert archive.options_to_use() == ()


def test_other_jars_have_an_archive_of_their_own(archive, tmp_path: Path):
    other = tmp_path / "other"
    (other / "jars").mkdir(parents=True)
    assert ClassArchive.of(tmp_path / "java", other).path != archive.path


def test_a_java_that_cannot_leave_one_is_asked_once(archive):
    assert [bool(archive.options()) for _ in range(2)] == [False, True]
    archive.write_from(SimpleNamespace(jvm=None))
    assert not archive.path.exists()
    assert [bool(archive.options()) for _ in range(3)] == [False] * 3


@pytest.mark.spark
def test_java_leaves_an_archive_that_the_next_java_maps(tmp_path: Path):
    program = "with spark_session('local[1]', driver_memory='512m') as spark: print(spark.version)"
    started = f"from penstock.engines.spark.session import spark_session\n{program}"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", started], env=environment, check=True)
    (archive,) = tmp_path.rglob("*.jsa")
    command = [shutil.which("java") or "java", f"-XX:SharedArchiveFile={archive}", "-version"]
    told = subprocess.run(
        [*command[:2], "-Xlog:cds=info", command[2]], capture_output=True, text=True, check=True
    )
    assert f"trying to map {archive}" in told.stdout

"""Compiled once, and kept: also where the code comes in an archive, as on a Spark executor."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.simulate import compiled

#: Where a function of the archive comes from, what numba takes for its source, where it is kept.
_TELL = """
from penstock.simulate.roots import new_root as function
source = function.py_func.__code__.co_filename
import penstock
print(penstock.__file__, source, function.stats.cache_path, sep="\\n")
"""


@pytest.mark.slow
def test_code_from_archives_of_any_name_is_kept_in_one_place(tmp_path: Path):
    package = Path(penstock.__file__).parent
    found, stamps = [], []
    for name in ("one", "other"):
        archive = shutil.make_archive(
            str(tmp_path / name), "zip", root_dir=package.parent, base_dir=package.name
        )
        came_from, source, kept_in = _told(archive, tmp_path / "cache")
        assert came_from.startswith(archive)
        assert Path(source).read_bytes() == (package / "simulate" / "roots.py").read_bytes()
        found.append((source, kept_in))
        stamps.append(Path(source).stat().st_mtime_ns)
    assert found[0] == found[1]
    assert stamps[0] == stamps[1]


def _told(archive: str, cache: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": archive, "XDG_CACHE_HOME": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", _TELL], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def twice(number):
    return 2 * number


@pytest.mark.parametrize(("mode", "is_kept"), [(0o700, True), (0o777, False)])
def test_compiled_code_is_kept_only_where_nobody_else_can_write(
    tmp_path, monkeypatch, mode, is_kept
):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path / "cache")
    compiled._folder.cache_clear()
    tmp_path.chmod(mode)
    try:
        assert compiled.compiled(twice)(21) == 42
        assert compiled.is_compiled() is is_kept
    finally:
        compiled._folder.cache_clear()

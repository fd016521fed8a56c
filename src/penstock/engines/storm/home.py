"""Where Storm's jars are: ``$STORM_HOME``, or a cache that Maven fills once.

Storm's own distribution is on no registry, but its parts are: 47 jars, 136 MB. The cache has the
layout of an installation, so daemons and workers start from it as from any other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from penstock.engines.java import find_java
from penstock.engines.maven import copy_jars, find_maven
from penstock.errors import PenstockError
from penstock.system import private_folder

#: The version of ``files/pom.xml``, which the plugin is built against too.
STORM_VERSION = "2.8.3"
PLUGIN_JAR = "penstock-storm.jar"
#: Class files of Java 1 would have this number, those of Java 17 have 61.
_BEFORE_JAVA_1 = 44
#: Logs to standard error; those of an installation write files where its daemons do.
LOG_SETTINGS = Path(__file__).parent / "files" / "cluster.xml"


class StormMissing(PenstockError):
    """Something that Storm needs is not here; the message says what and where it comes from."""


@dataclass(frozen=True)
class StormHome:
    """An installation of Storm."""

    path: Path

    @property
    def release(self) -> str:
        try:
            return (self.path / "RELEASE").read_text(encoding="utf-8").strip()
        except OSError:
            return "unknown"

    @property
    def needs_java(self) -> int:
        """The oldest Java that its classes run on, as they say themselves; 0: they do not say."""
        for jar in sorted((self.path / "lib").glob("storm-client-*.jar")):
            with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as classes:
                name = next((n for n in classes.namelist() if _is_class(n)), None)
                if name is not None:
                    with classes.open(name) as file:
                        head = file.read(8)
                    return int.from_bytes(head[6:8], "big") - _BEFORE_JAVA_1
        return 0

    def class_path(self, *first: Path, daemon: bool = False) -> str:
        """For ``java -cp``: the folders and jars named first, then all of Storm's."""
        folders = ["lib", "extlib", *(["extlib-daemon"] if daemon else [])]
        jars = [str(self.path / folder / "*") for folder in folders]
        return os.pathsep.join([*map(str, first), *jars])


def find_home(
    environ: Mapping[str, str], *, say: Callable[[str], None] = lambda _text: None
) -> StormHome:
    """``$STORM_HOME`` if set, else the cache, filled by Maven if it is not yet."""
    if given := environ.get("STORM_HOME"):
        home = Path(given)
        if not any((home / "lib").glob("storm-client-*.jar")):
            raise StormMissing(
                f"STORM_HOME is {home}, but there is no lib/storm-client-*.jar in it"
            )
        return StormHome(home)
    cache = cache_folder(environ) / f"storm-{STORM_VERSION}"
    # A folder that somebody named is taken as it is; of others' making, nothing is run.
    if not environ.get("PENSTOCK_CACHE") and (risk := private_folder.tampering_risk(cache)):
        raise StormMissing(f"the cache for Storm's jars is not used: {risk}; set PENSTOCK_CACHE")
    # Written last: a cache without it was not finished.
    if not (cache / "RELEASE").is_file():
        _resolve(cache, environ, say)
    return StormHome(cache)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """``$PENSTOCK_CACHE``, or ``penstock`` in the user's cache."""
    if given := environ.get("PENSTOCK_CACHE"):
        return Path(given)
    return private_folder.cache_folder(environ)


def plugin_jar() -> Path:
    """The jar that goes into Storm; it is built with the package."""
    jar = Path(str(files("penstock.engines.storm"))) / "jars" / PLUGIN_JAR
    if not jar.is_file():
        raise StormMissing(
            f"this installation has no {PLUGIN_JAR}: it was built where there was no Maven; "
            "in a clone, `make setup` builds it where mvn and a JDK 17 are found"
        )
    return jar


def require_java(environ: Mapping[str, str], home: StormHome | None = None) -> Path:
    """The ``java`` to run Storm with; one that is too old for this Storm is refused."""
    search = find_java(environ)
    if search.java is None:
        raise StormMissing(f"Storm needs Java 17 or newer: {search}")
    needed = 0 if home is None else home.needs_java
    if home is not None and search.java.major < needed:
        raise StormMissing(
            f"Storm {home.release} in {home.path} needs Java {needed} or newer, and this is "
            f"{search.java}; name another with JAVA_HOME"
        )
    return search.java.executable


def _is_class(name: str) -> bool:
    """Of this release's own Java; there may be classes for newer ones beside."""
    return name.startswith("org/apache/storm/") and name.endswith(".class")


def _resolve(cache: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    maven = find_maven(environ)
    if maven is None:
        raise StormMissing(
            "no Storm here: set STORM_HOME to an installation, "
            "or install Maven (mvn) to have it resolved from Maven Central"
        )
    say(f"resolving Storm {STORM_VERSION} with Maven into {cache} (136 MB, once)")
    cache.parent.mkdir(parents=True, exist_ok=True)
    # Beside its final place, so that a second process never sees half of it.
    with tempfile.TemporaryDirectory(dir=cache.parent, prefix=".storm-") as scratch:
        home = Path(scratch) / "home"
        with as_file(files("penstock.engines.storm") / "files" / "pom.xml") as pom:
            copy_jars(maven, pom, home / "lib", environ, what="Storm", error=StormMissing)
        for folder in ("lib-worker", "extlib", "extlib-daemon", "log4j2"):
            (home / folder).mkdir()
        for jar in (home / "lib").iterdir():
            os.link(jar, home / "lib-worker" / jar.name)
        for name in ("cluster.xml", "worker.xml"):
            text = (files("penstock.engines.storm") / "files" / name).read_text(encoding="utf-8")
            (home / "log4j2" / name).write_text(text, encoding="utf-8")
        (home / "RELEASE").write_text(STORM_VERSION + "\n", encoding="utf-8")
        if (cache / "RELEASE").is_file():
            return
        shutil.rmtree(cache, ignore_errors=True)
        home.rename(cache)

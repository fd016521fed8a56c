"""Engines by name: a table for what is built in, entry points for what others install."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from penstock.engines.base import Ability, Engine, lacks
from penstock.errors import ForeignEngineError, PenstockError, UnknownNameError, UsageError

ENTRY_POINT_GROUP = "penstock.engines"
BUILT_IN = "built in"
#: Loaded when they are asked for: who plans needs neither.
_BUILT_IN = {
    "storm": "penstock.engines.storm.engine:StormEngine",
    "spark": "penstock.engines.spark.engine:SparkEngine",
}
#: The engine that is meant where none is named.
DEFAULT_ENGINE = "storm"


@dataclass(frozen=True, slots=True)
class RegisteredEngine:
    """An engine that can be asked for, or why an installed one cannot."""

    name: str
    #: ``built in``, or the distribution it comes from.
    origin: str
    engine: type[Engine] | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EngineOption:
    """One option of an engine, as the command line takes it (``--engine-option name=value``)."""

    name: str
    help: str


def registered() -> dict[str, RegisteredEngine]:
    """All engines by name, built-in ones first."""
    return {name: _loaded(entry) for name, entry in _entries().items()}


def names() -> tuple[str, ...]:
    """The engines' names, without loading any."""
    return tuple(_entries())


def get(name: str) -> type[Engine]:
    """The engine of that name."""
    entries = _entries()
    if name not in entries:
        raise UnknownNameError("engine", name, entries)
    entry = _loaded(entries[name])
    if entry.engine is None:
        raise PenstockError(f'engine "{name}" of {entry.origin} {entry.problem}')
    return entry.engine


def create(name: str, options: Mapping[str, Any] | None = None) -> Engine:
    """An engine with its options; one that it does not have is refused."""
    kind = get(name)
    known = [option.name for option in options_of(kind)]
    for option in options or {}:
        if option not in known:
            has = ", ".join(n.replace("_", "-") for n in known) if known else "none"
            shown = option.replace("_", "-")
            raise UsageError(f'the engine {name} has no option "{shown}"; its options: {has}')
    with naming_its_package(name):
        return kind(**(options or {}))


def options_of(engine: type[Engine]) -> tuple[EngineOption, ...]:
    """The options an engine has, in order of declaration."""
    declared: Any = engine
    if not is_dataclass(declared):
        return ()
    return tuple(EngineOption(f.name, str(f.metadata.get("help", ""))) for f in fields(declared))


def able(ability: Ability) -> list[str]:
    """Names of the engines that can do something."""
    return [
        name
        for name, entry in registered().items()
        if entry.engine is not None and ability in entry.engine.capabilities.abilities
    ]


def require(engine: Engine | type[Engine], ability: Ability) -> None:
    """Refuse what an engine cannot do, and say which engines can."""
    if ability not in engine.capabilities.abilities:
        others = ", ".join(able(ability)) or "none"
        raise UsageError(f"{engine.name} cannot {ability.value}; engines that can: {others}")


@contextmanager
def naming_its_package(name: str) -> Iterator[None]:
    """What fails inside is told as the fault of the package that the engine is from."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        entry = _entries().get(name)
        if entry is None or name in _BUILT_IN:
            raise
        origin = _origin(entry)
        raise ForeignEngineError(
            f'engine "{name}" of package {origin} failed: {type(error).__name__}: {error}; '
            f"report this to the authors of {origin} "
            "(PENSTOCK_DEBUG=1 in the environment shows where it happened)"
        ) from error


def _entries() -> dict[str, EntryPoint]:
    """Entry points by name; an installed one cannot take the name of a built-in one."""
    entries = {n: EntryPoint(n, value, ENTRY_POINT_GROUP) for n, value in _BUILT_IN.items()}
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda e: e.name):
        entries.setdefault(entry.name, entry)
    return entries


def _loaded(entry: EntryPoint) -> RegisteredEngine:
    if entry.name in _BUILT_IN:
        return RegisteredEngine(entry.name, BUILT_IN, entry.load())
    origin = _origin(entry)
    try:
        loaded = entry.load()
    # Whatever a stranger's module does on import must not stop the others.
    except Exception as error:
        return RegisteredEngine(entry.name, origin, None, f"cannot be loaded: {error}")
    missing = lacks(loaded)
    problem = f"is not an engine: it lacks {', '.join(missing)}" if missing else ""
    return RegisteredEngine(entry.name, origin, None if missing else loaded, problem)


def _origin(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value

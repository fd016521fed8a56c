"""Schedulers, engines and policies by name: built in by a table, installed by an entry point.

What is built in is loaded when it is asked for: who plans with one scheduler needs no other, and no
engine. An installed one cannot take the name of a built-in one, and one that cannot be loaded stops
no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from penstock.errors import (
    ForeignCodeError,
    InputError,
    PenstockError,
    UnknownNameError,
    shown,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Registered(Generic[T]):
    """One that can be asked for by its name, or why an installed one cannot."""

    name: str
    #: The distribution it comes from; nothing where it is built in.
    package: str
    #: Its class; none where it cannot be used.
    kind: type[T] | None
    problem: str = ""

    @property
    def origin(self) -> str:
        return self.package or "built in"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One setting of a scheduler, a policy or an engine, as the command line takes it."""

    name: str
    default: Any
    help: str


@dataclass(frozen=True)
class Registry(Generic[T]):
    """All of one kind, by name, built-in ones first."""

    #: What messages call one of them: "scheduler".
    noun: str
    #: The entry-point group under which other packages declare theirs.
    group: str
    #: Name to ``module:class``.
    built_in: Mapping[str, str]
    #: The parts that a class misses of one of this kind.
    missing_parts: Callable[[Any], list[str]]

    def names(self) -> tuple[str, ...]:
        """All names, without loading any."""
        return tuple(self._entries())

    def registered(self) -> dict[str, Registered[T]]:
        return {name: self._loaded(entry) for name, entry in self._entries().items()}

    def usable(self) -> dict[str, type[T]]:
        """Those that can be asked for."""
        return {name: one.kind for name, one in self.registered().items() if one.kind is not None}

    def get(self, name: str) -> type[T]:
        """The class of that name; for a built-in one nobody looks at what is installed."""
        if name in self.built_in:
            own: type[T] = EntryPoint(name, self.built_in[name], self.group).load()
            return own
        entries = self._entries()
        if name not in entries:
            raise UnknownNameError(self.noun, name, entries)
        one = self._loaded(entries[name])
        if one.kind is None:
            raise PenstockError(f'{self.noun} "{name}" of {one.package} {one.problem}')
        return one.kind

    def configured(self, name: str, values: Mapping[str, Any]) -> T:
        """One with its parameters, checked against those it has and their types."""
        kind = self.get(name)
        known = {parameter.name: parameter for parameter in parameters_of(kind)}
        for key in values:
            if key not in known:
                raise UnknownNameError(f"parameter of {self.noun} {name}", key, known)
        typed = {key: _as_type_of(name, known[key], value) for key, value in values.items()}
        with self.naming_its_package(name):
            return kind(**typed)

    @contextmanager
    def naming_its_package(self, name: str) -> Iterator[None]:
        """A failure inside is reported as the fault of the package that the name is from."""
        try:
            yield
        except PenstockError:
            raise
        except Exception as error:
            entry = self._entries().get(name)
            if entry is None or name in self.built_in:
                raise
            package = _package(entry)
            raise ForeignCodeError(
                f'{self.noun} "{name}" of package {package} failed: '
                f"{type(error).__name__}: {error}; report this to the authors of {package} "
                "(PENSTOCK_DEBUG=1 in the environment shows where it happened)"
            ) from error

    def _entries(self) -> dict[str, EntryPoint]:
        entries = {n: EntryPoint(n, value, self.group) for n, value in self.built_in.items()}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: entry.name):
            entries.setdefault(entry.name, entry)
        return entries

    def _loaded(self, entry: EntryPoint) -> Registered[T]:
        if entry.name in self.built_in:
            return Registered(entry.name, "", entry.load())
        package = _package(entry)
        try:
            loaded = entry.load()
        # Whatever a stranger's module does on import must not stop the others.
        except Exception as error:
            return Registered(entry.name, package, None, f"cannot be loaded: {error}")
        missing = self.missing_parts(loaded)
        if missing:
            article = "an" if self.noun[0] in "aeiou" else "a"
            problem = f"is not {article} {self.noun}: it lacks {', '.join(missing)}"
            return Registered(entry.name, package, None, problem)
        return Registered(entry.name, package, loaded)


def parts_missing_of(*parts: str) -> Callable[[Any], list[str]]:
    """Says which attributes a class does not have."""
    return lambda kind: [part for part in parts if not hasattr(kind, part)]


def parameters_of(kind: Any) -> tuple[Parameter, ...]:
    """The settings that a class has, in order of declaration: its dataclass fields."""
    if not is_dataclass(kind):
        return ()
    declared: list[Any] = list(fields(kind))
    return tuple(
        Parameter(field.name, field.default, str(field.metadata.get("help", "")))
        for field in declared
    )


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a name"}


def _as_type_of(owner: str, parameter: Parameter, value: Any) -> Any:
    """The value in the type of the parameter's default; text from a command line is converted."""
    wanted = type(parameter.default)
    try:
        if wanted is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if wanted is int and isinstance(value, float) and value.is_integer():
            return int(value)  # a file's numbers need not say that they are whole
        if wanted in (int, float):
            return wanted(str(value))
        if wanted is str and not isinstance(value, str):
            raise ValueError
    except (KeyError, ValueError):
        words = _WORDS[wanted]
        message = f"{owner}: {parameter.name} must be {words}, not {shown(value)}"
        raise InputError(message) from None
    return value

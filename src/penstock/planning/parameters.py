"""A scheduler with the parameters that a user gives it."""

from __future__ import annotations

from collections.abc import Mapping

from penstock import schedulers
from penstock.errors import InputError, UnknownNameError, shown
from penstock.model.plan import Scalar
from penstock.schedulers.base import Scheduler, parameters_of
from penstock.schedulers.foreign import naming_its_package


def configured(name: str, parameters: Mapping[str, Scalar]) -> Scheduler:
    """A scheduler with its parameters, checked against those it has."""
    kind = schedulers.get(name)
    known = {p.name: p for p in parameters_of(kind)}
    for given in parameters:
        if given not in known:
            raise UnknownNameError(f"parameter of scheduler {name}", given, known)
    typed = {key: _as_type_of(name, known[key], value) for key, value in parameters.items()}
    with naming_its_package(name):
        return kind(**typed)


def settings_of(scheduler: Scheduler) -> dict[str, Scalar]:
    """Every parameter of a scheduler with its value."""
    return {p.name: getattr(scheduler, p.name) for p in parameters_of(type(scheduler))}


def _as_type_of(scheduler: str, parameter: schedulers.Parameter, value: Scalar) -> Scalar:
    """The value in the type of the parameter's default; text from a command line is converted."""
    wanted = type(parameter.default)
    try:
        if wanted is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if wanted in (int, float):
            return wanted(str(value))
    except (KeyError, ValueError):
        words = {bool: "true or false", int: "a whole number", float: "a number"}[wanted]
        message = f"{scheduler}: {parameter.name} must be {words}, not {shown(value)}"
        raise InputError(message) from None
    return value

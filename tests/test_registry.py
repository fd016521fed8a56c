"""The one registry behind schedulers, engines and policies."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import ClassVar

import pytest

from penstock import registry
from penstock.control.policies.registry import POLICIES
from penstock.engines.registry import ENGINES
from penstock.errors import ForeignCodeError, InputError, PenstockError, UnknownNameError
from penstock.registry import Registry, parts_missing_of
from penstock.schedulers.registry import SCHEDULERS


@dataclass(frozen=True)
class Round:
    """A shape with a parameter of each type."""

    name: ClassVar[str] = "round"
    sides: int = field(default=0, metadata={"help": "how many sides"})
    radius: float = 1.0
    filled: bool = False


class Nameless:
    """A shape without a name."""


@pytest.fixture
def shapes(monkeypatch):
    """A registry of shapes: one is built in, and "packages" have installed others."""
    module = ModuleType("shapes")
    module.Round, module.Nameless = Round, Nameless
    monkeypatch.setitem(sys.modules, "shapes", module)
    installed = {"gone": "shapes:Gone", "odd": "shapes:Nameless", "oval": "shapes:Round"}
    entries = [EntryPoint(name, value, "shapes") for name, value in installed.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    return Registry("oblong", "shapes", {"round": "shapes:Round"}, parts_missing_of("name"))


@pytest.mark.parametrize("of_a_kind", [SCHEDULERS, ENGINES, POLICIES], ids=lambda r: r.noun)
def test_what_is_built_in_bears_the_name_it_is_registered_by(of_a_kind):
    for name, one in of_a_kind.registered().items():
        assert (one.origin, one.kind.name) == ("built in", name)
        assert of_a_kind.missing_parts(one.kind) == []
        assert one.kind.summary


def test_names_are_known_without_loading_anything(shapes):
    assert shapes.names() == ("round", "gone", "odd", "oval")


def test_a_built_in_one_is_not_looked_for_among_what_is_installed(shapes, monkeypatch):
    """Reading what a hundred packages declare takes milliseconds, and a plan asks several times."""
    looked = []
    monkeypatch.setattr(registry, "entry_points", lambda group: looked.append(group) or [])
    assert shapes.get("round") is Round
    assert shapes.configured("round", {"sides": 3}) == Round(sides=3)
    assert looked == []
    with pytest.raises(UnknownNameError):
        shapes.get("oval")
    assert looked == ["shapes"]


def test_those_that_cannot_be_used_say_why_and_stop_no_other(shapes):
    assert list(shapes.usable()) == ["round", "oval"]
    problems = {name: one.problem for name, one in shapes.registered().items() if one.problem}
    assert problems["gone"].startswith("cannot be loaded: ")
    assert problems["odd"] == "is not an oblong: it lacks name"
    with pytest.raises(PenstockError, match='oblong "odd" of shapes:Nameless is not an oblong'):
        shapes.get("odd")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Round()),
        ({"sides": "3", "radius": "2", "filled": "true"}, Round(3, 2.0, True)),
        ({"sides": 3, "radius": 2, "filled": False}, Round(3, 2.0)),
        ({"sides": 3.0}, Round(3)),
    ],
    ids=["none", "from a command line", "from Python", "from a file of numbers"],
)
def test_parameters_take_the_type_of_their_default(shapes, values, expected):
    assert shapes.configured("round", values) == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sides": 1.5}, "round: sides must be a whole number, not 1.5"),
        ({"sides": True}, "round: sides must be a whole number, not True"),
        ({"radius": "wide"}, 'round: radius must be a number, not "wide"'),
        ({"filled": "maybe"}, 'round: filled must be true or false, not "maybe"'),
    ],
    ids=str,
)
def test_parameters_of_another_type_are_refused(shapes, values, message):
    with pytest.raises(InputError) as refused:
        shapes.configured("round", values)
    assert str(refused.value) == message


def test_a_parameter_that_there_is_not_gets_the_one_that_was_meant(shapes):
    with pytest.raises(UnknownNameError, match='no parameter of oblong round "side"; did you mean'):
        shapes.configured("round", {"side": 3})


def test_only_failures_of_other_packages_are_laid_at_their_door(shapes):
    with pytest.raises(ZeroDivisionError), shapes.naming_its_package("round"):
        _ = 1 / 0
    with (
        pytest.raises(ForeignCodeError, match='oblong "oval" of package shapes:Round failed'),
        shapes.naming_its_package("oval"),
    ):
        _ = 1 / 0

"""Schedulers by name: the built-in table, and what others install as entry points."""

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest
from tests.builders import cluster, place, profile, solve, topology

from penstock import registry
from penstock.errors import PenstockError, UnknownNameError
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.schedulers import SCHEDULERS, Budget, Looks, get


@dataclass(frozen=True)
class Stacking:
    """Everything on the first machine: somebody else's scheduler."""

    name: ClassVar[str] = "stacking"
    summary: ClassVar[str] = "all on the first machine"
    paper: ClassVar[str] = ""
    looks: ClassVar[Looks] = Looks()

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        components = range(len(problem.components))
        return Outcome(Placement.of(list(components), [0] * len(components)))


@pytest.fixture
def installed(monkeypatch):
    """Make entry points as if packages had installed them: name -> what the module holds."""
    module = ModuleType("somebodys_package")
    module.Stacking = Stacking
    module.NotOne = int
    monkeypatch.setitem(sys.modules, "somebodys_package", module)

    def install(**values: str) -> None:
        group = SCHEDULERS.group
        entries = [EntryPoint(name, value, group) for name, value in values.items()]
        monkeypatch.setattr(
            registry, "entry_points", lambda group: entries if group == SCHEDULERS.group else []
        )

    return install


def test_built_in_schedulers_are_there_and_say_what_they_are():
    found = SCHEDULERS.registered()
    assert {"default", "hetero"} <= set(found)
    for entry in found.values():
        assert entry.kind is not None
        assert entry.kind.name == entry.name
        assert entry.kind.summary
        assert isinstance(entry.kind.looks, Looks)


def test_a_misspelt_name_gets_the_one_that_was_meant():
    with pytest.raises(UnknownNameError, match='no scheduler "heterro"; did you mean "hetero"'):
        get("heterro")


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(UnknownNameError, match="known: default, "):
        get("xyzzy")


def test_an_installed_scheduler_is_usable(installed):
    installed(stacking="somebodys_package:Stacking")
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=1.0))
    assert solve(problem, "stacking").placement == place(problem, "a M1-1", "b M1-1")
    assert SCHEDULERS.registered()["stacking"].origin == "somebodys_package:Stacking"


def test_one_that_cannot_be_imported_is_reported_and_the_others_work(installed):
    installed(broken="no_such_package_at_all:Thing", stacking="somebodys_package:Stacking")
    found = SCHEDULERS.registered()
    assert found["broken"].kind is None
    assert "no_such_package_at_all" in found["broken"].problem
    assert found["stacking"].kind is Stacking
    assert get("default").name == "default"
    with pytest.raises(PenstockError, match=r"broken.*cannot be loaded"):
        get("broken")


def test_one_that_is_no_scheduler_says_what_it_lacks(installed):
    installed(odd="somebodys_package:NotOne")
    assert SCHEDULERS.registered()["odd"].kind is None
    with pytest.raises(PenstockError, match=r"is not a scheduler: it lacks .*solve"):
        get("odd")


def test_a_built_in_name_cannot_be_taken(installed):
    installed(hetero="somebodys_package:Stacking")
    assert SCHEDULERS.registered()["hetero"].origin == "built in"
    assert get("hetero").name == "hetero"

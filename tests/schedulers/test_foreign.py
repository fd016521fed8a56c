"""A scheduler of another package that fails is named with its package, and stops no other."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint
from types import ModuleType
from typing import Any, ClassVar

import pytest
from tests.builders import nasiri

import penstock
from penstock import registry
from penstock.cli.main import main
from penstock.errors import ForeignCodeError
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.schedulers import SCHEDULERS, Looks


@dataclass(frozen=True)
class Acme:
    """Answers whatever ``answer`` is, or raises it."""

    name: ClassVar[str] = "acme"
    summary: ClassVar[str] = "places nothing"
    paper: ClassVar[str] = ""
    looks: ClassVar[Looks] = Looks(counts=True)
    answer: ClassVar[Any] = None

    def solve(self, problem, budget, rng):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class AcmeDistribution(Distribution):
    def read_text(self, filename):
        return "Metadata-Version: 2.1\nName: acme-schedulers\nVersion: 1\n"

    def locate_file(self, path):
        return path


@pytest.fixture
def acme(monkeypatch):
    """Install the scheduler as the package acme-schedulers would, with an answer."""
    module = ModuleType("acme")
    module.Acme = Acme
    monkeypatch.setitem(sys.modules, "acme", module)
    entry = EntryPoint("acme", "acme:Acme", SCHEDULERS.group)._for(AcmeDistribution())
    installed = {SCHEDULERS.group: [entry]}
    monkeypatch.setattr(registry, "entry_points", lambda group: installed.get(group, []))
    return lambda answer: monkeypatch.setattr(Acme, "answer", answer)


WRONG = {
    "raises": (KeyError("rack-9"), "KeyError: 'rack-9'"),
    "nothing": (None, "TypeError: solve returned NoneType, not an Outcome"),
    "no placement": (Outcome([0, 1, 2]), "the placement is list, not a Placement"),
    "a machine too many": (Outcome(Placement.of([0, 1, 2], [0, 1, 6])), "machine 6 of the"),
    "a negative slot": (Outcome(Placement.of([0, 1, 2], [0, 0, 0], [0, -1, 0])), "slot -1 of the"),
    "no instance": (Outcome(Placement.of([], [])), "the placement has no instance"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_package_is_named_with_what_went_wrong(acme, case):
    answer, message = WRONG[case]
    acme(answer)
    with pytest.raises(ForeignCodeError) as failed:
        penstock.plan(nasiri("linear", (2, 2, 2)), "acme")
    assert 'scheduler "acme" of package acme-schedulers failed: ' in str(failed.value)
    assert message in str(failed.value)


def test_a_comparison_goes_on_without_it(acme):
    acme(KeyError("rack-9"))
    found = penstock.compare(nasiri("linear", (2, 2, 2)), ["acme", "hetero"])
    failed, placed = (row.facts for row in found.rows)
    assert (failed.placed, placed.placed) == (False, True)
    assert "of package acme-schedulers failed" in failed.notes[0]


def test_the_traceback_is_for_those_who_ask(acme, capsys, monkeypatch):
    acme(KeyError("rack-9"))
    for debug in ("", "1"):
        monkeypatch.setenv("PENSTOCK_DEBUG", debug)
        with pytest.raises(SystemExit) as left:
            main(["plan", "-e", "linear", "-s", "acme"])
        said = capsys.readouterr().err
        assert left.value.code == 1
        assert said.startswith('error: scheduler "acme" of package acme-schedulers failed')
        assert ("Traceback" in said) == bool(debug)

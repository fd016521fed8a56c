"""What a report is built from; gathered by :mod:`penstock.app.reports`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.change.diff import Changes
from penstock.evaluate.assess import Assessment
from penstock.files.simulation_file import Simulation
from penstock.model.plan import Plan
from penstock.planning.facts import Facts
from penstock.planning.standing import Standing
from penstock.report.page import Source
from penstock.simulate.load_curve import LoadCurve


@dataclass(frozen=True)
class Rival:
    """One scheduler on the problem: its facts for each seed, and its first plan simulated."""

    name: str
    rows: tuple[Facts, ...]
    simulated: Simulation | None = None

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """Tuples/s of all topologies together, for each seed with a plan."""
        return tuple(sum(row.rate_per_s.values()) for row in self.rows if row.rate_per_s)

    @property
    def first(self) -> Facts:
        return self.rows[0]

    @property
    def breaks_limits(self) -> bool:
        return any(row.violations for row in self.rows)


@dataclass(frozen=True)
class PlanReport:
    """A plan with all that is known about it.

    The plan's prediction was made by this version of the cost model. ``judged`` and ``standing``
    are ``None`` where there are no rates, only requests.
    """

    plan: Plan
    facts: Facts
    judged: Assessment | None = None
    standing: Standing | None = None
    #: Where the plan's own certificate comes from: worked out here, or taken from its file.
    certificate: Source = Source.RUN
    #: Where what is left if a machine is lost comes from.
    contingencies: Source = Source.RUN
    rivals: tuple[Rival, ...] = ()
    seeds: int = 1
    before: Plan | None = None
    changes: Changes | None = None
    simulation: Simulation | None = None
    simulation_source: Source = Source.RUN
    load_curve: LoadCurve | None = None
    #: Why there is something missing, and what does not fit.
    remarks: tuple[str, ...] = ()
    #: Name and value: versions, machine, command, seeds, times.
    provenance: Mapping[str, str] | None = None

    @property
    def demand(self) -> float:
        return float(self.plan.problem.demand.sum())

    @property
    def rate_per_s(self) -> float | None:
        scale = self.plan.predicted.scale
        return None if scale is None else scale * self.demand

    @property
    def bound_per_s(self) -> float | None:
        scale = self.plan.predicted.bound_scale
        return None if scale is None else scale * self.demand

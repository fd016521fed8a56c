"""Costs that a problem needs and its profile does not have, and the options that would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.errors import Finding, close_match
from penstock.model.cluster import Cluster
from penstock.model.profile import Profile
from penstock.model.speed import relative_speeds
from penstock.model.topology import Component, Kind


@dataclass(frozen=True)
class CostGaps:
    """Rows without any cost, and rows without one on some of the machine types in use."""

    profile: Profile
    cluster: Cluster
    #: Rows the profile does not have, with the kind of a component that needs it.
    absent: dict[str, Kind]
    #: Machine types in use on which a row has no cost, by row.
    lacking: dict[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        profile: Profile,
        cluster: Cluster,
        rows: Sequence[str],
        components: Sequence[Component],
    ) -> CostGaps:
        """The gaps for components with their rows."""
        used = [cluster.types[i].name for i in np.unique(cluster.type_of)]
        kinds = dict(zip(rows, (c.kind for c in components), strict=True))
        lacking = {
            row: tuple(kind for kind in used if (row, kind) not in profile.by_place)
            for row in kinds
            if row in profile.rows
        }
        return cls(
            profile,
            cluster,
            {row: kind for row, kind in kinds.items() if row not in profile.rows},
            {row: missing for row, missing in lacking.items() if missing},
        )

    @property
    def findings(self) -> list[Finding]:
        return [*(self._of_row(*absent) for absent in self.absent.items()), *self._of_types()]

    def _of_row(self, row: str, kind: Kind) -> Finding:
        close = close_match(row, self.profile.rows)
        if kind is Kind.ACKER:
            hint = "if it was measured on Spark, which has no ackers, plan with --engine spark"
        elif close:
            hint = f'did you mean "{close}"?'
        else:
            hint = f"it has {', '.join(self.profile.rows)}"
        return Finding(f'profile {self.profile.name} has no row "{row}"; {hint}')

    def _of_types(self) -> list[Finding]:
        """One finding for all rows that lack the same types."""
        alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for row, missing in self.lacking.items():
            have = tuple(kind for r, kind in self.profile.by_place if r == row)
            alike.setdefault((missing, have), []).append(row)
        return [
            Finding(
                f"profile {self.profile.name} has no cost of {_quoted(rows)} on machine type "
                f"{', '.join(missing)} of cluster {self.cluster.name}, only on {_quoted(have)}"
            )
            for (missing, have), rows in alike.items()
        ]

    @property
    def options(self) -> dict[str, str]:
        """Options of the command line that would close all gaps; empty where none do."""
        if any(kind is not Kind.ACKER for kind in self.absent.values()):
            return {}
        options = {"--engine": "spark"} if self.absent else {}
        if self.lacking:
            if self._measured_on is None:
                return {}
            options["--estimate-from"] = self._measured_on
        return options

    @property
    def _measured_on(self) -> str | None:
        """The first machine type that has a cost of every row with a gap."""
        types = self.profile.machine_types
        return next((k for k in types if self.profile.covers(set(self.lacking), {k})), None)

    @property
    def without_speed(self) -> list[str]:
        """Machine types that cannot be estimated, because nothing says how fast they are."""
        speeds = relative_speeds(self.cluster, self._measured_on or "")
        lacking = dict.fromkeys(kind for missing in self.lacking.values() for kind in missing)
        return [kind for kind in lacking if kind not in speeds]


def _quoted(names: Sequence[str]) -> str:
    first = ", ".join(f'"{name}"' for name in names[:4])
    return first if len(names) <= 4 else f"{first} and {len(names) - 4} more"

"""Files checked, each for itself and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Finding, InputError, PenstockError
from penstock.files.simulation_file import Simulation
from penstock.files.store import Loaded, load
from penstock.files.sweep_file import Sweep
from penstock.files.terms_file import terms_to_dict
from penstock.model.cluster import Cluster
from penstock.model.hooks import Hooks
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.terms import Terms
from penstock.model.topology import Topology
from penstock.model.watch_rules import WatchSetting
from penstock.planning.numbers import counted
from penstock.simulate.scenario import Scenario


@dataclass(frozen=True)
class ValidFile:
    """A file with nothing wrong in it, and what it holds."""

    file: Path
    kind: str
    summary: str


def validate(files: Sequence[Path], *, rates: bool = False) -> list[ValidFile]:
    """Check files of any format; topologies, a cluster and a profile must also fit together.

    An error has everything that is wrong with all of them. With ``rates``, what the rate model
    cannot handle is wrong, too.
    """
    loaded: list[tuple[Path, Loaded]] = []
    findings: list[Finding] = []
    for path in files:
        try:
            loaded.append((path, load(path)))
        except PenstockError as error:
            findings += error.findings
    if not findings:
        try:
            _check_together([value for _, value in loaded])
        except PenstockError as error:
            findings += error.findings
    if rates:
        findings += _cycle_findings(loaded)
    if findings:
        raise InputError(*findings)
    return [ValidFile(path, *_describe(value)) for path, value in loaded]


def _cycle_findings(loaded: list[tuple[Path, Loaded]]) -> list[Finding]:
    return [
        Finding(
            f"cycle {' -> '.join(topology.cycle)}; the rate model needs a topology without cycles",
            str(path),
            field=f"topology {topology.name}",
        )
        for path, value in loaded
        for topology in _topologies(value)
        if topology.cycle
    ]


def _topologies(value: Loaded) -> tuple[Topology, ...]:
    if isinstance(value, Topology):
        return (value,)
    if isinstance(value, Plan):
        return value.problem.topologies
    return value.topologies if isinstance(value, Problem) else ()


def _check_together(values: list[Loaded]) -> None:
    topologies = [value for value in values if isinstance(value, Topology)]
    clusters = [value for value in values if isinstance(value, Cluster)]
    profiles = [value for value in values if isinstance(value, Profile)]
    if len(clusters) > 1 or len(profiles) > 1:
        raise InputError("give at most one cluster and one profile, so that they can be matched")
    if topologies and clusters and (profiles or _has_requests(topologies)):
        built = build(topologies, clusters[0], profiles[0] if profiles else None)
        for value in values:
            if isinstance(value, Terms):
                built.with_terms(value)


def _has_requests(topologies: list[Topology]) -> bool:
    return all(c.cpu_points is not None for t in topologies for c in t.components)


def _describe(value: Loaded) -> tuple[str, str]:
    if isinstance(value, Topology):
        cycle = ", has a cycle" if value.cycle else ""
        streams = counted(len(value.streams), "stream")
        return "topology", f"{counted(len(value.components), 'component')}, {streams}{cycle}"
    if isinstance(value, Cluster):
        types = counted(len(value.types), "type")
        return "cluster", f"{counted(len(value.machines), 'machine')} of {types}"
    if isinstance(value, Profile):
        types = counted(len(value.machine_types), "machine type")
        return "profile", f"{counted(len(value.rows), 'row')} on {types}, {value.origin.value}"
    if isinstance(value, Terms):
        return "terms", f"{len(terms_to_dict(value)) - 2} of them"
    if isinstance(value, Scenario):
        return "scenario", f"{value.duration_s:g} s, {counted(len(value.changes), 'change')}"
    if isinstance(value, Sweep):
        cells = len(value.problems) * len(value.schedulers) * len(value.seeds)
        return "sweep", counted(cells * len(value.scenarios), "cell")
    if isinstance(value, WatchSetting):
        return "watch", f"policy {value.policy}"
    if isinstance(value, Hooks):
        return "hooks", f"of {counted(len(value.commands), 'machine')}"
    if isinstance(value, Simulation):
        return (
            "simulation",
            f"scenario {value.scenario}, {value.until_s[-1]:g} s, runs {value.runs}",
        )
    if isinstance(value, Plan):
        return "plan", f"{counted(len(value.placement), 'instance')}, by {value.scheduler}"
    machines = counted(len(value.cluster.machines), "machine")
    return "problem", f"{counted(len(value.topologies), 'topology')} on {machines}"

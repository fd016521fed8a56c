"""Options that say which Storm is meant, and how it becomes a snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.change.in_force import plan_in_force
from penstock.cli.output import say
from penstock.engines.lab import keeper
from penstock.engines.storm.bridge import Bridge, open_bridge
from penstock.engines.storm.from_nimbus import seen_by_nimbus
from penstock.engines.storm.from_ui import ask_ui, seen_by_ui
from penstock.engines.storm.seen import Seen
from penstock.engines.storm.snapshot import ACKER, snapshot_of, without_ackers
from penstock.errors import Finding, InputError, UnknownNameError, UsageError
from penstock.files.machine_types import load_machine_types
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.model.terms import Terms

From = Annotated[
    str | None, typer.Option("--from", help="Take what runs on a cluster: storm.", metavar="ENGINE")
]
Nimbus = Annotated[
    str | None, typer.Option("--nimbus", help="Storm's Nimbus, host or host:port.", metavar="HOST")
]
Ui = Annotated[str | None, typer.Option("--ui", help="Address of Storm's UI.", metavar="URL")]
StormYaml = Annotated[
    Path | None,
    typer.Option("--storm-yaml", help="The storm.yaml of a client: Nimbus, security settings."),
]
Types = Annotated[
    Path | None, typer.Option("--types", help="Machine types, `host: type` per line.")
]


@dataclass(frozen=True)
class Target:
    """Which Storm."""

    nimbus: str | None = None
    ui: str | None = None
    storm_yaml: Path | None = None
    types: Path | None = None

    def __post_init__(self) -> None:
        given = [self.nimbus, self.ui, self.storm_yaml]
        if sum(value is not None for value in given) > 1:
            raise UsageError("give one of --nimbus, --ui and --storm-yaml")
        if self.storm_yaml is not None and not self.storm_yaml.is_file():
            raise InputError(Finding("cannot be read: there is no such file", str(self.storm_yaml)))
        if self.storm_yaml is not None and self.storm_yaml.name != "storm.yaml":
            message = "must be called storm.yaml, because Storm's client looks for that name"
            raise InputError(Finding(message, str(self.storm_yaml)))

    @contextmanager
    def bridge(self) -> Iterator[Bridge]:
        if self.ui is not None:
            raise UsageError("the UI cannot be told anything; use --nimbus or --storm-yaml")
        named = self.storm_yaml or (self._of_the_lab() if self.nimbus is None else None)
        folder = named.absolute().parent if named else None
        with open_bridge(self.nimbus, conf_dir=folder) as bridge:
            yield bridge

    @staticmethod
    def _of_the_lab() -> Path | None:
        """Where nobody says which Storm is meant, the lab that is up here."""
        if any(name in os.environ for name in ("STORM_CONF_DIR", "STORM_HOME")):
            return None
        lab = keeper.find("storm")
        if lab is None or not lab.address:
            return None
        say("the Storm of the lab that is up here (penstock lab status --engine storm)")
        return Path(lab.address)

    def snapshot(self) -> Snapshot:
        """What runs now."""
        if self.ui is not None:
            return self._of(seen_by_ui(ask_ui(self.ui), self.ui))
        with self.bridge() as bridge:
            return self.snapshot_over(bridge)

    def snapshot_over(self, bridge: Bridge) -> Snapshot:
        return self._of(seen_by_nimbus(bridge))

    @property
    def machine_types(self) -> Mapping[str, str] | None:
        return load_machine_types(self.types) if self.types else None

    def _of(self, seen: Seen) -> Snapshot:
        snapshot = snapshot_of(seen, self.machine_types)
        for note in snapshot.notes:
            say(note)
        for name, why in snapshot.left_out.items():
            say(f"left out: {name} {why}")
        return snapshot


@dataclass(frozen=True)
class Live:
    """A running cluster that is planned for: its problem, and what is in force there."""

    snapshot: Snapshot
    problem: Problem
    before: Plan | None

    def made(self, plan: Plan) -> Plan:
        """The plan with what it was made from, so that it can be told when it is stale."""
        return replace(plan, deployed=self.snapshot.deployed)


def is_live(engine: str | None) -> bool:
    if engine is not None and engine != "storm":
        raise UsageError(f'--from takes storm, not "{engine}"')
    return engine is not None


def live(
    target: Target,
    names: list[str] | None,
    profile: str | Callable[[Snapshot], Profile] | None,
    *,
    weighted: bool = False,
    headroom: float | None = None,
    met: float | None = None,
    estimate_from: str | None = None,
) -> Live:
    """The problem that a running cluster poses; a profile may be measured on it first."""
    costs = app.profile(profile) if isinstance(profile, str) else None
    running = target.snapshot()
    if callable(profile):
        costs = profile(_chosen(running, names))
    snapshot = narrowed(running, names, costs)
    problem = app.problem(
        snapshot.topologies, snapshot.cluster, costs, weighted=weighted, headroom=headroom, met=met,
        estimate_from=estimate_from,
    )  # fmt: skip
    if snapshot.avoided:
        say(f"on Storm's blacklist, so not planned on: {', '.join(snapshot.avoided)}")
        problem = problem.with_terms(Terms(avoid=snapshot.avoided))
    try:
        before = plan_in_force(snapshot, problem.profile)
    except InputError as error:
        say(f"what changes is not shown: {error}")
        before = None
    return Live(snapshot, problem, before)


def narrowed(snapshot: Snapshot, names: list[str] | None, profile: Profile | None) -> Snapshot:
    """Only the topologies named, all of them if none is; without ackers nobody has measured."""
    chosen = _chosen(snapshot, names)
    others = {t.name for t in snapshot.topologies} - {t.name for t in chosen.topologies}
    if others:
        rest = ", ".join(sorted(others))
        say(f"the machines are planned as if they had them alone; also running: {rest}")
    if profile is None or ACKER in profile.rows:
        return chosen
    if any(ACKER in t.index for t in chosen.topologies):
        say(f"the profile has no costs of {ACKER}; ackers are left to the Storm plugin")
    return without_ackers(chosen)


def _chosen(snapshot: Snapshot, names: list[str] | None) -> Snapshot:
    known = [t.name for t in snapshot.topologies]
    asked = set(snapshot.left_out) if not names else set(names) & set(snapshot.left_out)
    if asked and (names or not known):
        raise InputError(*(Finding(snapshot.left_out[n], field=n) for n in sorted(asked)))
    if not known:
        raise InputError("no topology runs on this cluster")
    for name in names or []:
        if name not in known:
            raise UnknownNameError("running topology", name, known)
    kept = [i for i, name in enumerate(known) if not names or name in names]
    return replace(
        snapshot,
        topologies=tuple(snapshot.topologies[i] for i in kept),
        deployed=tuple(snapshot.deployed[i] for i in kept),
    )

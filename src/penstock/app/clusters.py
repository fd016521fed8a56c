"""A running cluster as a problem: what runs there, on which machines, and who runs where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from penstock.app.problems import problem as problem_of
from penstock.app.problems import profile as profile_of
from penstock.app.problems import silent as silent
from penstock.change.diff import Changes
from penstock.change.history import Receipt
from penstock.change.in_force import plan_in_force
from penstock.engines import registry
from penstock.engines.base import Ability, Engine, PublishOrder, Say, Session
from penstock.engines.publication import Publication, prepare
from penstock.errors import Finding, InputError, UnknownNameError
from penstock.model.cluster import Cluster
from penstock.model.machine_table import MachineTable
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.model.terms import Terms


def engine(name: str = registry.DEFAULT_ENGINE, **options: Any) -> Engine:
    """An engine by name, with its options: ``engine("storm", nimbus="storm-master")``."""
    return registry.create(name, options)


@contextmanager
def session(target: Engine, ability: Ability, say: Say = silent) -> Iterator[Session]:
    """A conversation with a running cluster; an engine that cannot do it is refused first."""
    registry.require(target, ability)
    with ExitStack() as stack:
        with registry.naming_its_package(target.name):
            opened = stack.enter_context(target.connect(say))
        yield _NamingSession(target.name, opened)


@dataclass(frozen=True)
class _NamingSession:
    """A conversation whose failures are told as those of the engine's own package."""

    name: str
    opened: Session

    def snapshot(self) -> Snapshot:
        with registry.naming_its_package(self.name):
            return self.opened.snapshot()

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        with registry.naming_its_package(self.name):
            return self.opened.prepare(plan, snapshot)

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        with registry.naming_its_package(self.name):
            return self.opened.publish(publication, order)


def snapshot(target: Engine, say: Say = silent) -> Snapshot:
    """What runs on a cluster now: machines, topologies, and who runs where."""
    with session(target, Ability.SNAPSHOT, say) as opened:
        return look(opened, say)


def look(opened: Session, say: Say) -> Snapshot:
    """A snapshot over an open conversation; what could not be learned is said."""
    snapshot = opened.snapshot()
    for note in snapshot.notes:
        say(note)
    for name, why in snapshot.left_out.items():
        say(f"left out: {name} {why}")
    return snapshot


def diff_running(target: Engine, plan: Plan, *, say: Say = silent) -> Changes:
    """What putting a plan in force would change of what runs."""
    now = snapshot(target, say)
    places_itself = target.capabilities.places_itself
    return prepare(plan, now, places_itself=places_itself).changes


@dataclass(frozen=True)
class RunningCluster:
    """A running cluster that is planned for: its problem, and what is in force there."""

    snapshot: Snapshot
    problem: Problem
    #: ``None`` where what runs is no whole placement.
    before: Plan | None
    #: Whether instances may only move when a machine is lost, and not start or end.
    same_counts: bool

    def stamped(self, plan: Plan) -> Plan:
        """The plan with what it was made from, so that it can be told when it is stale."""
        return replace(plan, deployed=self.snapshot.deployed)


def running(
    target: Engine,
    names: Sequence[str] | None = None,
    profile: str | Profile | Callable[[Snapshot], Profile] | None = None,
    *,
    say: Say = silent,
    weighted: bool = False,
    headroom: float | None = None,
    met: float | None = None,
    estimate_from: str | None = None,
    told: MachineTable | None = None,
) -> RunningCluster:
    """The problem that a running cluster poses, with all its topologies or those named.

    A profile may be a function, which measures it on the cluster as it is seen now.
    """
    costs = None if profile is None or callable(profile) else profile_of(profile)
    now = snapshot(target, say)
    if callable(profile):
        costs = profile(_chosen(now, names))
    chosen = narrowed(target, now, names, costs, say)
    posed = problem_of(
        chosen.topologies, chosen.cluster, costs, weighted=weighted, headroom=headroom, met=met,
        estimate_from=estimate_from, engine=target, told=told, say=say,
    )  # fmt: skip
    if chosen.avoided:
        machines = ", ".join(chosen.avoided)
        say(f"{target.name} has these on its blacklist, so the plan does not use them: {machines}")
        posed = posed.with_terms(Terms(avoid=chosen.avoided))
    try:
        before = plan_in_force(chosen, posed.profile)
    except InputError as error:
        say(f"cannot show what would change: {error}")
        before = None
    return RunningCluster(chosen, posed, before, not target.capabilities.changes_counts)


def narrowed(
    target: Engine,
    taken: Snapshot,
    names: Sequence[str] | None,
    profile: Profile | None,
    say: Say = silent,
) -> Snapshot:
    """Only the topologies named, all if none is; without what the engine places by itself.

    That is planned only where the profile has its costs.
    """
    chosen = _chosen(taken, names)
    others = {t.name for t in taken.topologies} - {t.name for t in chosen.topologies}
    if others:
        rest = ", ".join(sorted(others))
        say(f"the plan gives these topologies the machines to themselves; also running: {rest}")
    if profile is None:
        return chosen
    unmeasured = target.capabilities.places_itself - {*profile.rows}
    for name in sorted(unmeasured):
        if any(name in t.index for t in chosen.topologies):
            say(f"the profile has no costs of {name}; {target.name} places it by itself")
    return chosen.without_components(unmeasured) if unmeasured else chosen


def types_of_hosts(cluster: Cluster) -> dict[str, str]:
    """Machine types by every name that telemetry may have for a machine."""
    by_host: dict[str, set[str]] = {}
    for machine in cluster.machines:
        if machine.host:
            by_host.setdefault(machine.host, set()).add(machine.type)
    # Machines that share a host can be told apart by their own names only.
    shared = {host: kinds.pop() for host, kinds in by_host.items() if len(kinds) == 1}
    return shared | {machine.name: machine.type for machine in cluster.machines}


def _chosen(taken: Snapshot, names: Sequence[str] | None) -> Snapshot:
    known = [t.name for t in taken.topologies]
    asked = set(taken.left_out) if not names else set(names) & set(taken.left_out)
    if asked and (names or not known):
        raise InputError(*(Finding(taken.left_out[n], field=n) for n in sorted(asked)))
    if not known:
        raise InputError("no topology runs on this cluster")
    for name in names or []:
        if name not in known:
            raise UnknownNameError("running topology", name, known)
    return taken.narrowed(names or known)

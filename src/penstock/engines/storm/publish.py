"""Puts a plan in force on a running Storm, and takes it back if Storm does not follow.

The plan file is replaced in one step; what it said of other topologies goes along. Then each
topology that changes is rebalanced: Storm stops its spouts, gives every executor its new place, and
restarts the workers whose executors are others. The placement is read back until it is the plan's.
If it does not become so in time, the placement from before is put in force in the same way, as a
plan of its own, and then the plan file from before.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.change.guard import differences, places_of
from penstock.change.history import APPLIED, NOT_ROLLED_BACK, ROLLED_BACK
from penstock.engines.storm.bridge import Bridge, BridgeError
from penstock.engines.storm.from_nimbus import seen_by_nimbus
from penstock.engines.storm.kept import Part, kept_of, published
from penstock.engines.storm.permission import SHARES_FOLDERS, Permission
from penstock.engines.storm.publication import Publication, Receipt, Step
from penstock.engines.storm.snapshot import snapshot_of
from penstock.errors import InputError, PenstockError
from penstock.files.writer import write_text
from penstock.model.plan import Plan
from penstock.model.snapshot import Snapshot

_LOOK_EVERY_S = 1.0
#: Going back is given this long at least, however impatient the going forth was.
_GOES_BACK_WITHIN_S = 60.0
#: Workers that are just starting are given this long before they are moved.
_START_WITHIN_S = 60.0
#: Differences that are listed of one topology.
_SHOWN = 3
_ID_DIGITS = 8
#: The setting of a topology that says where its workers read shares.
SHARES_FILE = "penstock.shares.file"


class NotFollowed(PenstockError):
    """Storm did not come to the plan's placement; the one from before is in force again, or not."""


@dataclass(frozen=True)
class Publisher:
    """Carries out a publication over a bridge; clock and waiting are arguments."""

    bridge: Bridge
    plan_file: Path
    say: Callable[[str], None]
    keep: Callable[[Receipt], None]
    wait_s: int = 2
    within_s: float = 120.0
    permission: Permission = field(default_factory=Permission)
    #: By host, machine or supervisor id, as given when the snapshot was taken.
    machine_types: Mapping[str, str] | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def publish(self, publication: Publication) -> Receipt:
        """The plan in force, or an error that says what is in force instead."""
        self._let_start({step.topology for step in publication.steps if step.pauses})
        old = read_plan_file(self.plan_file)
        kept = self.kept(publication, old)
        text = published(publication.plan, kept)
        backup = self.plan_file.with_name(self.plan_file.name + ".before")
        if old is not None:
            write_text(backup, old.decode("utf-8", errors="replace"))
        receipt = Receipt(
            plan_id=hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS],
            publication=publication,
            began_s=self.clock(),
            ended_s=self.clock(),
            plan_file=str(self.plan_file),
            backup=str(backup) if old is not None else "",
        )
        # Before anything is touched: who is killed from here on leaves a trace of what was meant.
        self.keep(receipt)
        write_text(self.plan_file, text)
        trouble = self._bring_shares(publication.plan)
        placed: dict[str, float] = {}
        if not trouble:
            placed, trouble = self._put_in_force(publication.plan, publication.steps, self.within_s)
        if not trouble:
            done = replace(receipt, outcome=APPLIED, ended_s=self.clock(), placed_after_s=placed)
            self.keep(done)
            return done
        self.say("Storm does not follow the plan; going back to the placement from before")
        back = self._go_back(publication, old, kept)
        outcome = ROLLED_BACK if not back else NOT_ROLLED_BACK
        trouble = [*trouble, *back]
        self.keep(replace(receipt, outcome=outcome, ended_s=self.clock(), trouble=tuple(trouble)))
        raise NotFollowed(*trouble, f"{outcome}; see the receipt")

    @staticmethod
    def kept(publication: Publication, old: bytes | None) -> list[Part]:
        """What the plan file from before says of topologies that this plan does not name."""
        planned = {t.name for t in publication.plan.problem.topologies}
        return kept_of(old, publication.running, planned)

    def _let_start(self, topologies: set[str]) -> None:
        """Wait for executors that have not reported yet.

        A supervisor that is told to end a worker before that has written down its process leaves it
        running: it keeps its port, and the worker that should take its place cannot start.
        """
        deadline = self.clock() + _START_WITHIN_S
        told = False
        while self.clock() < deadline:
            starting = {
                t.name
                for t in seen_by_nimbus(self.bridge, topologies).topologies
                if any(e.uptime_s <= 0 for e in t.executors)
            }
            if not starting:
                return
            if not told:
                self.say(f"workers of {', '.join(sorted(starting))} are starting; waiting for them")
                told = True
            self.sleep(_LOOK_EVERY_S)

    def _bring_shares(self, plan: Plan) -> list[str]:
        """Workers read shares where their topology says: from a file, or from a blob of Storm's.

        They get what the plan file says now. What went wrong, or nothing.
        """
        if not plan.placement.has_shares:
            return []
        try:
            running = {t["name"]: t["id"] for t in self.bridge.ask("cluster")["topologies"]}
            for topology in plan.problem.topologies:
                if topology.name not in running:
                    return [f"{topology.name} does not run any more"]
                self._bring_shares_to(topology.name, running[topology.name])
        except (BridgeError, OSError) as error:
            return [f"the shares could not be brought to the workers: {error}"]
        return []

    def _bring_shares_to(self, name: str, run: str) -> None:
        said = self.bridge.ask("topology", topology=run)
        given = said.get(SHARES_FILE)
        if given is None:
            self.say(f"{name} has no {SHARES_FILE}: its streams stay divided evenly")
            return
        blobs = (said.get("topology.blobstore.map") or {}).items()
        key = next((k for k, blob in blobs if (blob or {}).get("localname", k) == given), None)
        if key is not None:
            self.bridge.ask("put-blob", key=key, file=str(self.plan_file.absolute()))
        elif Path(given) == self.plan_file:
            return
        elif file := self.permission.shares_file(given):
            write_text(file, self.plan_file.read_text(encoding="utf-8"))
        else:
            self.say(
                f"{name} reads its shares from {given}, which was not written: copy the plan there "
                f"on every worker's machine, name its folder here in {SHARES_FOLDERS} of "
                "storm.yaml, or have the topology map a blob (docs/storm.md)"
            )

    def _put_in_force(
        self, plan: Plan, steps: tuple[Step, ...], within_s: float
    ) -> tuple[dict[str, float], list[str]]:
        """Seconds until each topology was placed, and what is not as planned in the end."""
        began = self.clock()
        for step in steps:
            if not step.pauses:
                continue
            self.say(f"rebalancing {step.topology}: {step.workers_restarted} workers restart")
            refused = self._rebalance(step, began + within_s)
            if refused:
                return {}, [refused]
        return self._wait(plan, began, within_s)

    def _rebalance(self, step: Step, deadline: float) -> str:
        """Gives the order; Nimbus takes none while another is under way. Empty, or why not."""
        while True:
            try:
                self.bridge.ask(
                    "rebalance",
                    name=step.topology,
                    wait_s=self.wait_s,
                    # As many as the plan has: with fewer than it asks for, Storm's own scheduler
                    # would move everything as soon as the plan is gone.
                    workers=step.workers,
                    executors=dict(step.executors) or None,
                )
            except BridgeError as error:
                if error.kind not in ("failed", "not-reached") or self.clock() > deadline:
                    return str(error)
                self.sleep(_LOOK_EVERY_S)
            else:
                return ""

    def _wait(
        self, plan: Plan, began: float, within_s: float
    ) -> tuple[dict[str, float], list[str]]:
        wanted = {t.name: places_of(plan, t.name) for t in plan.problem.topologies}
        placed: dict[str, float] = {}
        trouble: list[str] = []
        while len(placed) < len(wanted):
            try:
                snapshot = snapshot_of(seen_by_nimbus(self.bridge, wanted), self.machine_types)
            except (BridgeError, InputError) as error:
                # Nimbus may be away for a moment, or between two placements; the deadline decides.
                trouble = [str(error)]
            else:
                trouble = self._compare(snapshot, wanted, placed, self.clock() - began)
            if not trouble:
                break
            if self.clock() - began > within_s:
                return placed, trouble
            self.sleep(_LOOK_EVERY_S)
        return placed, []

    @staticmethod
    def _compare(
        snapshot: Snapshot,
        wanted: Mapping[str, Mapping[str, tuple[tuple[str, int], ...]]],
        placed: dict[str, float],
        now_s: float,
    ) -> list[str]:
        running = {d.topology: d for d in snapshot.deployed}
        trouble = []
        for name, places in wanted.items():
            if name not in running:
                why = snapshot.left_out.get(name, "does not run any more")
                trouble.append(f"{name} {why}")
                continue
            differs = differences(places, running[name])
            if not differs:
                placed.setdefault(name, round(now_s, 3))
                continue
            more = f" and {len(differs) - _SHOWN} more" if len(differs) > _SHOWN else ""
            said = snapshot.statuses.get(name) or "the scheduler says nothing"
            trouble.append(f"{name}: {', '.join(differs[:_SHOWN])}{more}; {said}")
        return trouble

    def _go_back(self, publication: Publication, old: bytes | None, kept: list[Part]) -> list[str]:
        """The placement from before, exactly; then the plan file from before, and its shares."""
        before = publication.before
        write_text(self.plan_file, published(before, kept))
        steps = tuple(self._step_back(step, before) for step in publication.steps)
        within_s = max(self.within_s, _GOES_BACK_WITHIN_S)
        _, trouble = self._put_in_force(before, steps, within_s)
        if old is not None and not trouble:
            write_text(self.plan_file, old.decode("utf-8", errors="replace"))
        trouble = [*trouble, *self._bring_shares(publication.plan)]
        if old is None and not trouble:
            self.plan_file.unlink(missing_ok=True)
        return trouble

    @staticmethod
    def _step_back(step: Step, before: Plan) -> Step:
        places = places_of(before, step.topology)
        return replace(
            step,
            executors={name: len(places[name]) for name in step.executors},
            workers_restarted=1,
            workers=len({place for found in places.values() for place in found}),
        )


def read_plan_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None

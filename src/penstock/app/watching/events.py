"""What a watcher tells: one line for each thing that happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from math import isfinite
from typing import Any

from penstock.app.proposals import ChangeProposal
from penstock.control.decision import Decision
from penstock.control.detectors.detector import Detection
from penstock.control.observation import Observation


class EventKind(StrEnum):
    """What kind of thing happened."""

    #: A change was decided: advised, asked for, done, or not.
    DECISION = "decision"
    #: A change was wanted and a guard rail said no.
    REFUSED = "refused"
    #: Something that was tried did not work, or nothing can be seen.
    FAILED = "failed"
    #: A person has to look.
    HELP = "help"
    #: A proposal was answered, expired, or was found after an interruption.
    PROPOSAL = "proposal"
    DETECTION = "detection"
    NOTICE = "notice"


#: What hooks hear of.
FOR_HOOKS = (EventKind.REFUSED, EventKind.FAILED, EventKind.HELP)


@dataclass(frozen=True)
class WatchEvent:
    """One thing that happened."""

    time_s: float
    kind: EventKind
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        when = datetime.fromtimestamp(self.time_s, UTC)
        return f"{when:%Y-%m-%d %H:%M:%S} {self.kind}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        return {"time_s": self.time_s, "kind": self.kind.value, "text": self.text, **self.facts}


def decided(decision: Decision, proposal: ChangeProposal, seen: Observation) -> WatchEvent:
    """A decision with what became of it."""
    failed = proposal.status.value in ("rolled back", "not rolled back", "not applied", "begun")
    kind = EventKind.FAILED if failed else EventKind.DECISION
    rates = (
        f"{decision.rate_before_per_s:.0f} → {decision.rate_after_per_s:.0f} tuples/s, "
        f"{decision.machines_before} → {decision.machines_after} machines, {decision.moves} moves"
    )
    end = f" ({proposal.why})" if proposal.why else ""
    text = f"{decision.kind}, {decision.reason}; {rates}; {proposal.id} {proposal.status}{end}"
    return WatchEvent(
        decision.time_s, kind, text,
        {
            "decision": decision.kind.value,
            "reason": decision.reason,
            "evidence": {name: _number(value) for name, value in decision.evidence},
            "offered_per_s": _number(seen.offered),
            "rate_before_per_s": _number(decision.rate_before_per_s),
            "rate_after_per_s": _number(decision.rate_after_per_s),
            "machines_before": decision.machines_before,
            "machines_after": decision.machines_after,
            "moves": decision.moves,
            "pause_s": _number(decision.pause_s),
            "gap": _number(decision.gap),
            **proposal_facts(proposal),
        },
    )  # fmt: skip


def refused(decision: Decision) -> list[WatchEvent]:
    """What was wanted and not done."""
    events = [
        WatchEvent(
            decision.time_s, EventKind.REFUSED, f"{r.what}: {r.why} ({r.rule})",
            {"what": r.what, "rule": r.rule, "why": r.why},
        )
        for r in decision.refused
    ]  # fmt: skip
    if decision.calls_for_help:
        events.append(WatchEvent(decision.time_s, EventKind.HELP, decision.calls_for_help))
    return events


def detected(detection: Detection) -> WatchEvent:
    facts = {
        "detector": detection.kind, "subject": detection.subject,
        "value": _number(detection.value), "is_over": detection.is_over,
    }  # fmt: skip
    return WatchEvent(detection.time_s, EventKind.DETECTION, detection.why, facts)


def answered(proposal: ChangeProposal, time_s: float) -> WatchEvent:
    """What became of an earlier proposal."""
    by = f" by {proposal.who}" if proposal.who else ""
    why = f" ({proposal.why})" if proposal.why else ""
    text = f"{proposal.id} {proposal.status}{by}{why}"
    return WatchEvent(time_s, EventKind.PROPOSAL, text, proposal_facts(proposal))


def proposal_facts(proposal: ChangeProposal) -> dict[str, Any]:
    return {
        "proposal": proposal.id,
        "status": proposal.status.value,
        "why": proposal.why,
        "who": proposal.who,
        "receipt": proposal.receipt,
    }


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if isfinite(value) else None

"""Journals read: as they say themselves, as entries of a problem, as what they teach."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from penstock.app.journal import power_of
from penstock.app.journal_check import unsound_field
from penstock.app.journal_file import PROPOSALS_SINCE, damaged, open_journal
from penstock.app.proposals import Status
from penstock.control.decision import Decision, DecisionKind, Refusal
from penstock.control.detectors.detector import Detection
from penstock.control.journal import JournalEntry
from penstock.control.provenance import ProvenanceData, provenance
from penstock.errors import Finding, InputError
from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem


def read_journal(path: Path, problem: Problem) -> list[JournalEntry]:
    """A journal's entries, as far as they speak of this problem; the oldest first."""
    return [e for row in journal_rows(path) if (e := _entry(row, problem)) is not None]


def read_provenance(path: Path, problem: Problem) -> ProvenanceData:
    """What a journal teaches policies."""
    return provenance(read_journal(path, problem), power_of(problem))


def journal_rows(path: Path, *, last: int | None = None) -> list[dict[str, Any]]:
    """A journal as it says itself, placements put in, the newest ``last`` only; oldest first."""
    if not path.is_file():
        raise InputError(Finding("no such journal", str(path)))
    with closing(open_journal(path, read_only=True)) as connection:
        try:
            became = _proposals(connection, path)
            known = dict(connection.execute("SELECT id, instances FROM placement").fetchall())
            connection.row_factory = sqlite3.Row
            limit = -1 if last is None else last
            turns = connection.execute(
                "SELECT * FROM turn ORDER BY id DESC LIMIT ?", (limit,)
            ).fetchall()
        except sqlite3.Error as error:
            raise InputError(Finding(f"cannot be read: {error}", str(path))) from None
    rows = [_turn(dict(row), known, path) for row in reversed(turns)]
    return [
        {**row, "proposal": became.get(row["begin_s"]) if row["decision"] else None} for row in rows
    ]


def _proposals(connection: sqlite3.Connection, path: Path) -> dict[float, dict[str, Any]]:
    """What became of decisions on a running cluster, by their time; rehearsals have none."""
    if connection.execute("PRAGMA user_version").fetchone()[0] < PROPOSALS_SINCE:
        return {}
    names = ("id", "time_s", "status", "status_s", "who", "why", "receipt")
    rows = connection.execute(f"SELECT {', '.join(names)} FROM proposal ORDER BY time_s").fetchall()
    proposals = {}
    for row in rows:
        proposal = dict(zip(names, row, strict=True))
        texts = [proposal[name] for name in ("id", "who", "why", "receipt")]
        if proposal["status"] not in list(Status) or not all(isinstance(t, str) for t in texts):
            raise damaged(str(path), f"proposal {proposal['id']!r}")
        proposals[proposal.pop("time_s")] = proposal
    return proposals


def _turn(content: dict[str, Any], known: dict[str, str], path: Path) -> dict[str, Any]:
    """What stands in a row, its JSON read and its placements put in."""
    number = content["id"]
    try:
        for name in ("away", "cpu", "stream_per_s", "decision", "detections"):
            content[name] = None if content[name] is None else json.loads(content[name])
        content["placement"] = json.loads(known[content["placement"]])
        decision = content["decision"]
        if decision and decision["placement"]:
            decision["placement"] = json.loads(known[decision["placement"]])
        wrong = unsound_field(content)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(str(path), f"turn {number}: {type(error).__name__}") from None
    if wrong is not None:
        raise damaged(str(path), f"turn {number}: {wrong}")
    return content


def dump(path: Path) -> str:
    """The whole content as SQL: two journals say the same if their dumps are the same."""
    with closing(open_journal(path, read_only=True)) as connection:
        return "\n".join(connection.iterdump())


def _entry(row: dict[str, Any], problem: Problem) -> JournalEntry | None:
    index = problem.cluster.machine_index
    placement = _placed(row["placement"], problem)
    if placement is None:
        return None
    alive = np.ones(len(problem.cluster.machines), dtype=np.bool_)
    alive[[index[name] for name in row["away"] if name in index]] = False
    told = row["decision"]
    decision = None if told is None else _decision(told, problem)
    return JournalEntry(
        row["begin_s"], row["end_s"], row["turns"], placement, alive,
        _known(row["offered_per_s"]), _known(row["processed_per_s"]), _known(row["backlog"]),
        _known(row["latency_s"]), _known(row["paused_s"]),
        _array(row["cpu"], len(problem.cluster.machines)),
        _array(row["stream_per_s"], len(problem.streams)), decision,
        tuple(Detection(**{**d, "value": _known(d["value"])}) for d in row["detections"] or ()),
    )  # fmt: skip


def _decision(told: dict[str, Any], problem: Problem) -> Decision:
    values: dict[str, Any] = {
        name: nan if value is None and name in _FLOATS else value for name, value in told.items()
    }
    values |= {
        "kind": DecisionKind(told["kind"]),
        "placement": told["placement"] and _placed(told["placement"], problem),
        "evidence": tuple((name, _known(value)) for name, value in told["evidence"]),
        "refused": tuple(Refusal(*parts) for parts in told["refused"]),
    }
    return Decision(**values)


_FLOATS = frozenset(
    name for name, f in Decision.__dataclass_fields__.items() if f.type in ("float", float)
)


def _placed(instances: list[list[Any]], problem: Problem) -> Placement | None:
    labels = {label: c for c, label in enumerate(problem.labels)}
    index = problem.cluster.machine_index
    if any(c not in labels or m not in index for c, m, _, _ in instances):
        return None
    return Placement.of(
        [labels[c] for c, _, _, _ in instances],
        [index[m] for _, m, _, _ in instances],
        [s for _, _, s, _ in instances],
        [_known(w) for _, _, _, w in instances],
    )


def _known(value: float | None) -> float:
    return nan if value is None else float(value)


def _array(values: list[float | None] | None, length: int) -> FloatVector | None:
    """As long as today: what came later is at the end, and was not known then."""
    if values is None or len(values) > length:
        return None
    return np.array([*map(_known, values), *[nan] * (length - len(values))])

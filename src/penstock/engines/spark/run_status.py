"""What a run under a plan says of itself, for whoever watches it: a small file in its folder.

Written anew after every batch and whenever something changes, so that a reader needs no connection
to the run and the run waits for nobody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.engines.publisher import EngineAway
from penstock.errors import Finding, InputError
from penstock.files.replacement import replace_file
from penstock.files.versions import FormatVersion

STATUS = "status.json"
FORMAT = FormatVersion("penstock/run-status", 1)
#: Batches that are listed end within so many seconds of the newest.
_LISTED_S = 180.0


@dataclass(frozen=True)
class BatchStatus:
    """One whole batch, seen from the source."""

    number: int
    ended_s: float
    seconds: float
    rows: float
    #: Since the run began; ``None`` where the source does not know what it is offered.
    offered: float | None = None
    backlog: float | None = None
    #: From the arrival of its first row to its end.
    latency_s: float | None = None


@dataclass(frozen=True)
class RunStatus:
    """A run at one moment."""

    topology: str
    #: This very run: another driver in the same folder is another one.
    id: str
    master: str
    place_by: str
    plan_file: str
    process: int
    started: str
    #: By hash of its file: the plan in force, and one that was refused, with the reason.
    plan_id: str = ""
    refused_id: str = ""
    refusal: str = ""
    #: Machine, slot and share of every instance of each component, now.
    places: Mapping[str, tuple[tuple[str, int, float], ...]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    #: What is under way, in words; nothing if all runs.
    doing: str = ""
    #: How long the last change kept the stream from working.
    paused_s: float | None = None
    batches: tuple[BatchStatus, ...] = ()

    @property
    def is_alive(self) -> bool:
        return ProcessIdentity(self.process, self.started).is_alive

    def after(self, batch: BatchStatus) -> RunStatus:
        """With one batch more, without those that are long gone."""
        recent = tuple(b for b in self.batches if b.ended_s > batch.ended_s - _LISTED_S)
        return replace(self, batches=(*recent, batch))


def write_status(folder: Path, status: RunStatus) -> None:
    content = {**FORMAT.head, **asdict(status)}
    replace_file(folder / STATUS, json.dumps(content).encode())


def read_status(folder: Path) -> RunStatus:
    """What a run said last; an error where it never ran under a plan, or is not there any more."""
    path = folder / STATUS
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        message = "is not there: is this the folder (--out) of a run with --plan?"
        raise InputError(Finding(message, str(path))) from None
    except (OSError, ValueError) as error:
        raise EngineAway(f"{path} cannot be read: {error}") from None
    try:
        status = _status(content)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(Finding("is not the status of a run of this version", str(path))) from None
    if not status.is_alive:
        raise EngineAway(f"the run of {status.topology} in {folder} has ended")
    return status


def _status(content: Mapping[str, Any]) -> RunStatus:
    if any(content[key] != value for key, value in FORMAT.head.items()):
        raise ValueError(content["version"])
    known = {k: v for k, v in content.items() if k not in FORMAT.head}
    places = {
        str(name): tuple((str(m), int(s), float(share)) for m, s, share in instances)
        for name, instances in content["places"].items()
    }
    batches = tuple(BatchStatus(**batch) for batch in content["batches"])
    lost = tuple(map(str, content["lost"]))
    return RunStatus(**{**known, "places": places, "batches": batches, "lost": lost})

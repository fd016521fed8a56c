"""How a cluster is watched, and how far the watcher may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from penstock.app.history_folder import history_folder
from penstock.app.journal_file import JOURNAL
from penstock.app.watching.hooks import Hook
from penstock.model.watch_rules import WatchSetting

_DAY_S = 86_400.0


class Act(StrEnum):
    """What is done with a decision."""

    #: It is told.
    ADVISE = "advise"
    #: It waits for a person.
    ASK = "ask"
    NOW = "now"


@dataclass(frozen=True)
class WatchOptions:
    """Everything that a watcher is told beside the cluster."""

    #: What tuples cost; read again whenever it changes.
    profile: Path
    watch: WatchSetting = field(default_factory=WatchSetting)
    act: Act = Act.ADVISE
    every_s: float = 10.0
    #: Rates are means over the newest so many seconds.
    window_s: float = 30.0
    #: Topologies that are planned, all if none is named.
    topologies: tuple[str, ...] = ()
    telemetry: tuple[str, ...] = ()
    #: Folder or topic that the pipeline follows, to keep the profile up to date.
    measure: str | None = None
    weighted: bool = False
    headroom: float | None = None
    #: Folder of receipts and, unless ``journal`` says otherwise, of the journal.
    history: Path | None = None
    journal: Path | None = None
    keep_s: float = 90 * _DAY_S
    #: A proposal that waits longer is stale.
    proposal_lasts_s: float = 600.0
    #: Seconds that tuples in flight are given, and until a plan must be in force.
    wait_s: int = 2
    within_s: float = 120.0
    #: Told what was refused and what failed.
    hook: Hook | None = None

    def __post_init__(self) -> None:
        for name in ("profile", "history", "journal"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else Path(path))

    @property
    def history_path(self) -> Path:
        return history_folder(self.history)

    @property
    def journal_path(self) -> Path:
        return self.journal or self.history_path / JOURNAL

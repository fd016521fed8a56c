"""Which files putting a plan in force may write: the operator says so, never the cluster.

Nimbus tells where it reads its plan, and a topology where its workers read shares. Whoever made
them is not who runs ``penstock apply``, often with more rights: what they say is only followed
where the storm.yaml of the one who applies, or an option, says the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.engines.storm.bridge import Bridge
from penstock.engines.storm.daemons import PLAN_FILE, SCHEDULER_CLASS
from penstock.errors import Finding, InputError
from penstock.model.snapshot import Snapshot

#: The setting of whoever applies plans that says where topologies may have their shares.
SHARES_FOLDERS = "penstock.shares.folders"


@dataclass(frozen=True)
class Permission:
    """Files that may be written; the operator's own settings say it, never the cluster's."""

    plan_file: Path | None = None
    shares_folders: tuple[Path, ...] = ()

    @classmethod
    def asked(cls, bridge: Bridge, plan_file: Path | None = None) -> Permission:
        """As the storm.yaml here says; ``plan_file`` where the operator has named one besides."""
        own = bridge.ask("own-settings")
        folders = own.get(SHARES_FOLDERS) or []
        if not isinstance(folders, list) or not all(isinstance(f, str) for f in folders):
            raise InputError(f"{SHARES_FOLDERS} in storm.yaml must be a list of folders")
        named = plan_file or (Path(own[PLAN_FILE]) if own.get(PLAN_FILE) else None)
        return cls(named, tuple(Path(folder) for folder in folders))

    def shares_file(self, given: str) -> Path | None:
        """Where a file that a topology names is, if it may be written."""
        if not Path(given).is_absolute():
            return None
        real = Path(given).resolve()
        allowed = any(real.parent.is_relative_to(f.resolve()) for f in self.shares_folders)
        return real if allowed and real.parent.is_dir() else None


def plan_file_of(snapshot: Snapshot, permission: Permission, given: Path | None) -> Path:
    """Where Nimbus reads the plan, which must be a place that we can and may write to."""
    scheduler = snapshot.settings.get("storm.scheduler")
    if scheduler != SCHEDULER_CLASS:
        message = (
            f"Nimbus places by {scheduler or 'its default scheduler'}; set storm.scheduler: "
            f"{SCHEDULER_CLASS} in its storm.yaml (docs/storm.md)"
        )
        raise InputError(message)
    plan_path = snapshot.settings.get(PLAN_FILE, "")
    path = given or (Path(plan_path) if plan_path else None)
    if path is None:
        raise InputError(f"Nimbus has no {PLAN_FILE}; set it, or name the file with --plan-file")
    if path != permission.plan_file:
        own = permission.plan_file
        but = f"{PLAN_FILE} here is {own}" if own else "nothing here says so"
        message = (
            f"Nimbus calls this its plan file, but {but}: name it with --plan-file, or set "
            f"{PLAN_FILE} in the storm.yaml that you give"
        )
        raise InputError(Finding(message, str(path)))
    if not path.parent.is_dir():
        message = (
            "its folder is not on this machine; run this on Nimbus' machine, or name with "
            "--plan-file where it is mounted here"
        )
        raise InputError(Finding(message, str(path)))
    return path

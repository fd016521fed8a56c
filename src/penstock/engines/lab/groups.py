"""Control groups of Linux, version 1 or 2: what a machine of the lab may use, and what it used.

A group that this user may not make is no error: the lab then does without limits and says so.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PERIOD_US = 100_000
#: What any process or group outside the lab weighs, in version 1 and 2.
_SHARES, _WEIGHT = 1024, 100
#: The kernel refuses a larger one in version 2; in version 1 it takes what it can.
_MOST_WEIGHT = 10_000
#: A machine of so many points weighs the same.
_POINTS_OF_A_PROCESS = 10.0
_GONE_WITHIN_S = 5.0
#: Groups of ours are named so, to be found again when whoever made them was killed.
PREFIX = "penstock-lab"


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Ended, and its parent has not asked yet.
    with suppress(OSError):
        return ") Z" not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return True


@dataclass(frozen=True)
class ControlGroup:
    """One machine's processes."""

    #: Folders of the same group: one for version 2; cpu and cpuacct for version 1.
    folders: tuple[Path, ...]
    is_unified: bool

    @property
    def name(self) -> str:
        return self.folders[0].name

    @property
    def joining(self) -> str:
        """A line of shell with which a process joins before it becomes another program."""
        return " && ".join(f"echo $$ > '{folder}/cgroup.procs'" for folder in self.folders)

    def limit(self, points: float | None) -> None:
        """At most so many points of a core; ``None`` for no limit.

        A quota only says what it may not exceed. Machines of a lab fill most of the computer, so a
        limited one also comes before other processes, and before smaller machines: a thread that
        has to share its core would not get its machine's points otherwise.
        """
        quota = None if points is None else round(points * _PERIOD_US / 100)
        weight = 1.0 if points is None else points / _POINTS_OF_A_PROCESS
        if self.is_unified:
            self._write("cpu.weight", min(max(1, round(weight * _WEIGHT)), _MOST_WEIGHT))
            self._write("cpu.max", f"{'max' if quota is None else quota} {_PERIOD_US}")
        else:
            self._write("cpu.shares", max(2, round(weight * _SHARES)))
            self._write("cpu.cfs_period_us", _PERIOD_US)
            self._write("cpu.cfs_quota_us", -1 if quota is None else quota)

    def _write(self, file: str, value: object) -> None:
        (self.folders[0] / file).write_text(str(value))

    def limited_to(self) -> float | None:
        """Points of a core it is held to now."""
        if self.is_unified:
            quota, period = (self.folders[0] / "cpu.max").read_text().split()
            return None if quota == "max" else 100 * int(quota) / int(period)
        quota = (self.folders[0] / "cpu.cfs_quota_us").read_text().strip()
        period = (self.folders[0] / "cpu.cfs_period_us").read_text()
        return None if int(quota) < 0 else 100 * int(quota) / int(period)

    def cpu_s(self) -> float:
        """Seconds of CPU that all its processes have used so far."""
        if not self.is_unified:
            return int((self.folders[-1] / "cpuacct.usage").read_text()) / 1e9
        lines = (self.folders[0] / "cpu.stat").read_text().splitlines()
        usage = next(line for line in lines if line.startswith("usage_usec"))
        return int(usage.split()[1]) / 1e6

    def processes(self) -> list[int]:
        with suppress(OSError):
            return [int(line) for line in (self.folders[0] / "cgroup.procs").read_text().split()]
        return []

    def remove(self) -> None:
        """End whatever runs in it, then the group itself."""
        ends_at = time.monotonic() + _GONE_WITHIN_S
        while (alive := self.processes()) and time.monotonic() < ends_at:
            for process in alive:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()


@dataclass(frozen=True)
class ControlGroups:
    """Where this user may make groups."""

    parents: tuple[Path, ...]
    is_unified: bool

    @classmethod
    def find(cls, proc: Path = Path("/proc")) -> ControlGroups | None:
        """Groups in which the CPU can be limited, if there are any we may write."""
        for candidate in _candidates(proc):
            if candidate.works():
                return candidate
        return None

    def make(self, name: str) -> ControlGroup:
        group = self.at(name)
        for folder in group.folders:
            folder.mkdir(exist_ok=True)
        return group

    def at(self, name: str) -> ControlGroup:
        """A group that is there already."""
        folders = tuple(dict.fromkeys(parent / f"{PREFIX}-{name}" for parent in self.parents))
        return ControlGroup(folders, self.is_unified)

    def clean_up(self) -> None:
        """Remove groups whose maker was killed; their names end in its number and the machine."""
        for path in sorted(self.parents[0].glob(f"{PREFIX}-*-*-*")):
            maker = path.name.rsplit("-", 2)[1]
            if maker.isdigit() and not is_alive(int(maker)):
                self.at(path.name.removeprefix(f"{PREFIX}-")).remove()

    def works(self) -> bool:
        try:
            probe = self.make(f"probe-{os.getpid()}")
        except OSError:
            return False
        try:
            probe.limit(50.0)
            probe.cpu_s()
        except (OSError, StopIteration, ValueError):
            return False
        finally:
            probe.remove()
        return True


def _candidates(proc: Path) -> Iterator[ControlGroups]:
    mounts = [line.split() for line in _lines(proc / "self" / "mounts")]
    own: dict[str, str] = {}
    for line in _lines(proc / "self" / "cgroup"):
        _number, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    first = {
        controller: Path(mount[1])
        for mount in reversed(mounts)
        if mount[2] == "cgroup"
        for controller in mount[3].split(",")
    }
    if "cpu" in first and "cpuacct" in first:
        yield ControlGroups(
            tuple(first[name] / own.get(name, "/").lstrip("/") for name in ("cpu", "cpuacct")),
            is_unified=False,
        )
    for mount in (m for m in mounts if m[2] == "cgroup2"):
        # A group with processes of its own cannot have limited groups below it: go up.
        deepest = Path(own.get("", "/"))
        for level in (deepest, *deepest.parents):
            yield ControlGroups((Path(mount[1]) / str(level).lstrip("/"),), is_unified=True)


def _lines(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text(encoding="utf-8").splitlines()
    return []

"""Where a result comes from: what it takes to get it again."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")


@dataclass(frozen=True)
class Provenance:
    """Code, computer, command and time of a result; what was not written down is empty."""

    command: str
    date: str
    machine: str
    commit: str = ""
    penstock: str = ""
    python: str = ""
    libraries: str = ""
    #: How long it took.
    seconds: float | None = None

    @classmethod
    def here(cls, command: str, date: str, seconds: float) -> Provenance:
        """Of a result that is being worked out here and now."""
        return cls(
            command=command,
            date=date,
            machine=f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
            commit=commit_here(),
            penstock=_version("penstock"),
            python=platform.python_version(),
            libraries=", ".join(f"{name} {v}" for name in _LIBRARIES if (v := _version(name))),
            seconds=seconds,
        )

    @property
    def named(self) -> dict[str, str]:
        """What is known, by the names that people read."""
        took = "" if self.seconds is None else f", in {self.seconds:.0f} s"
        named = {
            "Penstock": self.penstock,
            "commit": self.commit,
            "command": self.command,
            "written": f"{self.date}{took}",
            "computer": self.machine,
            "Python": self.python,
            "libraries": self.libraries,
        }
        return {name: value for name, value in named.items() if value}

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def _processor() -> str:
    """What the machine calls its processor, where it tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return " ".join(next(named, "").split()) or platform.processor() or platform.machine()


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def commit_here() -> str:
    """The commit of the tree this runs from, if it is one; with a word if there are changes."""
    home = Path(__file__).resolve().parents[3]
    git = shutil.which("git")
    if git is None or not (home / ".git").exists():
        return ""
    try:
        head, state = (
            subprocess.run(
                [git, "-C", str(home), *words],
                check=False,
                capture_output=True,
                text=True,
                timeout=10,
            ).stdout.strip()
            for words in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + (" with changes" if head and state else "")

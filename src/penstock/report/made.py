"""How a result was made: what it takes to make it again."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")


def how_made(command: str, when: str, seconds: float) -> dict[str, str]:
    """Versions, commit, computer, command and time, by name."""
    found = {"Penstock": _version("penstock")}
    commit = commit_here()
    if commit:
        found["commit"] = commit
    return found | {
        "command": command,
        "written": f"{when}, in {seconds:.0f} s",
        "computer": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "Python": platform.python_version(),
        "libraries": ", ".join(f"{name} {v}" for name in _LIBRARIES if (v := _version(name))),
    }


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

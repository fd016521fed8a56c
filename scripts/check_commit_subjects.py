"""Fail where a commit's subject is longer than 72 characters or ends with a full stop.

Checked are the commits since this check was introduced; older ones stay as they are. Outside a git
checkout, as in an unpacked release, there is nothing to check.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 72


def main() -> int:
    if not (ROOT / ".git").exists():
        return 0
    faults = [fault for line in _subjects() for fault in subject_faults(line.partition(" ")[2])]
    for fault in faults:
        print(fault)
    return int(bool(faults))


def subject_faults(subject: str) -> list[str]:
    """What is wrong with the first line of a commit message."""
    faults = []
    if len(subject) > LONGEST:
        faults.append(f"subject of {len(subject)} characters (at most {LONGEST}): {subject}")
    if subject.endswith("."):
        faults.append(f"subject ends with a full stop: {subject}")
    return faults


def _subjects() -> list[str]:
    """Hash and subject of each commit since the one that added this file."""
    this = Path(__file__).relative_to(ROOT).as_posix()
    introduced = _git("log", "--diff-filter=A", "--format=%H", "--", this)
    # Not committed yet: then the last commit is all there is to look at.
    commits = f"{introduced[-1]}..HEAD" if introduced else "-1"
    return _git("log", "--format=%h %s", commits)


def _git(*arguments: str) -> list[str]:
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())

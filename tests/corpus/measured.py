"""The command line as a process of its own, with what it took.

A child's peak memory starts at its parent's, so a small launcher stands between pytest and it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_LAUNCHER = """
import json, os, subprocess, sys
with open("stdout", "wb") as out, open("stderr", "wb") as err:
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
_, status, used = os.wait4(child.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime, used.ru_maxrss]))
"""


class Measured(NamedTuple):
    code: int
    out: str
    err: str
    cpu_s: float
    memory_mb: float


def penstock(folder: Path, *arguments: str) -> Measured:
    """Run ``penstock`` in a folder that is there for this run alone."""
    command = [sys.executable, "-m", "penstock.cli.main", *arguments]
    launched = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, *command],
        cwd=folder,
        capture_output=True,
        check=True,
        timeout=120,
    )
    code, cpu_s, kilobytes = json.loads(launched.stdout)
    out = (folder / "stdout").read_text(encoding="utf-8")
    err = (folder / "stderr").read_text(encoding="utf-8")
    return Measured(code, out, err, cpu_s, kilobytes / 1024)

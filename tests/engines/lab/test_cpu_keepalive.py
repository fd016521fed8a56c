"""Cores that are kept awake."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.engines.lab.cpu_keepalive import cpu_keepalive

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has SCHED_IDLE")


def children(process):
    return [int(p) for p in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def spinning_below(process, within_s=10.0):
    """Children that only run where nobody else does, once there is one for every core."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = [c for c in children(process) if os.sched_getscheduler(c) == os.SCHED_IDLE]
        if len(found) == len(os.sched_getaffinity(0)):
            return found
        time.sleep(0.02)
    return []


def test_every_core_is_kept_awake_by_somebody_who_steps_aside():
    before = set(children(os.getpid()))
    with cpu_keepalive():
        assert spinning_below(os.getpid())
    assert set(children(os.getpid())) == before


def test_it_ends_with_a_starter_that_is_killed():
    code = "import time; from penstock.engines.lab.cpu_keepalive import cpu_keepalive\n"
    code += "with cpu_keepalive(): time.sleep(60)"
    starter = subprocess.Popen([sys.executable, "-c", code])
    spinning = spinning_below(starter.pid)
    starter.kill()
    starter.wait()
    assert spinning
    deadline = time.monotonic() + 10.0
    while any(Path(f"/proc/{p}").exists() for p in spinning) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{p}").exists() for p in spinning)

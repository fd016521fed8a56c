"""Whom kill -9 reaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from penstock_bench.benchmarks.process_tree import kill_tree, processes_below

#: As the driver starts Java: in a session of its own.
_DRIVER = """
import subprocess, sys
inner = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"]
with subprocess.Popen(inner, start_new_session=True, stdout=subprocess.PIPE) as java:
    java.stdout.readline()
    print(java.pid, flush=True)
    java.wait()
"""


def test_java_in_a_session_of_its_own_is_killed_with_its_driver():
    driver = subprocess.Popen(
        [sys.executable, "-c", _DRIVER], stdout=subprocess.PIPE, start_new_session=True
    )
    assert driver.stdout is not None
    with driver.stdout:
        java = int(driver.stdout.readline())
        assert processes_below(driver.pid) == {driver.pid, java}
        kill_tree(driver)
    assert driver.returncode == -9
    status = Path(f"/proc/{java}/status")
    # Gone, or not buried yet by whoever buries orphans here.
    assert not status.exists() or "zombie" in status.read_text()

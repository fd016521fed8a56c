"""What Python workers have loaded before they are forked."""

import os
import subprocess
import sys

_LOADED = """
from pathlib import Path
from importlib import import_module
from penstock.engines.spark.worker_daemon import PRELOADED
for name in PRELOADED:
    import_module(name)
tasks = Path("/proc/self/task")
print(sorted({(task / "comm").read_text().strip() for task in tasks.iterdir()}))
"""


def test_nothing_that_is_loaded_starts_a_thread_which_a_fork_would_lose():
    done = subprocess.run(
        [sys.executable, "-c", _LOADED],
        capture_output=True, text=True, check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    # That of Arrow's own allocator gives memory back; workers allocate by the system's.
    assert done.stdout == "['jemalloc_bg_thd', 'python']\n"

"""A lab comes up, is held to its limits, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.engines.lab.daemons import Daemons, DidNotStart
from penstock.engines.lab.groups import ControlGroups, is_alive
from penstock.engines.lab.lab import NO_GROUPS, lab_of
from penstock.engines.lab.machines import parse_machines

MACHINES = parse_machines("40,20", cores=2)


def test_everything_ends_with_the_block():
    with lab_of("unit", MACHINES, warm_up_s=0.0) as lab:
        daemon = lab.daemons.start("sleeper", ["sleep", "100"], os.environ, lab.group("m1"))
        if lab.held:
            lab.wait_until_limited(10)
            assert lab.group("m1").limited_to() == 40.0
            # It starts in a shell that joins the group, which takes a moment.
            _until(lambda: daemon.process.pid in lab.group("m1").processes())
    assert daemon.process.poll() is not None
    assert not lab.folder.exists()
    assert not any(f.exists() for held in lab.held.values() for f in held.group.folders)


@pytest.mark.slow
def test_a_limited_machine_gets_its_points():
    if ControlGroups.find() is None:
        pytest.skip("no control groups this user may write")
    with lab_of("unit", MACHINES, warm_up_s=0.0) as lab:
        lab.wait_until_limited(10)
        busy = ["sh", "-c", "while :; do :; done"]
        lab.daemons.start("busy", busy, os.environ, lab.group("m2"))
        time.sleep(1.0)
        before, began = lab.cpu_s()["m2"], time.monotonic()
        time.sleep(3.0)
        points = 100 * (lab.cpu_s()["m2"] - before) / (time.monotonic() - began)
    # Never more than it may; how much less depends on who else is busy here.
    assert 2.0 < points < 22.0


def test_without_groups_machines_differ_in_slots(monkeypatch):
    monkeypatch.setattr(ControlGroups, "find", lambda: None)
    with lab_of("unit", parse_machines("90,50,30", cores=2)) as lab:
        assert lab.notes == (NO_GROUPS,)
        # 90 / 30, 50 / 30 and 30 / 30, rounded.
        assert [lab.slots(machine) for machine in lab.machines] == [3, 2, 1]
        assert lab.cpu_s() == {}


def test_a_daemon_that_ends_is_told_with_its_last_words(tmp_path):
    daemons = Daemons(tmp_path)
    daemons.start("short", ["sh", "-c", "echo no room here; exit 3"], os.environ)
    with pytest.raises(DidNotStart, match="no sign of life:\nno room here"):
        daemons.wait_for(lambda: False, "no sign of life")
    daemons.end()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own doing, on Linux")
@pytest.mark.slow
def test_daemons_die_with_whoever_started_them_however_it_dies(tmp_path):
    code = (
        "import os, sys, time; from pathlib import Path;"
        "from penstock.engines.lab.daemons import Daemons;"
        "d = Daemons(Path(sys.argv[1])).start('s', ['sleep', '100'], os.environ);"
        "print(d.process.pid, flush=True); time.sleep(100)"
    )
    keeper = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    daemon = int(keeper.stdout.readline())
    keeper.send_signal(signal.SIGKILL)
    keeper.wait()
    for _ in range(100):
        try:
            os.kill(daemon, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the daemon outlived its keeper")


def test_what_daemons_started_goes_too_when_the_maker_of_a_lab_is_killed(tmp_path):
    # As a Storm worker: started by a daemon, not by us; the kernel ends the daemon only.
    code = (
        "import os, time; from penstock.engines.lab.lab import lab_of;"
        "from penstock.engines.lab.machines import parse_machines;"
        "stack = lab_of('unit', parse_machines('40,20', cores=2)); lab = stack.__enter__();"
        "lab.daemons.start('s', ['sh', '-c', 'sleep 100 & echo $! > child; wait'], os.environ);"
        "print(lab.folder, flush=True); time.sleep(100)"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    folder = Path(maker.stdout.readline().strip())
    child = folder / "child"
    _until(lambda: child.exists() and child.read_text().strip())
    pid = int(child.read_text())
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    _until(lambda: not is_alive(pid) and not folder.exists())
    if groups := ControlGroups.find():
        assert not list(groups.parents[0].glob(f"*-{maker.pid}-*"))


def _until(true, within_s=15.0):
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)

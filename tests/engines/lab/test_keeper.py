"""The file that says where a lab is decides what is run, ended and removed: only ours counts."""

import json
import os
import subprocess
import time

import pytest

from penstock.engines.lab import keeper
from penstock.engines.lab.process_cleanup import clean_up_after, process_cleanup
from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.errors import PenstockError
from penstock.system.private_folder import NotPrivate, runtime_folder, scratch_folder


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def bystander():
    process = subprocess.Popen(["sleep", "100"])
    yield process
    process.kill()
    process.wait()


def told(process, started="", folder="", address=""):
    entries = {
        "engine": "storm", "keeper": process.pid, "machines": "40", "notes": [],
        "started": started, "folder": str(folder), "address": address, "problem": "",
    }  # fmt: skip
    return json.dumps(entries).encode()


def until(true, within_s=15.0):
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def started(process):
    return ProcessIdentity.of(process.pid).started


def test_a_lab_that_somebody_else_could_have_named_is_not_believed(runtime, bystander, tmp_path):
    content = told(bystander, started(bystander), address=str(tmp_path / "theirs" / "storm.yaml"))
    runtime_folder().write("lab-storm.json", content)
    assert keeper.find("storm").keeper == bystander.pid
    runtime.chmod(0o777)
    for command in (keeper.find, keeper.down):
        with pytest.raises(NotPrivate, match="not used: others may write to"):
            command("storm")
    assert bystander.poll() is None


def test_a_file_in_the_shared_folder_itself_is_no_lab(runtime, bystander):
    """As it was called before it had a folder of its own."""
    planted = runtime / f"penstock-lab-{os.getuid()}-storm.json"
    planted.write_bytes(told(bystander, started(bystander)))
    assert keeper.find("storm") is None
    assert not keeper.down("storm")
    assert bystander.poll() is None


def test_a_process_that_only_has_the_keepers_number_is_not_signalled(runtime, bystander):
    runtime_folder().write("lab-storm.json", told(bystander, "another boot 17"))
    assert not keeper.down("storm")
    assert bystander.poll() is None
    assert not keeper.lab_file("storm").exists()


def test_the_keeper_itself_is_ended(runtime):
    process = subprocess.Popen(["sleep", "100"])
    runtime_folder().write("lab-storm.json", told(process, started(process)))
    assert keeper.down("storm")
    assert process.wait() == -15


def test_only_a_folder_that_was_made_for_a_lab_is_removed(runtime, tmp_path):
    precious = tmp_path / "penstock-lab-storm-precious"
    precious.mkdir()
    ended = subprocess.Popen(["true"])
    ended.wait()
    runtime_folder().write("lab-storm.json", told(ended, "long ago", precious))
    with pytest.raises(NotPrivate, match=r"not removed: it is not in .*\n.*lab-storm\.json: names"):
        keeper.find("storm")
    assert precious.is_dir()
    made = scratch_folder().make_folder("lab-storm-")
    runtime_folder().write("lab-storm.json", told(ended, "long ago", made))
    assert keeper.find("storm") is None
    assert not made.exists()


def test_helpers_are_not_taken_from_the_current_folder(runtime, tmp_path, monkeypatch):
    """A package that lies in /tmp is no reason to run it."""
    theirs = tmp_path / "cwd" / "penstock"
    theirs.mkdir(parents=True)
    (theirs / "__init__.py").write_text("open('was-run', 'w').close()\n")
    monkeypatch.chdir(theirs.parent)
    folder = scratch_folder().make_folder("lab-unit-")
    with process_cleanup(folder):
        scratch_folder().remove_folder(folder)
    with pytest.raises(PenstockError, match="no engine"):
        keeper.up("no-such-engine", "10")
    assert not (theirs.parent / "was-run").exists()


def test_only_the_group_that_was_started_is_ended(runtime):
    """A daemon ended long ago, and its number is now that of another group's leader."""
    sleep = ["sleep", "100"]
    with subprocess.Popen(sleep, start_new_session=True) as process:
        clean_up_after([f"{process.pid} another boot 17\n"], runtime / "gone")
        assert process.poll() is None
        clean_up_after([f"{process.pid} {started(process)}\n"], runtime / "gone")
        assert process.wait() == -9


def test_a_group_is_ended_though_its_leader_has_ended(runtime, tmp_path):
    """As workers that a supervisor of Storm has started."""
    command = ["sh", "-c", f"sleep 100 & echo $! > {tmp_path}/child; read _"]
    with subprocess.Popen(command, start_new_session=True, stdin=subprocess.PIPE) as leader:
        until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        identity = ProcessIdentity.of(leader.pid)
        child = ProcessIdentity.of(int((tmp_path / "child").read_text()))
        leader.communicate(b"\n")
    assert child.is_alive
    clean_up_after([f"{identity.pid} {identity.started}\n"], runtime / "gone")
    until(lambda: not child.is_alive)


def test_a_number_is_not_a_process(bystander):
    identity = ProcessIdentity.of(bystander.pid)
    assert identity.is_alive
    assert not ProcessIdentity(bystander.pid, "another boot 17").is_alive
    bystander.kill()
    bystander.wait()
    assert not identity.is_alive
    assert not identity.send(9)
    assert ProcessIdentity.of(bystander.pid) is None
    assert ProcessIdentity.of(0) is None

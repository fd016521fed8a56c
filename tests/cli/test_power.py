"""Machines put to sleep and woken by the operator's commands."""

import sys
import time
from pathlib import Path

import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.engines.storm import engine as storm_engine
from penstock.errors import InputError
from penstock.files.store import load
from penstock.model.hooks import HookKind
from penstock.system.bounded_command import run_bounded

STORM = ("--hooks", "hooks.yaml", "--nimbus", "master")


@pytest.fixture
def hooks(tmp_path, monkeypatch):
    """Writes ``hooks.yaml``; everything runs on machine ``a``, nothing on ``b``."""
    made = FakeStorm(tmp_path / "plan-of-nimbus.json")
    monkeypatch.setattr(storm_engine, "open_bridge", made.opened)
    monkeypatch.chdir(tmp_path)

    def write(command: str, within_s: float = 60.0) -> Path:
        lines = [f"{name}: {{sleep: '{command}', wake: '{command}'}}" for name in "ab"]
        text = f"format: penstock/hooks\nversion: 1\nwithin_s: {within_s}\nmachines:\n  "
        file = tmp_path / "hooks.yaml"
        file.write_text(text + "\n  ".join(lines) + "\n")
        file.chmod(0o600)
        return file

    return write


def test_an_empty_machine_is_put_to_sleep_and_woken(hooks, run, tmp_path):
    hooks("touch done")
    code, _, err = run("power", "sleep", "b", *STORM)
    assert (code, err) == (0, "b was put to sleep\n")
    (tmp_path / "done").unlink()
    assert run("power", "wake", "b", "--hooks", "hooks.yaml")[0] == 0
    assert (tmp_path / "done").exists()


def test_a_machine_on_which_something_runs_is_drained_first(hooks, run, tmp_path):
    hooks("touch done")
    code, _, err = run("power", "sleep", "a", *STORM)
    assert code == 1
    assert "flow/src, flow/work run on it; drain it first: penstock plan --from storm" in err
    assert not (tmp_path / "done").exists()


def test_a_hook_that_fails_leaves_the_machine_in_service_and_says_so(hooks, run):
    hooks('sh -c "echo no route to host >&2; exit 3"')
    code, _, err = run("power", "sleep", "b", *STORM)
    assert code == 1
    assert "b stays in service: sh ended with 3: no route to host" in err


def test_a_hook_that_hangs_is_ended_with_all_it_started(hooks, run, tmp_path):
    hooks('sh -c "sleep 600 & echo $! > child; wait"', within_s=0.5)
    code, _, err = run("power", "sleep", "b", *STORM)
    assert code == 1
    assert "b stays in service: sh did not end within 0.5 s and was ended" in err
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    for _ in range(50):
        if not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("what the hook started goes on")


def test_a_machine_that_the_engine_knows_by_another_name_is_left_alone(hooks, run, tmp_path):
    """Or it would look as if nothing ran on it."""
    file = hooks("touch done")
    file.write_text(file.read_text().replace("  b:", "  host-b:"))
    code, _, err = run("power", "sleep", "host-b", *STORM)
    assert code == 1
    assert 'no machine on this cluster "host-b"' in err
    assert not (tmp_path / "done").exists()


def test_a_program_that_is_not_there_is_said():
    assert run_bounded(["no-such-program"], 1.0).why.startswith("no-such-program cannot be run")


def test_what_a_hook_prints_is_no_terminal_command():
    words = run_bounded([sys.executable, "-c", "print('\\x1b[31mred'); exit(1)"], 20.0).why
    assert words.endswith("ended with 1: ?[31mred")


@pytest.mark.parametrize("mode", [0o622, 0o606, 0o666])
def test_commands_of_a_file_that_others_may_write_are_not_run(hooks, run, tmp_path, mode):
    hooks("touch done").chmod(mode)
    code, _, err = run("power", "sleep", "b", *STORM)
    assert code == 1
    assert "its commands are not run: others may write to" in err
    assert not (tmp_path / "done").exists()


def test_a_machine_without_hooks_is_said(hooks, run):
    hooks("true")
    code, _, err = run("power", "wake", "c", "--hooks", "hooks.yaml")
    assert code == 1
    assert 'no machine with hooks "c"' in err


def test_words_are_told_apart_as_a_shell_does_and_nothing_else_is_done():
    commands = {"m": {"sleep": "ssh m 'a b' $HOME; rm -rf x", "wake": "w"}}
    made = load({"format": "penstock/hooks", "version": 1, "machines": commands})
    words = ("ssh", "m", "a b", "$HOME;", "rm", "-rf", "x")
    assert made.commands["m"][HookKind.SLEEP] == words


@pytest.mark.parametrize("text", ["'", "   ", "''"])
def test_what_is_no_command_is_refused_where_it_stands(text):
    commands = {"m": {"sleep": text, "wake": "w"}}
    with pytest.raises(InputError, match=r"machines\.m\.sleep: "):
        load({"format": "penstock/hooks", "version": 1, "machines": commands})

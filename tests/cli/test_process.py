"""Penstock as a process among others: pipes, terminals, signals, hash seeds."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")
PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]

#: A scheduler's every look at its budget is announced, and takes as long as told.
ANNOUNCE = """
import sys, time
from penstock.schedulers.base import Budget

look, first = Budget.spent, True

def slow_look(budget, rounds):
    global first
    if first:
        print("ready", file=sys.stderr, flush=True)
        first = False
        time.sleep({first_s})
    time.sleep({each_s})
    return look(budget, rounds)

Budget.spent = slow_look
from penstock.cli.main import main
main(sys.argv[1:])
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a plan and wait until its scheduler is at work."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    assert child.stderr.readline() == "ready\n"
    return child


def test_ctrl_c_ends_the_search_with_the_best_plan_so_far(tmp_path):
    code = ANNOUNCE.format(first_s=0.3, each_s=0.02)
    command = ["plan", "-s", "hetero", "-e", "linear", "-c", "nasiri-large", "--json", "-o"]
    child = start(code, *command, str(tmp_path / "plan.json"))
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "stopping with the best plan so far; Ctrl-C again to give up" in err
    assert "hetero was stopped early; this is its best plan so far" in err
    assert "Traceback" not in err
    assert json.loads(out)["format"] == "penstock/plan"
    assert (tmp_path / "plan.json").read_text(encoding="utf-8") == out


@pytest.mark.slow
def test_a_second_ctrl_c_interrupts(tmp_path):
    code = ANNOUNCE.format(first_s=60, each_s=0)
    child = start(code, "plan", "-s", "hetero", "-e", "linear", "-o", str(tmp_path / "plan.json"))
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    assert child.stderr.readline().startswith("stopping with the best plan so far")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "interrupted\n")
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.slow
def test_a_comparison_that_was_stopped_shows_what_it_has():
    code = ANNOUNCE.format(first_s=0.3, each_s=0.02)
    child = start(code, "compare", "-e", "linear", "--schedulers", "hetero", "--json")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert json.loads(out)["schedulers"][0]["scheduler"] == "hetero"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["examples", "plan -s hetero -e linear --json", "schema plan"])
def test_a_reader_that_has_seen_enough_is_no_error(command):
    """As in ``penstock examples | head -1``, with a head that is gone before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run(
        [*PENSTOCK, *command.split()], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writing)
    assert (found.returncode, found.stderr) == (0, "")


#: Spark is interrupted while it starts, and what is cleaned up on the way out fails.
INTERRUPTED = """
import os, sys
from penstock.app import measuring
from penstock.cli.main import main

def starting(*_, **__):
    try:
        os.kill(os.getpid(), {signal})
        while True:
            pass
    finally:
        raise AttributeError("the socket is gone")

measuring.spark_session = starting
main(["profile", sys.argv[1]])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_what_fails_because_of_a_signal_is_no_bug(number, code, tmp_path):
    program = INTERRUPTED.format(signal=int(number))
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    told = "starting Spark on local[*]\ninterrupted\n"
    assert (found.returncode, found.stderr) == (code, told)


PRINTING = [
    "examples", "schema plan", "completion bash", "--help", "plan --help", "--version", "doctor",
    "plan -s default -e linear", "plan -s default -e linear --json",
    "compare -e linear --schedulers default", "simulate {plan} --json", "show {plan}",
    "explain {plan}", "diff {plan} {plan} --json", "validate {plan}",
]  # fmt: skip
#: Ours, the parser's and rich's ways of printing, each of which may be the one that fails.
UNBUFFERED = ["examples", "--help", "schema plan", "show {plan} --json"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    subprocess.run([*PENSTOCK, *f"plan -s default -e linear -o {path}".split()], check=True,
                   capture_output=True)  # fmt: skip
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [(command, "") for command in PRINTING] + [(command, "1") for command in UNBUFFERED],
)
def test_a_full_disk_under_the_output_is_a_failure_and_no_bug(command, unbuffered, plan, tmp_path):
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [*PENSTOCK, *command.format(plan=plan).split()],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, cwd=tmp_path,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    last = found.stderr.splitlines()[-1]
    assert last.startswith("error: cannot write"), found.stderr
    assert last.endswith(": No space left on device")
    assert "bug" not in found.stderr
    assert found.returncode == 1


@pytest.mark.slow
def test_output_that_was_closed_is_missed_and_words_are_not():
    def run(redirection: str) -> subprocess.CompletedProcess[str]:
        command = f'"$@" {redirection}'
        return subprocess.run(
            ["sh", "-c", command, "sh", *PENSTOCK, "examples"], capture_output=True, text=True
        )

    closed = run(">&-")
    assert (closed.returncode, closed.stdout) == (1, "")
    assert closed.stderr.startswith("error: cannot write")
    assert closed.stderr.count("\n") == 1
    mute = run("2>&-")
    assert mute.returncode == 0
    assert "linear" in mute.stdout
    assert run("2>/dev/full").returncode == 0


def terminal(command: str, **environment: str) -> str:
    """What a person sees on a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    found = subprocess.Popen(
        [*PENSTOCK, *command.split()],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=clean | {"TERM": "xterm-256color", "COLUMNS": "100"} | environment,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert found.wait(timeout=60) == 0
    return seen.decode()


def test_without_a_terminal_no_line_is_broken_however_long():
    """Who greps for a note wants it whole."""
    code = (
        "from penstock.cli.output import show; from rich.text import Text; show(Text('word ' * 99))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == 99 * "word " + "\n"


@pytest.mark.slow
def test_colour_and_bars_are_for_terminals_and_no_color_is_honoured():
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    seen = terminal("plan -s hetero -e linear")
    assert colour.search(seen)
    assert "█" in seen
    plain = terminal("plan -s hetero -e linear", NO_COLOR="1")
    assert not colour.search(plain)
    piped = subprocess.run(
        [*PENSTOCK, "plan", "-s", "hetero", "-e", "linear"], capture_output=True, text=True
    )
    assert "\x1b" not in piped.stdout
    assert "█" not in piped.stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_still_gets_its_answer(encoding):
    found = subprocess.run(
        [*PENSTOCK, *["plan", "-e", "linear", "-s", "default"]],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding},
    )
    assert found.returncode == 0
    assert b"linear on nasiri-testbed, planned by default" in found.stdout


ALL_PLANS = """
from penstock.cli.main import main
from penstock.schedulers import SCHEDULERS

for name in SCHEDULERS.names():
    try:
        main(["plan", "-e", "linear", "-c", "nasiri-small", "-s", name, "-o", name + ".json"])
    except SystemExit as left:
        assert left.code in (0, 4), (name, left.code)
"""


@pytest.mark.slow
def test_plans_do_not_depend_on_the_hash_seed(tmp_path):
    made: list[dict[str, bytes]] = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", ALL_PLANS],
            cwd=folder,
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        made.append({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    assert {"default.json", "hetero.json", "optimal.json"} <= set(made[0])
    assert made[0] == made[1]

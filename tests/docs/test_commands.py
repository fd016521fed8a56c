"""Every command that the documentation shows does what it is shown for.

A shell takes each line apart, as a reader's would, in a folder with the files that its page speaks
of (:mod:`tests.docs.scenes`), and the commands run for real: in this process, on a Storm of
dictionaries where they ask one, and shorter where they would take minutes (``SHORTER``). Each line
has a copy of such a folder to itself, except on pages ``IN_ORDER``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import pytest
import typer
from tests.docs.commands import ROOT, Command, arguments_of, in_text, printed, shown
from tests.docs.conftest import enter, run_here
from tests.penstock_bench.reproduce.test_papers import small_paper

from penstock.cli.main import app
from penstock.errors import EXIT_CHANGES, EXIT_DONE
from penstock.files.document import document_of
from penstock_bench.reproduce.paper_file import paper_from
from penstock_bench.verbs import reproduce

#: Pages whose lines need what the lines above them leave: done from top to bottom in one folder,
#: by somebody who has nothing yet.
IN_ORDER = ("docs/quick-start.md",)
#: The folder a command is run in: the first pattern that is found in its line; else "clicks".
SCENES = (
    (r"^penstock store ", "stored"),
    (r"^penstock (watch|approve|reject|pause|resume)\b", "watched"),
    (r"^penstock check ", "certified"),
    (r"penstock rehearse|history --journal", "rehearsal"),
    (r"penstock (agent|calibrate)|import machines|--agents telemetry", "machines"),
    (r"run/telemetry", "after_a_run"),
    (r"import flux", "flux"),
    (r"import (storm-yaml|production)", "clicks"),
    (r"--add epyc-2021", "what_if"),
    (r"--minimize|--apart|--max-moves", "terms"),
    (r"(plan|compare) wordcount", "wordcount"),
    (r"\bstorm|apply |history|-p live|penstock power", "storm"),
)
#: Exit codes that a command is shown for, by pattern; else 0.
EXIT_CODES = ((r"--detailed-exitcode", EXIT_CHANGES),)
#: The first pattern found in a line says what is added to it, so that it takes seconds.
SHORTER = (
    (r"penstock watch ", "--once"),
    (r"report .*--simulation", "--schedulers default"),
    (r"report ", "--schedulers default --no-simulate --seeds 1 --iterations 5"),
    (r"advise ", "--seconds 0.1"),
    (r"rehearse ", "-c nasiri-testbed --policy static --days 0.05 --seeds 1"),
    (r"simulate .*--load-curve", "--loads 50% --duration 1"),
    (r"simulate .*--runs", "--runs 2 --duration 1"),
    (r"simulate plan", "--duration 1"),
    (r"compare .*--simulate", "--schedulers default --seconds 1"),
    # Figures that are not times: whether they hold does not depend on the computer.
    (r"bench core", '--only "largest relative difference" --quick'),
    (r"agent .*--out", "--seconds 1 --every 1"),
    (r"calibrate --fingerprint", "--seconds 2"),
    (r"run .*--files", "--batches 1"),
    (r"run --example", "--batches 2 --rows 200"),
    (r"profile .*--follow", "--seconds 1 --every 1"),
)
_HERE = "tests/docs/test_storm_lab.py"
_FUZZ = "tests/penstock_bench/benchmarks/test_fuzz.py"
_SPEED = "tests/penstock_bench/benchmarks/test_pipeline_speed.py"
_LAB_TEST = "tests/cli/test_run.py::test_a_lab_comes_up_is_shown_and_goes_down"
_SWEEP_TEST = (
    "tests/app/test_sweeps.py::"
    "test_a_cluster_of_two_workers_makes_the_table_that_this_process_makes"
)
_UNDER_A_PLAN = "tests/engines/spark/test_planned.py::test_a_run_under_a_plan"
_WATCHED_SPARK = (
    "tests/engines/spark/test_watched_loop.py::"
    "test_a_step_of_load_takes_one_decision_and_the_run_follows"
)
_WATCH_SUITE = (
    "tests/penstock_bench/benchmarks/watch/test_live_loop.py::"
    "test_the_suite_asks_its_measures_for_what_they_take"
)
#: Commands that take minutes or need a cluster, by pattern, and the nearest test there is. Its
#: options may be others; the tests of sweeps and of runs under a plan call the code below the
#: command line.
ELSEWHERE = (
    (
        r"^penstock demo",
        "tests/cli/test_demo.py::test_the_demo_measures_plans_compares_and_leaves_its_results",
    ),
    # Takes more than five minutes, and no test runs it as a whole.
    (r"^penstock lab demo", _UNDER_A_PLAN),
    (r"^penstock sweep .*spark://", _SWEEP_TEST),
    # Takes hours; its short form is a test.
    (
        r"^penstock bench fuzz .*kills",
        f"{_FUZZ}::test_a_follower_killed_at_random_moments_loses_nothing",
    ),
    (r"^penstock bench fuzz", f"{_FUZZ}::test_dozens_of_fuzzed_commands_end_as_they_should"),
    (
        r"^penstock bench agent",
        "tests/agent/test_agent.py::test_round_trips_over_a_slow_link_are_within_a_tenth",
    ),
    (
        r"^penstock calibrate (--example|[a-z]+\.yaml)",
        "tests/calibration/test_steps.py::test_it_ends_when_every_cost_is_known_within_the_error",
    ),
    (r"^penstock bench pipeline", f"{_SPEED}::test_a_part_of_the_suite_runs_as_a_command"),
    (r"^penstock run .*(spark://|lab status)", _UNDER_A_PLAN),
    (r"^penstock watch --from spark", _WATCHED_SPARK),
    # Takes an hour and a half on labs; what it asks of its measures is tested.
    (r"^penstock bench watch", _WATCH_SUITE),
    (r"lab (submit|feed|end)|lab \w+ --engine storm", f"{_HERE}::test_the_storm_lab_does_as_shown"),
    (r"^penstock lab (up|status|down)", _LAB_TEST),
    # Of the lab that is up; there, the telemetry's folder is given.
    (
        r"^penstock plan --from storm -p live -o",
        "tests/cli/test_history.py::test_a_plan_from_live_telemetry_is_one_command",
    ),
)
T = TypeVar("T")
_SPARK = re.compile(r"penstock (run|profile|sweep)|history measure|-p live")


def every_command() -> list[Command]:
    return [*shown("penstock"), *printed()]


def on(kind: str) -> list[object]:
    """The commands that run here without a JVM (``plain``) or on Spark (``spark``).

    Pages repeat one another: the same line is run once, and its name says everywhere it is shown.
    """
    same_line: dict[str, list[Command]] = {}
    for command in every_command():
        if kind_of(command) == kind:
            same_line.setdefault(without_comment(command.text), []).append(command)
    return [
        pytest.param(commands[0], id=",".join(command.place for command in commands))
        for commands in same_line.values()
    ]


def kind_of(command: Command) -> str:
    line = without_comment(command.text)
    if command.page in IN_ORDER:
        return "in order"
    if _first(ELSEWHERE, line, ""):
        return "elsewhere"
    return "spark" if _SPARK.search(line) else "plain"


@pytest.fixture
def run_in_scene(tmp_path, monkeypatch, all_scenes, small_papers):
    """Run a line of the documentation in a copy of the folder that it has in mind."""

    def run(command: Command) -> None:
        all_scenes.copy(_first(SCENES, without_comment(command.text), "clicks"), tmp_path)
        enter(tmp_path, monkeypatch)
        run_as_shown(command, tmp_path)

    return run


def run_as_shown(command: Command, folder: Path) -> None:
    """Run a line in a folder; its commands end with the exit code they are shown for."""
    line = without_comment(command.text)
    calls = arguments_of(shorter(command), folder)
    assert calls, f"the shell ran nothing: {line}"
    for arguments in calls:
        code, _, err = run_here([_below(a, folder) for a in arguments])
        assert code == _first(EXIT_CODES, line, EXIT_DONE), f"{line}: {err}"


@pytest.fixture
def small_papers(monkeypatch):
    """``reproduce`` knows its papers by name, but runs a small one in the place of each."""
    known = reproduce.papers_named

    def named(name: str):
        assert known(name)
        return [paper_from(document_of(small_paper(published={"value": 12}), "small.yaml"))]

    monkeypatch.setattr(reproduce, "papers_named", named)


def shorter(command: Command) -> Command:
    """The same command on less: options of ``SHORTER`` come last, and the last one counts."""
    line, redirection, target = without_comment(command.text).partition(" > ")
    more = _first(SHORTER, line, "")
    text = f"{_without(line, more)} {more} {redirection}{target}"
    return Command(command.page, command.line, text)


def without_comment(line: str) -> str:
    return re.split(r"\s#\s", line)[0].strip()


def _without(line: str, more: str) -> str:
    """The line without the options that are given anew."""
    for option in re.findall(r"--[a-z]+", more):
        line = re.sub(rf"{option} \S+", "", line)
    if "--batches" in more:
        line = re.sub(r"--seconds \S+", "", line)
    return line


def _below(argument: str, folder: Path) -> str:
    """Files of the whole computer are in the folder instead."""
    return str(folder) + argument if argument.startswith("/") else argument


def _first(table: tuple[tuple[str, T], ...], line: str, otherwise: T) -> T:
    return next((value for pattern, value in table if re.search(pattern, line)), otherwise)


@pytest.mark.slow
@pytest.mark.parametrize("command", on("plain"))
def test_a_command_works_as_shown(run_in_scene, command):
    run_in_scene(command)


@pytest.mark.slow
@pytest.mark.parametrize("page", IN_ORDER)
def test_a_page_works_from_top_to_bottom(tmp_path, monkeypatch, page):
    enter(tmp_path, monkeypatch)
    commands = [command for command in every_command() if command.page == page]
    assert commands, "the page shows no command"
    for command in sorted(commands, key=lambda command: command.line):
        run_as_shown(command, tmp_path)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("command", on("spark"))
def test_a_command_works_as_shown_on_spark(run_in_scene, command):
    run_in_scene(command)


@pytest.mark.parametrize("command", [pytest.param(c, id=c.place) for c in shown("make")])
def test_a_target_of_make_is_there(command):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{command.text.split()[1]}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("test", sorted({test for _, test in ELSEWHERE}))
def test_what_is_run_elsewhere_is_run(test):
    file, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("command", [pytest.param(c, id=c.place) for c in in_text()])
def test_a_command_in_the_text_has_these_options(command):
    words = command.text.split()[1:]
    _, known, options = _resolve(words)
    assert known or words == ["--help"], f"there is no penstock {words[0]}"
    given = {w.partition("=")[0] for w in words if re.match(r"--[a-z]", w)}
    assert given <= options | {"--help"}


def _resolve(words: list[str]) -> tuple[list[str], bool, set[str]]:
    """What is left of the words after the command's name, whether it is there, its options."""
    command = typer.main.get_command(app)
    words, known = list(words), False
    while words and (inner := getattr(command, "commands", {}).get(words[0])) is not None:
        command, known = inner, True
        words.pop(0)
    return words, known, {o for p in command.params for o in (*p.opts, *p.secondary_opts)}

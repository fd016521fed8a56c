"""What the fuzz suite has found, each failure as small as it could be made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.builders import cluster, place, profile, topology

from penstock import app
from penstock.cli.output import say, write_json
from penstock.files.simulation_file import json_value
from penstock.files.store import save
from penstock.model.cluster import MachineType
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.planning.advice import advise


def free_work() -> Problem:
    """Tuples cost nothing, so that any rate is carried."""
    return build(topology("a"), cluster(M1=2), profile(a=0.0))


@pytest.mark.parametrize(
    "command",
    ["plan \x1b[31m -c thesis", "show \x1b[31m", "validate \x9b31m", "plan -e linear -s \x07"],
)
def test_a_name_does_not_steer_the_terminal(run, command):
    _, _, err = run(*command.split(" "))
    assert not {char for char in err if not char.isprintable()} - {"\n"}
    assert "\\x" in err


def test_a_name_in_json_does_not_steer_the_terminal(run):
    write_json({"a\x9b31m": "\x7f"})
    _, out, _ = run("validate", "\x9b31m", "--json")
    assert not {char for char in out if not char.isprintable()} - {"\n"}
    first, _, rest = out.partition("\n}\n")
    assert json.loads(first + "}") == {"a\x9b31m": "\x7f"}
    assert "\x9b31m" in json.loads(rest)["findings"][0]["file"]


def test_line_breaks_and_tabs_of_ours_stay(capsys):
    say("one\n\ttwo →")
    assert capsys.readouterr().err == "one\n\ttwo →\n"


@pytest.mark.parametrize("verb", ["report", "plan", "compare", "show", "simulate", "run"])
def test_a_name_too_long_for_the_file_system_is_only_not_found(run, verb):
    code, _, err = run(verb, "x" * 5000)
    assert code in (1, 2)
    assert "bug" not in err


@pytest.mark.parametrize("command", ["store list", "examples --copy-to"])
@pytest.mark.slow
def test_a_folder_of_such_a_name_is_refused_as_the_system_refuses_it(run, command):
    code, _, err = run(*command.split(), "x" * 300)
    assert (code, "bug" in err) == (1, False)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_telemetry_in_a_folder_of_such_a_name_is_refused_too(run):
    code, _, err = run("profile", "x" * 300)
    assert (code, "bug" in err) == (1, False)


def test_advice_without_a_bound_is_json(run):
    save(Plan(free_work(), place(free_work(), "a M1-1"), "by hand"), "plan.json")
    code, out, err = run("advise", "plan.json", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["rate_per_s"] is None
    assert said["one_more"][0]["bound_per_s"] is None


def test_what_is_unlimited_gains_nothing_by_one_more_machine():
    found = advise(Plan(free_work(), place(free_work(), "a M1-1"), "by hand"))
    assert [change.gain for change in (*found.one_more, *found.faster)] == [0.0, 0.0]


@pytest.mark.parametrize(
    "command",
    [
        "simulate plan.json --duration 1 --json -o no/such/x.json",
        "simulate plan.json --duration 1 --json --svg no/such/x.svg",
        "simulate plan.json --load-curve --loads 0.5 --duration 1 --json -o no/such/x.json",
        "compare -e linear --schedulers default --json --svg no/such/x.svg",
        "rehearse load.csv --policy static --seeds 1 --json --page no/such/x.html",
    ],
)
def test_json_stays_one_document_where_a_file_cannot_be_written(run, command):
    """The result was printed already; the error is on stderr and in the exit code."""
    Path("load.csv").write_text("0,10\n600,20\n", encoding="utf-8")
    assert run("plan", "-e", "linear", "-s", "default", "-o", "plan.json")[0] == 0
    code, out, err = run(*command.split())
    assert code == 1
    assert json.loads(out)["format"] != "penstock/error"
    assert "cannot be written: No such file or directory" in err


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_exact_search_takes_counts_that_the_prices_do_not_limit():
    # At most 2 spouts and 3 ackers on five machines: threads limit, machines have a price of 0.
    graph = topology("a>b", a={"max_instances": 2, "tasks": 8}, b={"kind": "acker"})
    costs = profile(a={"M2": 1.596, "M3": 1.893}, b={"M2": 1.596, "M3": 1.893}, met=5.0)
    problem = build(graph, cluster(M2=1, M3=4, every={"slots": 1}), costs)
    assert app.plan(problem, "optimal").plan is not None


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_component_that_gets_nothing_has_no_size_to_change():
    """b gets no tuples, beside machines of a hundred million points."""
    types = (MachineType("M1"), MachineType("M2", cpu_points=1e8))
    machines = replace(cluster(M1=2, M2=2), types=types)
    graph = topology("a>b", streams={"a>b": {"selectivity": 0.0}})
    problem = build(graph, machines, profile(a=1.0, b=1.0, met=2.0, on=("M1", "M2")))
    assert problem.visits[1] == 0
    assert app.plan(problem).plan is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_type_without_machines_and_without_costs_is_planned_around():
    problem = app.problem("linear", "nasiri-testbed")
    machines = problem.cluster
    more = replace(machines, types=(*machines.types, MachineType("M4")))
    assert problem.profile is not None
    wider = build(problem.topologies, more, problem.profile)
    made, other = app.plan(wider).plan, app.plan(problem).plan
    assert made is not None
    assert other is not None
    assert made.predicted.scale == other.predicted.scale


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_exact_search_packs_what_gets_nothing_beside_a_type_of_unknown_cost():
    """b gets no tuples; M2 has no machines and no costs."""
    graph = topology("a>b a>c a>d", streams={"a>b": {"selectivity": 0.0}})
    machines = cluster(M1=1, M3=1)
    machines = replace(machines, types=(*machines.types, MachineType("M2")))
    like_c = {"M1": 1.374, "M3": 2.869}
    costs = profile(
        a={"M1": 1.957, "M3": 2.925}, b={"M1": 2.184, "M3": 1.199}, c=like_c, d=like_c, met=3.0
    )
    assert app.plan(build(graph, machines, costs), "optimal").plan is not None


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scheduler", ["hetero", "proportional"])
def test_no_tuples_cost_nothing_on_a_type_of_which_no_cost_is_known(scheduler):
    """b gets no tuples; M2 has no machines and no costs."""
    graph = topology("a>b", streams={"a>b": {"selectivity": 0.0}})
    machines = cluster(M1=2, every={"core_points": 50.0})
    types = (*machines.types, MachineType("M2", core_points=50.0))
    problem = build(graph, replace(machines, types=types), profile(a=1.0, b=1.0, on=("M1",)))
    assert app.plan(problem, scheduler).plan is not None


def test_next_to_nothing_in_a_queue_is_nothing_in_a_file():
    """The fluid model lets queues run down for ever, and its own picture refused 3e-17 tuples."""
    assert json_value(2.9e-17) == 0.0
    assert json_value(2.9e-15) == 2.9e-15
    assert json_value(float("inf")) is None


@pytest.mark.parametrize(
    "size", ["--topologies 1000000000000", "--components 99999999999999999999"]
)
def test_more_than_can_be_made_is_refused_before_it_is_begun(run, size):
    code, _, err = run("generate", "--out", "made", *size.split())
    assert (code, "at most 100,000 components in all" in err) == (1, True), err


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("asked", ["--offered 1e308", "--load 1e300", "--duration 1e308"])
def test_a_load_that_means_nothing_is_refused_before_it_is_estimated(run, asked):
    run("plan", "linear", "-s", "default", "-o", "plan.json")
    code, _, err = run("simulate", "plan.json", *asked.split())
    assert (code, "must be at most 1e+15" in err) == (1, True)

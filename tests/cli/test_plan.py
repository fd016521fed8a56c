"""``penstock plan``: options, files written, what changes, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest


def test_the_same_plan_to_stdout_and_to_a_file(run):
    code, out, err = run("plan -s hetero -e linear -c nasiri-small -o plan.json --json")
    # Before that, a busy machine may have said that it still searches.
    assert (code, err.splitlines()[-1]) == (0, "wrote plan.json")
    assert Path("plan.json").read_text(encoding="utf-8") == out
    assert run("show plan.json --json") == (0, out, "")


@pytest.mark.slow
def test_two_runs_give_the_same_bytes(run):
    first = run("plan -s hetero -e star -c nasiri-medium --json")
    # What is said while it searches depends on how busy the machine is.
    assert run("plan -s hetero -e star -c nasiri-medium --json")[:2] == first[:2]


def test_the_suffix_decides_between_json_and_yaml(run):
    run("plan -s hetero -e linear -o plan.yaml")
    assert Path("plan.yaml").read_text(encoding="utf-8").startswith("format: penstock/plan\n")
    run("plan -s hetero -e linear -o plan.json")
    assert run("diff plan.yaml plan.json")[1] == "no change\n"


def test_a_plan_is_written_whole_or_not_at_all(run):
    Path("plan.json").write_text("the plan in force", encoding="utf-8")
    assert run("plan -s hetero -e linear --met 500 -o plan.json")[0] == 4
    assert run("plan -e linear -s nobody -o plan.json")[0] == 1
    assert Path("plan.json").read_text(encoding="utf-8") == "the plan in force"
    assert run("plan -s hetero -e linear -o plan.json")[0] == 0
    # No temporary file is left beside it.
    assert [path.name for path in Path().iterdir()] == ["plan.json"]
    assert Path("plan.json").stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("gone/plan.json", "No such file or directory"),
        (".", "is a folder"),
        ("file/plan.json", "Not a directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_named(run, where, why):
    Path("file").touch()
    for option in ("-o", "--svg"):
        code, out, err = run(f"plan -s hetero -e linear {option} {where}")
        assert (code, out) == (1, "")
        assert err == f"error: {where}: cannot be written: {why}\n"


def test_the_picture_is_a_file_that_any_browser_opens(run):
    assert run("plan -s hetero -e linear --svg plan.svg")[0] == 0
    root = ElementTree.parse("plan.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = "".join(root.itertext())
    assert "linear on nasiri-testbed, planned by hetero" in words


def test_against_the_plan_in_force_the_changes_are_shown(run, plans):
    code, out, _ = run("plan -e linear -c nasiri-testbed -s hetero --current default.json")
    assert code == 0
    assert "2 moves, 0 added, 0 dropped\n" in out
    assert "taken" not in out
    assert "linear/high" in out
    _, out, _ = run("plan -e linear -c nasiri-testbed -s hetero --current hetero.json")
    assert out.endswith("no change\n")
    assert run("plan -s hetero -e linear --current gone.json")[0] == 1


def test_without_a_cluster_an_examples_own_is_taken(run):
    assert run("plan -s hetero -e pageload")[1].startswith(
        "pageload on rstorm-12, planned by hetero\n"
    )


def test_more_overhead_and_more_headroom_carry_less(run):
    def rate(options: str) -> float:
        found = json.loads(run(f"plan -s hetero -e linear --json {options}")[1])
        return found["predicted"]["rate_per_s"]["linear"]

    assert rate("--met 3") < rate("--met 1.5") == rate("") < rate("--met 0.5")
    assert rate("--headroom 0.5") < rate("--headroom 0.1") < rate("")
    assert rate("--headroom 20%") == rate("--headroom 0.2")


def test_lists_are_written_with_commas_or_by_repeating_the_option(run):
    command = "plan -s default -e linear -c nasiri-small --json"
    first = json.loads(run(f"{command} --avoid M1-1,M2-1 --minimize machines,traffic")[1])
    again = json.loads(
        run(f"{command} --avoid M1-1 --avoid M2-1 --minimize machines --minimize traffic")[1]
    )
    assert first["inputs"]["terms"]["avoid"] == ["M1-1", "M2-1"]
    assert first == again


def test_counts_are_taken_from_the_scheduler_that_is_named(run):
    _, out, _ = run("plan -e linear -s default")
    assert "note: instance counts from hetero" in out
    code, _, err = run("plan -e linear -s default --counts-from default")
    assert code == 1
    assert err == (
        'error: scheduler "default" does not choose instance counts; '
        "--counts-from needs one that does\n"
    )


def test_several_topologies_share_a_cluster(run):
    _, out, _ = run("plan -s hetero -e linear -e star -c nasiri-small")
    assert "rate of linear" in out
    assert "star/hub" in out
    code, _, err = run("plan -s hetero -e linear -e linear")
    assert (code, err) == (1, 'error: two topologies are named "linear"; rename one\n')


@pytest.mark.slow
def test_every_machine_is_listed_on_request(run):
    few = run("plan -s hetero -e linear -c nasiri-large")[1]
    every = run("plan -s hetero -e linear -c nasiri-large --all-machines")[1]
    assert "M3-90" not in few
    assert "M3-90" in every


@pytest.mark.parametrize(
    ("setting", "code", "message"),
    [
        ("r0=2.5", 0, ""),
        ("per_machine=3", 0, ""),
        ("r0", 2, '--set takes name=value, not "r0"'),
        ("=1", 2, '--set takes name=value, not "=1"'),
        ("r0=fast", 1, 'hetero: r0 must be a number, not "fast"'),
        ("r0=", 1, 'hetero: r0 must be a number, not ""'),
        ("r0=nan", 1, "hetero: r0 must be a positive number, not nan"),
        ("r0=-1", 1, "hetero: r0 must be a positive number, not -1.0"),
        ("per_machine=2.5", 1, 'hetero: per_machine must be a whole number, not "2.5"'),
        ("per_machine=0", 1, "hetero: per_machine must be at least 1, not 0"),
        ("per_machin=2", 1, 'no parameter of scheduler hetero "per_machin"; did you mean'),
    ],
)
def test_settings_are_checked_against_those_the_scheduler_has(run, setting, code, message):
    found, _, err = run("plan -s hetero -e linear", "--set", setting)
    assert found == code, err
    assert message in err


def test_settings_are_kept_in_the_plan(run):
    found = json.loads(run("plan -s hetero -e linear --set r0=2 --seed 7 --json")[1])
    assert found["scheduler"]["parameters"]["r0"] == 2.0
    assert found["scheduler"]["seed"] == 7


def test_terms_are_options_or_a_file_and_stay_in_the_plan(run):
    Path("terms.yaml").write_text(
        "format: penstock/terms\nversion: 1\navoid: [M1-1]\n", encoding="utf-8"
    )
    code, _, err = run(
        "plan -e linear -c nasiri-testbed --terms terms.yaml --carry 200 --minimize machines "
        "-o a.json"
    )
    assert (code, "wrote a.json" in err) == (0, True)
    made = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert made["inputs"]["terms"]["avoid"] == ["M1-1"]
    assert made["predicted"]["rate_per_s"] == {"linear": pytest.approx(200.0)}
    assert run("show a.json")[0] == 0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--carry 1e9", 4, "needs 1,000,000,000 tuples/s"),
        ("--fix high=M1-1:99", 1, "cpu_points"),
        ("--avoid M9", 1, 'avoid: no machine "M9"'),
        ("--avoid M1-1,M9", 1, 'avoid: no machine "M9"'),
        ("--give-up 1", 1, "--give-up 1: write 1% or 0.01"),
        ("--max-moves 3", 1, "most_moves: needs the plan in force (--current)"),
        ("--minimize monney", 2, "--minimize takes machines, price, energy, traffic"),
        ("--apart a,b,c", 2, "--apart takes one component or two"),
        ("--fix high", 2, "--fix takes component=machine"),
        ("--latency soon", 2, "--latency takes 50 or topology=50"),
    ],
)
def test_terms_that_cannot_be_kept_or_read(run, options, code, message):
    found, out, err = run(f"plan -e linear -c nasiri-testbed {options}")
    assert (found, out) == (code, "")
    assert message in err


@pytest.mark.slow
def test_the_plan_in_force_is_found_under_longer_names(run):
    """Planned alone its components are "low"; beside another topology they are "linear/low"."""
    run("plan -s hetero -e linear -c nasiri-small -o alone.json")
    code, out, _ = run(
        "plan -e linear -e star -c nasiri-small --current alone.json --json --no-if-lost"
    )
    held = json.loads(out)["inputs"]["terms"]["current"]
    assert code == 0
    assert {one["component"] for one in held} == {"linear/low", "linear/mid", "linear/high"}

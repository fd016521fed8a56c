"""Every verb has a text view for people and a JSON view for programs, and says where it is from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from jsonschema import Draft202012Validator
from tests.corpus.bases import PRODUCTION_CLUSTER, PRODUCTION_TOPOLOGIES

from penstock import __version__, app
from penstock.cli.main import app as command_line
from penstock.files import examples
from penstock.files.store import FORMATS, json_schema

CLI_PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
VERBS = [
    *("plan", "compare", "show", "diff", "explain", "advise", "validate", "schedulers", "examples"),
    *("profile", "run", "apply", "simulate", "rehearse", "sweep", "report"),
    *("history", "history show", "history measure"),
    *("generate", "schema", "bench", "reproduce", "demo", "doctor", "completion"),
    *("import flux", "import storm-yaml", "import production", "import storm"),
    *("lab up", "lab status", "lab down", "lab demo"),
    *("store list", "store export", "store expire", "store compact"),
    *("agent", "calibrate", "import machines", "power sleep", "certify", "check"),
    *("watch", "approve", "reject", "pause", "resume"),
]
#: These have examples in another form.
DOCUMENTED = [
    *VERBS, "help", "lab submit", "lab feed", "lab end", "store files", "store migrate",
    "power wake",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_a_sentence_and_two_examples_on_a_line_each(run, verb):
    code, out, err = run(f"{verb} --help")
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[2][0].isupper()
    shown = [line for line in lines if line.startswith(f"penstock {verb}")]
    assert len(shown) == 2
    for word in " ".join(shown).split():
        if word.startswith("-"):
            assert word in out.split("Options:")[1], f"{verb} has no option {word}"


@pytest.mark.parametrize("verb", DOCUMENTED)
def test_the_reference_has_the_options_of_the_help_and_no_others(run, verb):
    """Names, values, meaning and default: each row is a line of the help, and each line a row."""
    _, _, after = CLI_PAGE.read_text(encoding="utf-8").partition(f"### penstock {verb}\n")
    section = re.split(r"\n##+ ", after)[0]
    rows = re.findall(r"^\| `(.+)` \| (.*) \|$", section, re.MULTILINE)
    # The help lists arguments before options, and breaks lines at hyphens too.
    rows.sort(key=lambda row: row[0].startswith("-"))
    documented = "".join(option + meaning for option, meaning in rows).replace("\\|", "|")
    described = run(f"{verb} --help")[1].partition("\nCommands:")[0]
    arguments, _, options = described.partition("\nOptions:\n")
    arguments = arguments.partition("\nArguments:\n")[2]
    options = options.partition("  -h, --help")[0]
    assert _without_spaces(documented) == _without_spaces(arguments + options)


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def test_the_list_of_verbs_is_complete():
    verbs = typer.main.get_command(command_line).commands
    assert {verb.split()[0] for verb in DOCUMENTED} == set(verbs)


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"penstock {__version__}\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "format_", "key"),
    [
        ("plan -s hetero -e linear", "penstock/plan", "topologies"),
        ("plan -s hetero -e linear --met 500", "penstock/no-plan", "shortfalls"),
        ("compare -e linear --schedulers default,hetero", "penstock/comparison", "schedulers"),
        ("show hetero.json", "penstock/plan", "topologies"),
        ("show hetero.json --offered 10000", "penstock/overload", "saturates_first"),
        ("simulate hetero.json --duration 2", "penstock/simulation", "over_time"),
        ("diff default.json hetero.json", "penstock/changes", "moves"),
        ("explain hetero.json high[1]", "penstock/explanation", ""),
        ("explain hetero.json", "penstock/standing", "components"),
        ("explain hetero.json M1-1", "penstock/machine-explanation", "resources"),
        ("explain hetero.json high", "penstock/component-explanation", "runs"),
        ("validate hetero.json", "penstock/validation", "files"),
        ("schedulers", "penstock/schedulers", "schedulers"),
        ("examples", "penstock/examples", "examples"),
        ("generate -o made", "penstock/generated", "files"),
        ("bench", "penstock/suites", "suites"),
        ("import flux flux.yaml", "penstock/topology", "components"),
        ("import storm-yaml storm.yaml", "penstock/cluster", "machines"),
        ("show gone.json", "penstock/error", "findings"),
    ],
)
def test_the_json_view_is_json_with_format_and_version(run, plans, command, format_, key):
    Path("flux.yaml").write_text("name: t\nspouts: [{id: s, className: X}]\n", encoding="utf-8")
    Path("storm.yaml").write_text("# all default\n", encoding="utf-8")
    _, out, _ = run(f"{command} --json")
    found = json.loads(out)
    assert (found["format"], found["version"]) == (format_, 1)
    assert key in found or not key


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            "plan -s hetero -e linear",
            ["linear on nasiri-testbed, planned by hetero", "sustainable rate", "limited by"],
        ),
        (
            "compare -e linear --schedulers default,hetero",
            ["gap to bound", "hetero carries most", "upper bound: no plan can"],
        ),
        ("show hetero.json", ["linear on nasiri-testbed, planned by hetero", "M3-1"]),
        ("show hetero.json --offered 10", ["nothing saturates"]),
        ("show hetero.json --offered 10000", ["first to saturate", "queue grows by (tuples/s)"]),
        ("diff default.json hetero.json", ["moves,", "added,", "tuples/s", "linear/high"]),
        ("diff hetero.json hetero.json", ["no change"]),
        ("explain hetero.json high[1]", ["high"]),
        ("explain hetero.json", ["limit: CPU of", "next limit", "one more M1"]),
        ("explain hetero.json M1-1", ["M1-1 (M1, ", "CPU points", "the lowest of all types"]),
        ("explain hetero.json high", ["high: ", "tuples/s", "its busiest instance, on M"]),
        ("validate hetero.json", ["hetero.json: plan, 7 instances, by hetero"]),
        ("schedulers --details", ["Storm's own", "unlike machines", "per_machine"]),
        ("examples", ["topology  linear", "cluster   nasiri-large", "profile   nasiri"]),
        ("bench", ["core"]),
    ],
)
def test_the_text_view_says_what_matters_and_nothing_else_is_said(run, plans, command, says):
    code, out, err = run(command)
    assert (code, err) == (0, "")
    for part in says:
        assert part in out


@pytest.mark.slow
def test_advice_says_what_it_is_planning_and_then_what_pays(run, plans, monkeypatch):
    once = {}

    def advise(plan, **options):
        if not once:
            once["advice"] = advice_on(plan, **options)
        return once["advice"]

    advice_on = app.advise
    monkeypatch.setattr(app, "advise", advise)
    code, out, err = run("advise hetero.json")
    assert code == 0
    assert "planning: one more M1\n" in err
    for part in ("the machine that pays most: one more", "no error bars", "10 % faster"):
        assert part in out
    found = json.loads(run("advise hetero.json --json")[1])
    assert (found["format"], found["version"]) == ("penstock/advice", 1)
    assert "one_more" in found


@pytest.mark.parametrize("name", FORMATS)
def test_schema_prints_a_valid_schema(run, name):
    code, out, _ = run(f"schema {name}")
    assert code == 0
    Draft202012Validator.check_schema(json.loads(out))
    assert json.loads(out) == json_schema(name)


@pytest.mark.slow
def test_examples_are_copied_as_files_that_load(run):
    code, out, err = run("examples --copy-to mine")
    found = examples.descriptions()
    assert (code, out, err) == (0, "", f"copied {len(found)} files to mine\n")
    files = sorted(Path("mine").rglob("*.yaml"))
    assert len(files) == len(found)
    assert {path.parent.name for path in files} == {"topologies", "clusters", "profiles"}
    for path in files:
        assert run(f"validate {path}")[0] == 0
    mine = "mine/topologies/linear.yaml -c mine/clusters/nasiri-small.yaml"
    assert run(f"plan {mine} -p mine/profiles/nasiri.yaml")[0] == 0


def test_validate_checks_that_files_fit_together(run):
    run("examples --copy-to mine")
    linear, small = "mine/topologies/linear.yaml", "mine/clusters/nasiri-small.yaml"
    code, out, _ = run(f"validate {linear} {small} mine/profiles/nasiri.yaml --rates")
    assert code == 0
    assert out.splitlines() == [
        f"{linear}: topology, 3 components, 2 streams",
        f"{small}: cluster, 6 machines of 3 types",
        "mine/profiles/nasiri.yaml: profile, 3 rows on 3 machine types, published",
    ]
    code, _, err = run(f"validate {linear} {small} mine/profiles/rstorm.yaml")
    assert (code, "has no cost of" in err) == (1, True)
    code, _, err = run("validate mine/profiles/nasiri.yaml mine/profiles/rstorm.yaml")
    assert (code, "at most one cluster and one profile" in err) == (1, True)


def test_imports_write_files_of_ours(run):
    Path("flux.yaml").write_text(
        "name: ${app}\nspouts: [{id: s, className: X, parallelism: 2}]\n", encoding="utf-8"
    )
    code, out, err = run("import flux flux.yaml --property app=t -o ours.yaml")
    assert (code, out, err) == (0, "", "wrote ours.yaml\n")
    assert run("validate ours.yaml")[1] == "ours.yaml: topology, 1 component, 0 streams\n"
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "storm.yaml").write_text("# default\n", encoding="utf-8")
    code, out, _ = run("import storm-yaml a/storm.yaml b/storm.yaml --name lab")
    assert code == 0
    Path("lab.yaml").write_text(out, encoding="utf-8")
    assert run("validate lab.yaml")[1] == "lab.yaml: cluster, 2 machines of 1 type\n"


def test_a_recorded_cluster_is_imported_into_a_folder_of_files(run):
    Path("recorded").mkdir()
    Path("recorded/cluster.json").write_text(json.dumps(PRODUCTION_CLUSTER), encoding="utf-8")
    Path("recorded/topologies.json").write_text(json.dumps(PRODUCTION_TOPOLOGIES), encoding="utf-8")
    code, out, _ = run("import production recorded -o ours --json")
    files = ["ours/cluster.json", "ours/topology-t1.json"]
    assert (code, json.loads(out)["files"]) == (0, files)
    assert run("plan ours/topology-t1.json -c ours/cluster.json -s default")[0] == 0
    assert run("plan recorded -s default")[0] == 0

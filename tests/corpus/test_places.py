"""What is no file at all, what goes wrong between files, and files with several mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from tests.corpus.bases import base
from tests.corpus.breaking import field_of, line_of, put, text_of

_LONG = "x" * 5000


def write(name: str, document: object) -> None:
    Path(name).write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


@pytest.mark.parametrize("verb", ["validate", "show", "plan -e linear -c", "import flux"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.yaml", "no such file"),
        ("folder", "is a folder; name a file in it"),
        ("file.yaml/inside.yaml", "cannot be read: Not a directory"),
        (_LONG + ".yaml", "cannot be read: File name too long"),
        ("/dev/zero", "is not a regular file"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_file_is_refused_by_name(run, verb, name, message):
    Path("folder").mkdir()
    Path("file.yaml").write_text("a: 1\n", encoding="utf-8")
    code, out, err = run(*verb.split(), name)
    assert (code, out) == (1, "")
    assert err == f"error: {name}: {message}\n"


def test_a_pipe_without_a_writer_does_not_hang(run):
    os.mkfifo("pipe.yaml")
    code, _, err = run("validate", "pipe.yaml")
    assert (code, err) == (1, "error: pipe.yaml: is not a regular file\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(run):
    Path("secret.yaml").write_text("a: 1\n", encoding="utf-8")
    Path("secret.yaml").chmod(0)
    code, _, err = run("validate", "secret.yaml")
    assert (code, err) == (1, "error: secret.yaml: cannot be read: Permission denied\n")


def test_a_link_to_itself_is_refused(run):
    Path("loop.yaml").symlink_to("loop.yaml")
    code, _, err = run("validate", "loop.yaml")
    assert code == 1
    assert err.startswith("error: loop.yaml: cannot be read: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("plan linaer", 'no file or example topology "linaer"; did you mean "linear"?'),
        ("plan -e linear -c nasiri-larg", 'example cluster "nasiri-larg"; did you mean "nasiri-'),
        ("plan -e linear -p nasri", 'no file or example profile "nasri"; did you mean "nasiri"?'),
        ("plan -e linear -s hetro", 'no scheduler "hetro"; did you mean "hetero"?'),
        (f"plan {_LONG} -c thesis", "no file or example topology"),
        ("show cluster.yaml", "cluster.yaml: is a cluster, not a plan"),
        ("diff cluster.yaml cluster.yaml", "cluster.yaml: is a cluster, not a plan"),
        ("plan cluster.yaml -c thesis", "cluster.yaml: is a cluster, not a topology"),
        ("plan -e linear -c profile.yaml", "profile.yaml: is a profile, not a cluster"),
        ("plan -e linear -p cluster.yaml", "cluster.yaml: is a cluster, not a profile"),
        ("plan topology.yaml", "name a cluster file, or a shipped one"),
        ("import production folder -o made", "folder: has no cluster.json and topologies.json"),
    ],
)
def test_the_wrong_thing_in_the_right_place_is_told(run, arguments, message):
    for kind in ("topology", "cluster", "profile"):
        write(f"{kind}.yaml", base(kind))
    Path("folder").mkdir()
    code, out, err = run(*arguments.split())
    assert (code, out) == (1, "")
    assert message in err


def test_five_mistakes_are_reported_at_once(run):
    document = base("topology")
    mistakes = {
        ("workers",): (0, "must be greater than or equal to 1, not 0"),
        ("fanout",): ("spilt", 'did you mean "split"?'),
        ("components", "lines", "streams", 0, "to"): ("spit", 'did you mean "split"?'),
        ("components", "split", "threads"): (-1, "must be greater than 0, not -1"),
        ("components", "split", "streams", 0, "keys"): (0.5, "must be a whole number, not 0.5"),
    }
    for place, (value, _) in mistakes.items():
        put(document, place, value)
    Path("topology.yaml").write_text(text_of(document, "topology"), encoding="utf-8")
    _, _, err = run("validate", "topology.yaml")
    assert len(err.splitlines()) == 5
    for place, (_, message) in mistakes.items():
        where = f"topology.yaml:{line_of(document, place, 'topology')} {field_of(place)}: "
        assert any(
            line.startswith(f"error: {where}") and message in line for line in err.split("\n")
        )


def test_mistakes_of_all_files_are_reported_at_once(run):
    for kind, place in (
        ("topology", ("workers",)),
        ("cluster", ("headroom",)),
        ("profile", ("rows", "lowCompute", "on", "M1", "e")),
    ):
        write(f"{kind}.yaml", put(base(kind), place, -1))
    for verb in ("validate topology.yaml cluster.yaml profile.yaml",):
        _, _, err = run(*verb.split())
        assert [line.split(":")[1] for line in err.splitlines()] == [
            " topology.yaml",
            " cluster.yaml",
            " profile.yaml",
        ]
    _, _, err = run("plan", "topology.yaml", "-c", "cluster.yaml", "-p", "profile.yaml")
    assert len(err.splitlines()) == 3


def test_a_hundred_mistakes_are_listed_and_the_rest_counted(run):
    write("cluster.yaml", base("cluster") | {f"field-{i}": 1 for i in range(250)})
    _, _, err = run("validate", "cluster.yaml")
    lines = err.splitlines()
    assert len(lines) == 101
    assert lines[-1] == "error: cluster.yaml:1: and 150 more errors"


def test_files_that_do_not_fit_together_name_what_is_missing(run):
    document = base("profile")
    del document["rows"]["midCompute"]["on"]["M3"], document["rows"]["highCompute"]
    write("profile.yaml", document)
    code, _, err = run("plan", "-e", "linear", "-c", "nasiri-testbed", "-p", "profile.yaml")
    assert code == 1
    assert 'profile costs has no cost of "midCompute" on machine type M3 of cluster' in err
    assert 'profile costs has no row "highCompute"' in err


LOOP = {
    "format": "penstock/topology",
    "version": 1,
    "name": "loop",
    "components": {
        "a": {"kind": "spout", "profile": "lowCompute", "instances": 1, "streams": [{"to": "b"}]},
        "b": {"profile": "midCompute", "instances": 1, "streams": [{"to": "c"}]},
        "c": {"profile": "midCompute", "instances": 1, "streams": [{"to": "b"}]},
    },
}


def test_a_cycle_is_refused_where_rates_are_needed_and_accepted_elsewhere(run):
    write("loop.yaml", LOOP)
    code, out, _ = run("validate", "loop.yaml")
    assert (code, "has a cycle" in out) == (0, True)
    code, _, err = run("validate", "loop.yaml", "--rates")
    assert code == 1
    assert err.startswith("error: loop.yaml topology loop: cycle ")
    assert "b -> c -> b" in err or "c -> b -> c" in err
    code, _, err = run("plan", "loop.yaml", "-c", "nasiri-testbed", "-s", "hetero")
    assert (code, "topology loop: cycle " in err) == (1, True)
    code, _, _ = run("plan", "loop.yaml", "-c", "nasiri-testbed", "-s", "default")
    assert code == 0


def test_a_component_that_feeds_itself_is_a_cycle_too(run):
    """Three recorded production topologies have one."""
    write("loop.yaml", put(LOOP, ("components", "c", "streams", 0, "to"), "c"))
    assert run("validate", "loop.yaml")[0] == 0
    code, _, err = run("validate", "loop.yaml", "--rates")
    assert (code, "cycle c -> c;" in err) == (1, True)

"""Completion as the shells run it: what is offered after what was typed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

BASH = shutil.which("bash")
OFFER = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _penstock; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(run):
    """What bash offers for the last of the words."""
    code, script, err = run("completion bash")
    assert (code, err) == (0, "")

    def offered(*words: str) -> list[str]:
        ran = subprocess.run(
            [BASH, "-u", "-c", script + OFFER, "bash", "penstock", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stderr == ""
        return ran.stdout.split()

    return offered


@pytest.mark.skipif(BASH is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("pl",), ["plan"]),
        (("plan", "--sched"), ["--scheduler"]),
        (("plan", "-s", "het"), ["hetero"]),
        (("plan", "--weighted", "-c", "nasiri-t"), ["nasiri-testbed"]),
        (("plan", "--engine", ""), ["storm", "spark"]),
        (("lab", "up", "--eng"), ["--engine"]),
        (("import", "storm"), ["storm-yaml", "storm"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        # Nothing of ours: bash offers files.
        (("show", ""), []),
        (("plan", "--out", ""), []),
        # The name of a verb as an argument is no verb.
        (("show", "plan", "--off"), ["--offered"]),
    ],
)
def test_bash_offers_what_can_come_next(offered, words, expected):
    assert offered(*words) == expected


def test_zsh_runs_the_function_of_bash(run):
    _, bash, _ = run("completion bash")
    assert run("completion zsh")[1] == f"autoload -U +X bashcompinit && bashcompinit\n{bash}"


def test_fish_has_a_line_for_every_verb_and_option(run):
    lines = run("completion fish")[1].splitlines()
    assert any(line.endswith("-f -a plan -d 'Plan topologies on a cluster.'") for line in lines)
    engine = "-n '__fish_seen_subcommand_from plan' -l engine -r -f -a 'storm spark' "
    assert any(engine in line for line in lines)
    up = "-n '__fish_seen_subcommand_from lab; and __fish_seen_subcommand_from up' -l json"
    assert any(up in line for line in lines)
    # Quotes in a help text are escaped: each line has an even number of bare ones.
    assert all(line.replace("\\'", "").count("'") % 2 == 0 for line in lines)


def test_an_unknown_shell_is_a_wrong_call(run):
    assert run("completion tcsh")[0] == 2

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


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "data/bash-completion/completions/penstock"),
        ("zsh", "data/penstock/completion.zsh"),
        ("fish", "settings/fish/completions/penstock.fish"),
    ],
)
def test_install_writes_the_script_where_the_shell_of_the_user_looks(
    run, tmp_path, monkeypatch, shell, place
):
    for name, folder in (("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "settings")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("ZDOTDIR", raising=False)
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    code, out, err = run("completion --install")
    assert (code, out) == (0, "")
    assert f"wrote {tmp_path / place}" in err
    assert (tmp_path / place).read_text() == run(f"completion {shell}")[1]


def test_the_start_file_of_zsh_reads_the_script_once(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ZDOTDIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".zshrc").write_text("compinit")
    for _ in range(2):
        assert run("completion zsh --install")[0] == 0
    script = tmp_path / ".local/share/penstock/completion.zsh"
    assert (tmp_path / ".zshrc").read_text() == f"compinit\nsource {script}\n"


def test_without_a_known_shell_one_has_to_be_named(run, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    code, _, err = run("completion")
    assert code == 2
    assert "name a shell: bash, zsh, fish" in err

"""The command line in an empty folder of its own, and plans to look at."""

from __future__ import annotations

import pytest

from penstock.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HISTORY", str(tmp_path / "history"))

    def run(command: str, *more: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([*command.split(), *more])
        streams = capsys.readouterr()
        return int(left.value.code or 0), streams.out, streams.err

    return run


@pytest.fixture
def plans(run):
    """``default.json`` and ``hetero.json``: linear on the paper's testbed by two schedulers."""
    for scheduler in ("default", "hetero"):
        run(f"plan -e linear -c nasiri-testbed -s {scheduler} -o {scheduler}.json")
    return "default.json", "hetero.json"

"""The command line, run in an empty folder of its own."""

from __future__ import annotations

import pytest

from penstock.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        streams = capsys.readouterr()
        return int(left.value.code or 0), streams.out, streams.err

    return run

"""The command line in an empty folder of its own, and plans to look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock import app
from penstock.cli.main import main
from penstock_bench.synthetic import Noise, Recording, levels, write_json_lines


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


@pytest.fixture(scope="session")
def telemetry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A linear topology on three machines, with a hundred windows of two minutes' worth."""
    folder = tmp_path_factory.mktemp("telemetry")
    plan = app.plan(app.problem("linear", "nasiri-testbed"), "default").plan
    rng = np.random.default_rng(1)
    recording = Recording(
        problem=plan.problem,
        placement=plan.placement,
        scale=levels(plan.predicted.scale, 60, rng),
        noise=Noise(cpu_relative=0.02),
    )
    write_json_lines(recording, folder, rng, files=2)
    return folder

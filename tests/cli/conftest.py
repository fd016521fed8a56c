"""Plans and telemetry to look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock import app
from penstock_bench.synthetic import Noise, Recording, levels, write_json_lines


@pytest.fixture(scope="session")
def planned_once() -> dict[str, bytes]:
    """Files that ``plans`` has made in this process."""
    return {}


@pytest.fixture
def plans(run, planned_once):
    """``default.json`` and ``hetero.json``: linear on the paper's testbed by two schedulers."""
    for scheduler in ("default", "hetero"):
        plan = Path(f"{scheduler}.json")
        if plan.name in planned_once:
            plan.write_bytes(planned_once[plan.name])
        else:
            run(f"plan -e linear -c nasiri-testbed -s {scheduler} -o {plan}")
            planned_once[plan.name] = plan.read_bytes()
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

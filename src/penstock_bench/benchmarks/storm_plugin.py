"""What the Storm plugin's own tests measure: they print figures, which are read here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import PenstockError
from penstock_bench.benchmarks.long_runs import made_once

_POM = Path(__file__).parents[3] / "storm-plugin" / "pom.xml"
_TESTS = "LargeClusterTest,TelemetryTest"
_MARK = "penstock-figure"
_WITHIN_S = 600.0


def figure(name: str, repeats: int = 1) -> Iterator[float]:
    """One figure of the plugin's tests, by the name they print it under."""
    for _ in range(repeats):
        figures = _figures()
        if name not in figures:
            raise PenstockError(f"the plugin's tests print no {name}")
        yield figures[name]


@made_once
def _figures() -> dict[str, float]:
    maven = shutil.which("mvn")
    if maven is None or not _POM.is_file():
        raise PenstockError("the plugin's tests need Maven and a clone with storm-plugin/")
    command = [maven, "--batch-mode", "-f", str(_POM), "test", f"-Dtest={_TESTS}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_WITHIN_S,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PenstockError(f"the plugin's tests take more than {_WITHIN_S:g} s") from None
    figures = figures_in(done.stdout)
    if done.returncode != 0 or not figures:
        errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
        raise PenstockError("the plugin's tests fail: " + " ".join(errors[:3]))
    return figures


def figures_in(text: str) -> dict[str, float]:
    """Lines of ``penstock-figure name value``."""
    marked = (line.split(_MARK, 1)[1].split() for line in text.splitlines() if _MARK in line)
    return {name: float(value) for name, value in marked}

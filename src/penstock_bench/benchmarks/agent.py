"""What ``penstock bench agent`` measures: CPU, bytes and memory of agents that probe each other."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError
from penstock_bench.benchmarks.long_runs import made_once, say

AGENTS = 8
_SECONDS = 60.0
#: Python and the command line are read once; what runs for months is what counts.
_STARTS_WITHIN_S = 10.0
_RECORDS_EVERY_S = 10
_PORT = 27_373
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class AgentCosts:
    """What one agent used while it was watched."""

    seconds: float
    cpu_s: float
    probe_bytes: float
    record_bytes: float
    memory_mb: float


def cpu_percent(repeats: int = 1) -> Iterator[float]:  # noqa: ARG001 - one run has a figure of each
    yield from (100 * one.cpu_s / one.seconds for one in _watched())


def probe_bytes_per_s(repeats: int = 1) -> Iterator[float]:  # noqa: ARG001 - one run has a figure of each
    yield from (one.probe_bytes / one.seconds for one in _watched())


def record_bytes_per_s(repeats: int = 1) -> Iterator[float]:  # noqa: ARG001 - one run has a figure of each
    yield from (one.record_bytes / one.seconds for one in _watched())


def memory_mb(repeats: int = 1) -> Iterator[float]:  # noqa: ARG001 - one run has a figure of each
    yield from (one.memory_mb for one in _watched())


@made_once
def _watched() -> list[AgentCosts]:
    say(f"{AGENTS} agents probe each other for {_SECONDS:g} s")
    with tempfile.TemporaryDirectory(prefix="penstock-agents-") as name:
        folder = Path(name)
        names = [f"m{number}" for number in range(1, AGENTS + 1)]
        lines = [f"{own}: 127.0.29.{n}:{_PORT}\n" for n, own in enumerate(names, start=1)]
        (folder / "machines.yaml").write_text("".join(lines))
        key = folder / "key"
        key.write_text(secrets.token_hex(16))
        key.chmod(0o600)
        agents = {own: _started(own, folder) for own in names}
        try:
            time.sleep(_STARTS_WITHIN_S)
            before = {own: _cpu_s(agent) for own, agent in agents.items()}
            began_ms, began = 1000 * time.time(), time.monotonic()
            time.sleep(_SECONDS)
            seconds = time.monotonic() - began
            return [
                AgentCosts(
                    seconds,
                    _cpu_s(agent) - before[own],
                    *_told(folder / "records" / f"_machine-{own}.jsonl", began_ms),
                    _memory_mb(agent),
                )
                for own, agent in agents.items()
            ]
        finally:
            for agent in agents.values():
                agent.terminate()
            for agent in agents.values():
                agent.wait()


def _started(name: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "penstock", "agent", "--name", name,
        "--machines", str(folder / "machines.yaml"), "--key-file", str(folder / "key"),
        "--every", str(_RECORDS_EVERY_S), "--out", str(folder / "records"),
    ]  # fmt: skip
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def _cpu_s(agent: subprocess.Popen[bytes]) -> float:
    if agent.poll() is not None:
        raise PenstockError(f"an agent ended with {agent.returncode}")
    fields = Path(f"/proc/{agent.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory_mb(agent: subprocess.Popen[bytes]) -> float:
    text = Path(f"/proc/{agent.pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def _told(file: Path, since_ms: float) -> tuple[float, float]:
    """Bytes of probes and of records since a time."""
    lines = [
        line for line in file.read_text().splitlines() if json.loads(line)["time_ms"] > since_ms
    ]
    return sum(json.loads(line)["agent_bytes"] for line in lines), float(sum(map(len, lines)))

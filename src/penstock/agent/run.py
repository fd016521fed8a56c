"""The agent's loop: answer and probe as it comes, one record at the end of each window."""

from __future__ import annotations

import os
import secrets
import select
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from penstock.agent.hardware import ROOT, hardware
from penstock.agent.load import ENGINE_PROCESSES, CpuMeter
from penstock.agent.prober import Address, Prober
from penstock.errors import Finding, InputError
from penstock.model.machine_record import MachineRecord

#: How long a signal may go unnoticed.
_LOOKS_EVERY_S = 1.0
_MS = 1e3


@dataclass(frozen=True)
class AgentSetting:
    """What one agent is told."""

    name: str
    host: str
    #: The machine's type, region and rack, where somebody said them.
    place: Mapping[str, str] = field(default_factory=dict)
    interface: str | None = None
    #: Seconds between records.
    every_s: float = 60.0
    #: All machines that probe each other, this one among them, and the key they share.
    machines: Mapping[str, Address] = field(default_factory=dict)
    key: bytes = field(default=b"", repr=False)
    probe_every_s: float = 10.0
    own_marks: tuple[str, ...] = ENGINE_PROCESSES
    root: Path = ROOT


def run(
    setting: AgentSetting,
    take: Callable[[MachineRecord], None],
    stop: Callable[[], bool],
    *,
    clock: Callable[[], float] = time.monotonic,
    wall_clock: Callable[[], float] = time.time,
) -> None:
    """Hand on a record at the end of every window, until told to stop."""
    facts = {**setting.place, **hardware(setting.root, setting.interface)}
    with closing(_socket(setting)) as sock:
        prober = Prober(
            setting.name, _others(setting), setting.key, sock, clock, secrets.token_bytes,
            every_s=setting.probe_every_s,
        )  # fmt: skip
        meter = CpuMeter(setting.root, setting.own_marks)
        before, own_s, ends = meter.read(clock()), _own_cpu_s(), clock() + setting.every_s
        while not stop():
            prober.probe()
            wait_s = min(prober.next_in_s(), ends - clock(), _LOOKS_EVERY_S)
            if select.select([sock], [], [], max(0.0, wait_s))[0]:
                prober.receive()
            if clock() < ends:
                continue
            now = meter.read(clock())
            seconds, used_s = now.at_s - before.at_s, _own_cpu_s()
            costs = {
                "agent_points": round(100.0 * (used_s - own_s) / seconds, 4),
                "agent_bytes": float(prober.traffic_bytes),
            }
            take(
                MachineRecord(
                    setting.name,
                    setting.host,
                    int(_MS * wall_clock()),
                    int(_MS * seconds),
                    {**facts, **meter.since(before, now), **costs},
                    prober.take_window(),
                )
            )
            prober.traffic_bytes = 0
            before, own_s, ends = now, used_s, ends + setting.every_s
            # A machine that slept does not catch up on its windows.
            ends = max(ends, clock())


def _others(setting: AgentSetting) -> dict[str, Address]:
    return {name: at for name, at in setting.machines.items() if name != setting.name}


def _socket(setting: AgentSetting) -> socket.socket:
    """Bound to this machine's own address in the list, and to none without one."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    if not setting.machines:
        return sock
    address = setting.machines[setting.name]
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        message = f"cannot listen on {address[0]}:{address[1]}: {error.strerror}"
        raise InputError(Finding(message, field=setting.name)) from None
    return sock


def _own_cpu_s() -> float:
    used = os.times()
    return used.user + used.system

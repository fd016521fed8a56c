"""Keeps a lab up in the background, and takes it down again whatever happens.

``lab up`` starts this as a process of its own. It holds the daemons and control groups, and writes
a small file that says where the lab is; ``status`` and ``down`` go by that file, which lies in a
folder that nobody else can write to. Daemons, what they started, groups and folder go with their
keeper, however it dies; the small file of a keeper that was killed is removed by whoever looks
next.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import IO

from penstock.engines import registry
from penstock.engines.lab.groups import ControlGroups
from penstock.engines.lab.lab import WARM_UP_S, lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.errors import Finding, PenstockError
from penstock.system.private_folder import NotPrivate, runtime_folder, scratch_folder

_STARTS_WITHIN_S = 180.0
_ENDS_WITHIN_S = 60.0
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class LabFile:
    """What is known of a lab that is up."""

    engine: str
    keeper: int
    #: When the keeper started: its number alone may be another process by now.
    started: str
    machines: str
    folder: str
    address: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def process(self) -> ProcessIdentity:
        return ProcessIdentity(self.keeper, self.started)


@dataclass(frozen=True)
class MachineStatus:
    """One machine of a lab, now."""

    name: str
    type: str
    points: float
    #: Points it used in the last second; ``None`` where nobody can know.
    used_points: float | None
    is_limited: bool | None
    processes: int


def lab_file(engine: str) -> Path:
    return runtime_folder().path / _file_name(engine)


def _file_name(engine: str) -> str:
    return f"lab-{engine}.json"


def find(engine: str) -> LabFile | None:
    """The lab that is up, if there is one; what a dead one left behind is cleaned up."""
    lab = _read(engine)
    if lab is not None and lab.process.is_alive:
        return lab
    _clean_up(engine, lab)
    return None


def _read(engine: str) -> LabFile | None:
    try:
        entries = json.loads(runtime_folder().read(_file_name(engine)) or b"")
        return LabFile(**(entries | {"notes": tuple(entries["notes"])}))
    except (ValueError, TypeError, KeyError):
        return None


def up(engine: str, machines: str, warm_up_s: float = WARM_UP_S) -> LabFile:
    """Start a lab that stays until ``down``."""
    parse_machines(machines)
    if find(engine) is not None:
        raise PenstockError(f"a {engine} lab is up already: penstock lab down --engine {engine}")
    with tempfile.TemporaryFile() as output:
        keeper = subprocess.Popen(
            # -P: not from the current folder, which may be anybody's.
            [
                sys.executable,
                "-P",
                "-m",
                "penstock.engines.lab.keeper",
                engine,
                machines,
                str(warm_up_s),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return _wait_until_up(engine, keeper, output)
        except BaseException:  # Ctrl-C too: nothing may be left behind
            keeper.terminate()
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(_ENDS_WITHIN_S)
            _clean_up(engine)
            raise


def down(engine: str) -> bool:
    """Take the lab down; whether there was one."""
    lab = find(engine)
    if lab is None:
        return False
    lab.process.send(signal.SIGTERM)
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while lab.process.is_alive and time.monotonic() < deadline:
        time.sleep(0.1)
    lab.process.send(signal.SIGKILL)
    _clean_up(engine, lab)
    return True


def machines_of(lab: LabFile, over_s: float = 1.0) -> list[MachineStatus]:
    """What each machine does, looked at for a moment."""
    groups = ControlGroups.find()
    machines = parse_machines(lab.machines)
    names = {m.name: f"{lab.engine}-{lab.keeper}-{m.name}" for m in machines}
    mine = {m: groups.at(name) for m, name in names.items()} if groups and not lab.notes else {}
    before = {name: group.cpu_s() for name, group in mine.items()}
    time.sleep(over_s if mine else 0)
    return [
        MachineStatus(
            m.name,
            m.type,
            m.points,
            100 * (mine[m.name].cpu_s() - before[m.name]) / over_s if mine else None,
            mine[m.name].limited_to() is not None if mine else None,
            len(mine[m.name].processes()) if mine else 0,
        )
        for m in machines
    ]


def _wait_until_up(engine: str, keeper: subprocess.Popen[bytes], output: IO[bytes]) -> LabFile:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline and keeper.poll() is None:
        lab = _read(engine)
        if lab is not None and lab.keeper == keeper.pid and (lab.address or lab.problem):
            if lab.problem:
                raise PenstockError(lab.problem)
            return lab
        time.sleep(0.1)
    if keeper.poll() is None:
        raise PenstockError(f"the {engine} lab did not start within {_STARTS_WITHIN_S:g} s")
    output.seek(0)
    lines = output.read().decode(errors="replace").splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
    raise PenstockError(f"the {engine} lab's keeper ended: {last}")


def _clean_up(engine: str, dead: LabFile | None = None) -> None:
    """What a keeper that was killed could not do itself."""
    if dead is not None and dead.folder:
        try:
            scratch_folder().remove_folder(Path(dead.folder))
        except NotPrivate as error:
            remedy = Finding("names that folder; remove this file by hand", str(lab_file(engine)))
            raise NotPrivate(*error.findings, remedy) from None
    if groups := ControlGroups.find():
        groups.clean_up()
    runtime_folder().remove(_file_name(engine))


def _keep(engine: str, machines: str, warm_up_s: float) -> None:
    """The keeper itself."""
    ended: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        # A second one must not cut off the cleaning up after the first.
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)
        ended.append(number)
        raise SystemExit(0)

    for number in _ENDING:
        signal.signal(number, end)
    me = ProcessIdentity.of(os.getpid())
    assert me is not None
    told = LabFile(engine, me.pid, me.started, machines, "")
    try:
        with lab_of(engine, parse_machines(machines), warm_up_s=warm_up_s) as lab:
            told = replace(told, folder=str(lab.folder), notes=lab.notes)
            _tell(told)
            _tell(replace(told, address=registry.create(engine).start_lab(lab)))
            while not ended:
                time.sleep(1.0)
    except PenstockError as error:
        _tell(replace(told, problem=str(error)))
        time.sleep(1.0)
    finally:
        runtime_folder().remove(_file_name(engine))


def _tell(lab: LabFile) -> None:
    runtime_folder().write(_file_name(lab.engine), json.dumps(asdict(lab)).encode())


if __name__ == "__main__":
    _keep(sys.argv[1], sys.argv[2], float(sys.argv[3]))

"""``python -m penstock_bench.benchmarks.fuzz.fork_server``: commands by the thousand.

No command waits for a start of its own. The server tells on its first line which verbs and options
there are, then takes one request a line (JSON) on stdin and answers each with a line. The verbs are
imported once; every command runs in a fork of this process, in a folder, an environment and within
limits of its own. Commands that need Spark run one after another inside one session instead
(``--spark``): a fork of Java is not to be had.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, get_args

from penstock import app
from penstock.cli import main as cli

#: What commands import when they first need it.
_WARM = ("scipy.optimize", "scipy.sparse", "yaml")
_MB = 2**20


def verbs() -> list[dict[str, Any]]:
    """Every verb with its parameters, as the parser itself knows them."""
    return list(_verbs_below(cli._parser(), ()))


def _verbs_below(command: Any, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _verbs_below(inner, (*path, name))
    is_group = bool(getattr(command, "commands", {}))
    if path and (not is_group or command.invoke_without_command):
        yield {"words": list(path), "parameters": [_parameter(p) for p in command.params]}


def _parameter(found: Any) -> dict[str, Any]:
    kind = _plain_type(found.type_descriptor.annotation)
    # Of an argument, opts is its name.
    options = [o for o in (*found.opts, *found.secondary_opts) if o.startswith("-")]
    return {
        "name": found.name,
        "options": sorted(options, key=len, reverse=True),
        "is_flag": bool(getattr(found, "is_flag", False)),
        "is_multiple": bool(found.multiple or found.nargs == -1),
        "is_required": bool(found.required),
        "type": kind.__name__,
        "choices": [str(c.value) for c in kind] if issubclass(kind, Enum) else [],
        "least": found.min,
        "most": found.max,
    }


def _plain_type(annotation: Any) -> Any:
    """``str`` of ``list[str]``."""
    inner = [a for a in get_args(annotation) if isinstance(a, type) and a is not type(None)]
    found = inner[0] if inner else annotation
    return found if isinstance(found, type) else str


# -- a command in a fork ---------------------------------------------------------------------------


def _run_forked(request: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    child = os.fork()
    if not child:
        _become(request)
    with _alarm(child, request["seconds"]) as late:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        delayed_s = _delayed_s(child)
        _, status, used = os.wait4(child, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what it has started and left
    return {
        "code": os.waitstatus_to_exitcode(status),
        "late": bool(late),
        "seconds": time.monotonic() - began,
        "delayed_s": delayed_s,
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_mb": used.ru_maxrss / 1024,
    }


@contextmanager
def _alarm(child: int, seconds: float) -> Iterator[list[int]]:
    """Ends a child that takes longer, and says so; time without a free core does not count."""
    late: list[int] = []
    began = time.monotonic()

    def end(number: int, _frame: FrameType | None) -> None:
        left = seconds - (time.monotonic() - began - _delayed_s(child))
        if left > 0.1:
            signal.setitimer(signal.ITIMER_REAL, left)
            return
        late.append(number)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield late
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _delayed_s(child: int) -> float:
    """How long a process wanted to run and others did, as Linux tells it of its first thread."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{child}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _become(request: dict[str, Any]) -> None:
    """The command; never returns. What it does to this process ends with it."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _limit(request)
        _enter(request)
        if request["is_own_process"]:
            os.execv(sys.executable, [sys.executable, "-m", "penstock", *request["arguments"]])
        code = _command(request["arguments"])
    except BaseException as error:
        os.write(2, f"this is a bug in penstock: {error!r}\n".encode())
    finally:
        os._exit(code)


def _limit(request: dict[str, Any]) -> None:
    space = int(request["space_mb"] * _MB)
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    cpu = int(request["cpu_seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))


def _enter(request: dict[str, Any]) -> None:
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    for number, name in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        opened = os.open(name, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)


def _command(arguments: list[str]) -> int:
    """The exit code that a process of its own would end with."""
    try:
        cli.main(arguments)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
    return 0


# -- commands inside one Spark session -------------------------------------------------------------


def _run_inside(request: dict[str, Any]) -> dict[str, Any]:
    """In this very process, which has the session; the limits are the caller's to keep."""
    began, used = time.monotonic(), time.process_time()
    before = Path.cwd(), dict(os.environ), [os.dup(number) for number in (0, 1, 2)]
    try:
        _enter(request)
        code = _command(request["arguments"])
    finally:
        folder, environment, streams = before
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
    return {
        "code": code,
        "late": False,
        "seconds": time.monotonic() - began,
        "delayed_s": 0.0,
        "cpu_s": time.process_time() - used,
        "memory_mb": 0.0,
    }


def _warm_up() -> None:
    """Import, and compile, what commands need, once for all forks."""
    for name in _WARM:
        with suppress(ImportError):
            import_module(name)
    for name in app.NAMES:
        getattr(app, name)
    with tempfile.TemporaryDirectory() as folder:
        here = {"folder": folder, "environment": {"HOME": folder}}
        for line in ("plan linear -s default -o p.json", "simulate p.json --duration 1"):
            words = {"arguments": line.split(), "stdout": os.devnull, "stderr": os.devnull}
            _run_inside(here | words)


def _serve(run: Any) -> None:
    # Answers go where nothing that a command prints can come between.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    tell(verbs())
    for line in sys.stdin:
        tell(run(json.loads(line)))


def serve(arguments: list[str]) -> None:
    """Answer requests until stdin ends."""
    if "--spark" not in arguments:
        _warm_up()
        _serve(_run_forked)
        return
    from penstock.engines.spark.session import spark_session

    few = {"spark.sql.shuffle.partitions": "2"}
    with spark_session("local[2]", driver_memory="1g", config=few):
        _serve(_run_inside)


if __name__ == "__main__":
    serve(sys.argv[1:])

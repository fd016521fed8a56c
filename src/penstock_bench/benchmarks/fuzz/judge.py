"""What is wrong with what a command did, whatever it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock import errors
from penstock.errors import PenstockError
from penstock.files.document import read_document
from penstock.files.store import FORMATS, load
from penstock.model.plan import Plan
from penstock.telemetry.writer_lock import LOCK_FILE
from penstock_bench.benchmarks.fuzz.drawing import FuzzCase
from penstock_bench.benchmarks.fuzz.server import CommandOutcome, Limits
from penstock_bench.contract.plan_check import plan_faults

#: Documented; 70 is our bug, and nothing interrupts or terminates a command here.
EXIT_CODES = frozenset(
    {errors.EXIT_DONE, errors.EXIT_FAILURE, errors.EXIT_USAGE, errors.EXIT_CHANGES,
     errors.EXIT_INFEASIBLE, errors.EXIT_STALE}
)  # fmt: skip
#: Takes too long, with or without work.
HANG = "hang"
#: As by the limit on CPU.
_KILLED = -9
#: Waits with less CPU than this part of the time.
_IDLE = 0.05
_WORDS = (
    (b"Traceback (most recent call last)", "a traceback"),
    (b"this is a bug in penstock", "says that it is a bug"),
    (b"Warning: ", "a warning of Python's"),
    (b"not enough memory for this input", "ran out of memory"),
)
#: What a terminal would obey; line breaks and tabs are ours.
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
#: Of files that any verb takes; telemetry and receipts have readers of their own.
_READ_FORMATS = frozenset(f"penstock/{name}" for name in (*FORMATS, "simulation"))
#: Where a file of ours says what it is.
_HEAD_BYTES = 60
_TEXTS = frozenset({".csv", ".md", ".svg", ".tex", ".html"})
#: Of a bare number in CSV, Markdown or text that is none.
_NO_NUMBER = re.compile(rb"(?<![\w.\"'-])-?(nan|inf|NaN|Infinity)(?![\w.\"'=])")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: what kind of thing, and what was seen."""

    kind: str
    seen: str

    @property
    def signature(self) -> str:
        """The same for failures of the same cause, as far as words can tell."""
        seen = re.sub(r"/\S*?/(?=src/|site-packages/)", "", self.seen)
        return f"{self.kind}: {re.sub(r'[0-9][0-9.,e+-]*', '#', seen)[:160]}"


def judge(case: FuzzCase, outcome: CommandOutcome, limits: Limits, place: Path) -> list[Fault]:
    """Everything that is wrong; the first is what the others come from, mostly."""
    ended = list(_ending(outcome, limits))
    if ended:
        return ended
    return [*_said(case, outcome), *_files(case, outcome, place)]


def _ending(outcome: CommandOutcome, limits: Limits) -> Iterator[Fault]:
    last = _last_line(outcome.stderr)
    for words, what in _WORDS:
        if words in outcome.stderr:
            yield Fault(what, _line_with(outcome.stderr, words) if words != _WORDS[0][0] else last)
            return
    took = f"{outcome.seconds:.0f} s, {outcome.cpu_s:.0f} s of CPU; {last}"
    # What it wanted to compute while others did is no time of its own.
    own_s = outcome.seconds - outcome.delayed_s
    is_waiting = own_s > limits.seconds and outcome.cpu_s < _IDLE * own_s
    is_cut = outcome.code == _KILLED and outcome.cpu_s > 0.9 * limits.seconds
    is_late = outcome.late or is_cut or outcome.cpu_s > limits.seconds
    if is_late or is_waiting:
        yield Fault(HANG, took)
    elif outcome.memory_mb > limits.memory_mb:
        yield Fault("memory", f"{outcome.memory_mb:.0f} MB; {last}")
    elif outcome.code not in EXIT_CODES:
        yield Fault(f"exit {outcome.code}", last)
    elif outcome.code in (errors.EXIT_FAILURE, errors.EXIT_USAGE) and not outcome.stderr.strip():
        yield Fault("fails without a word", f"exit {outcome.code}")


def _said(case: FuzzCase, outcome: CommandOutcome) -> Iterator[Fault]:
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if found := _CONTROL.search(text):
            yield Fault(f"control character on {name}", f"{_around(text, found.start())}")
    is_json = "--json" in case.arguments and "--help" not in case.arguments
    if is_json and outcome.stdout.strip() and outcome.code != errors.EXIT_USAGE:
        yield from _json_faults(outcome.stdout, "stdout", makes_plans=_makes_plans(case))
    elif not is_json and (found := _NO_NUMBER.search(outcome.stdout)):
        yield Fault("not a number on stdout", _around(outcome.stdout, found.start()))


def _files(case: FuzzCase, outcome: CommandOutcome, place: Path) -> Iterator[Fault]:
    named = {word for argument in case.arguments for word in (argument, argument.partition("=")[2])}
    pictures = _values_of("--svg", case.arguments)
    for name in outcome.written:
        path = place / name
        # A result goes where it is said to go; nothing else may be there.
        above = {name, *map(str, Path(name).parents)} - {".", ".."}
        if name.startswith("..") and not above & named:
            yield Fault("writes outside its folder", name)
        elif Path(name).name == LOCK_FILE:
            continue  # stays where a store is written to
        elif Path(name).name.startswith(".") and not case.verb.starts_spark:
            yield Fault("leaves a hidden file", name)
        elif name in pictures:
            continue  # whatever it is called
        elif faults := list(_reading_faults(path)):
            yield from faults
        elif path.suffix == ".json" and not case.verb.starts_spark and path.is_file():
            yield from _json_faults(path.read_bytes(), name, makes_plans=_makes_plans(case))
        elif path.suffix in _TEXTS and path.is_file():
            text = path.read_bytes()
            if found := _NO_NUMBER.search(text):
                yield Fault(f"not a number in {path.suffix}", _around(text, found.start()))


def _reading_faults(path: Path) -> Iterator[Fault]:
    """What is written in a format that we read, we must be able to read."""
    is_ours = path.suffix in (".json", ".yaml") and path.is_file()
    # A report or a picture may have any name.
    if not is_ours or b"penstock/" not in path.read_bytes()[:_HEAD_BYTES]:
        return
    try:
        document = read_document(path).value
        if isinstance(document, dict) and document.get("format") in _READ_FORMATS:
            load(path)
    except PenstockError as error:
        yield Fault("writes what is refused", f"{path.name}: {str(error).splitlines()[0]}")


def _values_of(option: str, arguments: tuple[str, ...]) -> set[str]:
    after = {value for name, value in pairwise(arguments) if name == option}
    return after | {a.removeprefix(f"{option}=") for a in arguments if a.startswith(f"{option}=")}


def _makes_plans(case: FuzzCase) -> bool:
    """Not what shows a plan as it was given, right or wrong."""
    return case.verb.name != "show"


def _json_faults(data: bytes, where: str, *, makes_plans: bool) -> Iterator[Fault]:
    """Strict JSON, and where it is a plan, a right one."""
    try:
        document = json.loads(data, parse_constant=_refuse)
    except ValueError as error:
        yield Fault("no JSON", f"{where}: {error}")
        return
    if not isinstance(document, dict):
        return
    if (
        where == "stdout"
        and not {"format", "version"} <= document.keys()
        and "$schema" not in document
    ):
        yield Fault("JSON without a format", f"{where}: {', '.join(list(document)[:5])}")
    if document.get("format") == "penstock/plan" and makes_plans:
        for fault in plan_faults_of(document):
            yield Fault("wrong plan", fault)


def plan_faults_of(document: dict[str, Any]) -> list[str]:
    """What the independent evaluator says of a plan's file."""
    try:
        plan = load(document)
    except PenstockError as error:
        return [f"is refused when it is read: {str(error).splitlines()[0]}"]
    return plan_faults(plan) if isinstance(plan, Plan) else ["is no plan when it is read"]


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def _line_with(text: bytes, words: bytes) -> str:
    found = next(line for line in text.splitlines() if words in line)
    return found.decode("utf-8", "replace")[:300]


def _around(text: bytes, at: int) -> str:
    return repr(text[max(0, at - 30) : at + 20])

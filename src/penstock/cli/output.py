"""Where output goes: results on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from penstock.errors import Finding, InputError, NotWrittenError, escaped
from penstock.files.writer import write_text as write_atomically

if TYPE_CHECKING:
    from rich.console import RenderableType

    from penstock.report.page import Document


def open_standard_streams() -> None:
    """Have streams to write to that fail on a full disk only, and never on a letter.

    A terminal that knows no "→" gets its escape. Where a stream was closed (``>&-``) its number is
    taken, lest a file opened later gets it and with it what is printed; results are missed, and
    words are not.
    """
    if sys.stdout is None:
        sys.stdout = _stream(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _stream(2, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _stream(number: int, access: int) -> TextIO:
    null = os.open(os.devnull, access)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return open(number, "w", encoding="utf-8", closefd=False)


def discard_output() -> None:
    """Let what could not be printed go, so that Python does not try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_terminal() -> bool:
    return sys.stdout.isatty()


def show(*results: RenderableType | Document) -> None:
    """Print results; colour and bars only on a terminal, NO_COLOR honoured."""
    from penstock.cli.console import print_results

    print_results(results, is_terminal=is_terminal())


def say(text: str) -> None:
    """Tell the person something that is no result; where nobody can hear it, that is that."""
    with suppress(OSError):
        sys.stderr.write(escaped(text) + "\n")
        sys.stderr.flush()


#: Control characters that JSON lets stand as they are; they can only be in strings.
_LATE_CONTROL = {code: f"\\u{code:04x}" for code in range(127, 160)}


def write_text(text: str, *, at_once: bool = False) -> None:
    """Print a result that is text already, ``at_once`` also where nobody sits at a terminal."""
    sys.stdout.write(text)
    if at_once:
        sys.stdout.flush()


def write_json(value: object) -> None:
    """Print a result as JSON; what is not a number in JSON becomes null before it gets here."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(text.translate(_LATE_CONTROL) + "\n")


def make_folder(path: Path) -> None:
    """Make a folder for result files, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot be made: {error.strerror or error}"
        raise InputError(Finding(message, str(path))) from None


def write_file(path: Path, text: str, *, is_printed: bool = False) -> None:
    """Write a result file; a failure is the user's to mend."""
    try:
        write_atomically(path, text)
    except OSError as error:
        kind = NotWrittenError if is_printed else InputError
        message = f"cannot be written: {error.strerror or error}"
        raise kind(Finding(message, str(path))) from None

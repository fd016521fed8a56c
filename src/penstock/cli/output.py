"""Where output goes: results on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console, RenderableType

from penstock.errors import Finding, InputError, NotWrittenError
from penstock.files.writer import write_text as write_atomically
from penstock.report.page import Document
from penstock.report.page.terminal import renderable

#: Without a terminal there is no width to fit into; tables must not be cut.
_PIPE_WIDTH = 10_000


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


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to ``main``, which knows that ``| head`` is no failure."""
        raise BrokenPipeError


def show(*results: RenderableType | Document) -> None:
    """Print results; colour and bars only on a terminal, NO_COLOR honoured."""
    width = None if is_terminal() else _PIPE_WIDTH
    # Names of the user's own are no markup and no emoji codes.
    console = _Console(width=width, highlight=False, emoji=False)
    for result in results:
        if isinstance(result, Document):
            console.print(renderable(result, bars=is_terminal()), markup=False)
        else:
            console.print(result, soft_wrap=isinstance(result, str), markup=False)


#: Of what files and arguments hold, a terminal would obey these; ours are line breaks and tabs.
_CONTROL = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)
}


def say(text: str) -> None:
    """Tell the person something that is no result; where nobody can hear it, that is that."""
    with suppress(OSError):
        sys.stderr.write(text.translate(_CONTROL) + "\n")
        sys.stderr.flush()


def write_text(text: str) -> None:
    """Print a result that is text already."""
    sys.stdout.write(text)


def write_json(value: object) -> None:
    """Print a result as JSON; what is not a number in JSON becomes null before it gets here."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


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

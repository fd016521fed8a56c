"""``penstock``: the verbs, and how every error ends."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

import typer

from penstock import __version__
from penstock.cli.missing_costs import what_helps
from penstock.cli.output import discard_output, open_standard_streams, say, write_json
from penstock.cli.renamed_options import with_todays_names
from penstock.cli.verb_groups import GroupedVerbs
from penstock.errors import (
    EXIT_BUG,
    EXIT_DONE,
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    Finding,
    InputError,
    MissingCostsError,
    NotWrittenError,
    PenstockError,
)
from penstock.files.answer_formats import answer_head
from penstock.files.versions import OldFormatWarning

app = typer.Typer(
    name="penstock",
    cls=GroupedVerbs,
    help="Plan where and how wide stream topologies run on machines that are not all alike.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"penstock {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


#: What writing fails with through no fault of ours.
_NOWHERE_TO_WRITE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EROFS,
    errno.EBADF,
)
#: What a name leads to through no fault of ours: too long, a ring of links, somebody else's.
_NO_WAY_THERE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code; nothing a user does ends in a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    open_standard_streams()
    terminations = _note_terminations()
    try:
        with _old_formats_told():
            code = _run(with_todays_names(given))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (``| head``).
        discard_output()
        code = EXIT_DONE
    except OSError as error:
        discard_output()
        say(f"error: cannot write to standard output: {error.strerror or error}")
        code = EXIT_FAILURE
    if terminations and code == EXIT_INTERRUPTED:
        code = EXIT_TERMINATED
    sys.exit(code)


def _note_terminations() -> list[int]:
    """``kill`` ends a command as Ctrl-C does, but for the exit code: it is told by this list.

    A KeyboardInterrupt is also what py4j lets go of a call to Java for.
    """
    received: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)
    return received


@contextmanager
def _old_formats_told() -> Iterator[None]:
    """Say which files are of an older version; other warnings are shown as Python shows them."""
    with warnings.catch_warnings():
        show_others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, OldFormatWarning):
                say(f"note: {message}")
            else:
                show_others(message, category, *more, **named)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("always", OldFormatWarning)
        yield


@cache
def _parser() -> Any:
    """The program; made once for all calls in a process."""
    return typer.main.get_command(app)


def _run(arguments: list[str]) -> int:
    try:
        # Not by calling the parser: that has ideas of its own about Ctrl-C and broken pipes.
        with _parser().make_context("penstock", [*arguments]) as context:
            result = _parser().invoke(context)
        return result if isinstance(result, int) else EXIT_DONE
    except typer.Exit as left:
        return left.exit_code
    except PenstockError as error:
        return _report(error, arguments)
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return EXIT_INTERRUPTED
    except MemoryError:
        say("error: not enough memory for this input")
        return EXIT_FAILURE
    except BrokenPipeError:
        raise
    except OSError as error:
        return _report_system(error, arguments)
    except Exception as error:
        # Wrong options: the parser's own errors know how to show themselves and their exit code.
        show = getattr(error, "show", None)
        if show is not None:
            show()
            return int(getattr(error, "exit_code", EXIT_FAILURE))
        if _is_of_an_interruption(error):
            say("interrupted")
            return EXIT_INTERRUPTED
        return _report_bug(error)


def _report_system(error: OSError, arguments: list[str]) -> int:
    """What the operating system refused."""
    where = "" if error.filename is None else str(error.filename)
    if error.errno in _NO_WAY_THERE and where:
        return _report(InputError(Finding(f"cannot be opened: {error.strerror}", where)), arguments)
    if error.errno not in _NOWHERE_TO_WRITE:
        return _report_bug(error)
    discard_output()
    say(f"error: {where and f'{where}: '}cannot write: {error.strerror}")
    return EXIT_FAILURE


def _is_of_an_interruption(error: BaseException | None) -> bool:
    """Whether an error came up while an interruption was on its way out."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _report(error: PenstockError, arguments: list[str]) -> int:
    for finding in error.findings:
        say(f"error: {finding}")
    if isinstance(error, MissingCostsError):
        for line in what_helps(error, arguments, _options_of(arguments[0])):
            say(line)
    if error.__cause__ is not None and os.environ.get("PENSTOCK_DEBUG"):
        say("".join(traceback.format_exception(error.__cause__)))
    if "--json" in arguments and not isinstance(error, NotWrittenError):
        findings = [finding.to_dict() for finding in error.findings]
        write_json({**answer_head("error"), "findings": findings})
    return error.exit_code


def _options_of(verb: str) -> set[str]:
    command = _parser().commands.get(verb)
    return {name for parameter in command.params for name in parameter.opts} if command else set()


def _report_bug(error: Exception) -> int:
    say(f"this is a bug in penstock {__version__}, not in your input: {error!r}")
    if os.environ.get("PENSTOCK_DEBUG"):
        say(traceback.format_exc())
    else:
        say("PENSTOCK_DEBUG=1 in the environment shows where; please report it with the input")
    return EXIT_BUG


if __name__ == "__main__":
    main()

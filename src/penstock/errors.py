"""Every error a user can cause, with where it is, what was seen and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

EXIT_DONE = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_CHANGES = 3
EXIT_INFEASIBLE = 4
EXIT_STALE = 5
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

_LONGEST_VALUE_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong in one place of the user's input."""

    message: str
    file: str = ""
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f":{self.line}"
        where = " ".join(part for part in (place, self.field) if part)
        return f"{where}: {self.message}" if where else self.message

    def to_dict(self) -> dict[str, object]:
        return {
            "file": self.file,
            "line": self.line,
            "field": self.field,
            "message": self.message,
        }


class PenstockError(Exception):
    """Base of all handled errors; the command line prints it without a traceback."""

    exit_code = EXIT_FAILURE

    def __init__(self, *findings: Finding | str) -> None:
        self.findings: tuple[Finding, ...] = tuple(
            finding if isinstance(finding, Finding) else Finding(finding) for finding in findings
        )
        super().__init__("\n".join(str(finding) for finding in self.findings))


class InputError(PenstockError):
    """A file or value given by the user is not what it must be. Carries all that is wrong."""


class NotWrittenError(InputError):
    """A file of a result that is printed already: stdout holds that result and nothing else."""


class MissingCostsError(InputError):
    """A profile lacks costs that a problem needs, and options of the command line would help."""

    def __init__(
        self, *findings: Finding, options: Mapping[str, str], without_speed: Sequence[str]
    ) -> None:
        super().__init__(*findings)
        self.options = dict(options)
        #: Machine types that cannot be estimated before something says how fast they are.
        self.without_speed = tuple(without_speed)


class TooMuchWorkError(InputError):
    """More than is done unasked; it says how much, and which option allows it."""


class CycleError(PenstockError):
    """Rates were asked of a topology with a cycle; the rate model needs a DAG."""


class UnknownNameError(PenstockError):
    """A name (scheduler, example, component, ...) that does not exist."""

    def __init__(self, what: str, name: str, known: Iterable[str], *, at: Finding | None = None):
        message = unknown_name(what, name, known)
        super().__init__(Finding(message, at.file, at.line, at.field) if at else Finding(message))


class NotMeasuredError(PenstockError):
    """Rates were asked of a problem that has only requests, or a profile with holes."""


class ForeignCodeError(PenstockError):
    """What another package installed (a scheduler, an engine, a policy) failed; it names both."""


class UsageError(PenstockError):
    """The command was called in a way that makes no sense."""

    exit_code = EXIT_USAGE


class NoPlanError(PenstockError):
    """What was asked for needs a plan, and there is none: says what is missing."""

    exit_code = EXIT_INFEASIBLE


class StaleError(PenstockError):
    """A plan was made from other inputs than those it is now held against."""

    exit_code = EXIT_STALE


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """'no component "cuont"; did you mean "count"?', or the list of what there is."""
    candidates = list(known)
    close = close_match(name, candidates)
    if close:
        return f'no {what} "{name}"; did you mean "{close}"?'
    if not candidates:
        return f'no {what} "{name}": there is none'
    shown = ", ".join(candidates[:12]) + (", …" if len(candidates) > 12 else "")
    return f'no {what} "{name}"; known: {shown}'


def close_match(name: str, candidates: Sequence[str]) -> str | None:
    """The candidate most like ``name``, if any is like it at all."""
    by_lower = {candidate.lower(): candidate for candidate in reversed(candidates)}
    # difflib is quadratic; a cluster may have ten thousand names.
    matches = difflib.get_close_matches(name.lower(), list(by_lower)[:2000], n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


def quantity(value: float, digits: int = 6) -> str:
    """A number as people read it: so many figures, thousands separated, no exponent for large."""
    large = abs(value) >= 10 ** (digits - 1)
    return f"{value:,.0f}" if large else f"{value:,.{digits}g}"


def shown(value: object) -> str:
    """A value as it appears in a message: short, one line, unambiguous."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    if len(text) > _LONGEST_VALUE_SHOWN:
        text = text[: _LONGEST_VALUE_SHOWN - 1] + "…"
    return text


#: Of what files and arguments hold, a terminal would obey these; ours are line breaks and tabs.
_CONTROL = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)
}


def escaped(text: str) -> str:
    """The text for a terminal, which shows all of it and obeys nothing in it."""
    return text.translate(_CONTROL)

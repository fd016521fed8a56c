"""What Spark fails with, in one line."""

from __future__ import annotations

from penstock.errors import PenstockError

#: How Spark goes on after saying what happened, and how Python begins to.
_ABOUT_THE_QUERY, _TRACEBACK = "=== Streaming Query ===", "Traceback (most recent call last):"
#: How py4j begins what Java says, before Java's own stack trace.
_JAVA = ": "
LONGEST_REASON = 300


class SparkFailed(PenstockError):
    """Spark gave up: input that went away, a broker nobody answers at, a disk that is full."""


def reason_of(error: Exception) -> str:
    """The one line of an error of Spark's that says what happened."""
    from py4j.protocol import Py4JJavaError

    text = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    text = text.partition(_ABOUT_THE_QUERY)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason"]
    reason = _end_of_traceback(lines) if lines[0].endswith(_TRACEBACK) else lines[0]
    return reason[:LONGEST_REASON]


def _end_of_traceback(lines: list[str]) -> str:
    """The last line of a traceback of Python's says what happened, unless Java's trace follows."""
    of_java = [line.removeprefix(_JAVA) for line in lines if line.startswith(_JAVA)]
    return of_java[-1] if of_java else lines[-1]

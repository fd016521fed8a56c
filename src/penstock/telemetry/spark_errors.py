"""What Spark fails with, in one line."""

from __future__ import annotations

from penstock.errors import PenstockError

#: How Spark goes on after saying what happened, and how Python begins to.
_ABOUT_THE_QUERY, _TRACEBACK = "=== Streaming Query ===", "Traceback (most recent call last):"
LONGEST_REASON = 300


class SparkFailed(PenstockError):
    """Spark gave up: input that went away, a broker nobody answers at, a disk that is full."""


def reason_of(error: Exception) -> str:
    """The one line of an error of Spark's that says what happened."""
    from py4j.protocol import Py4JJavaError

    text = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    text = text.partition(_ABOUT_THE_QUERY)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason"]
    # Of a traceback of Python's, the last line says what happened.
    reason = lines[-1] if lines[0].endswith(_TRACEBACK) else lines[0]
    return reason[:LONGEST_REASON]

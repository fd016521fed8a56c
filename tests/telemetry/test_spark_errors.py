"""Of pages of Spark's, the line that says what happened."""

from __future__ import annotations

import pytest

from penstock.telemetry.spark_errors import LONGEST_REASON, reason_of

IN_A_BATCH = """[FOREACH_BATCH_USER_FUNCTION_ERROR] ... Traceback (most recent call last):
  File "batch_stream.py", line 60, in _batch
    self._handle(rows, number)
{end}
=== Streaming Query ===
Identifier: [id = 1]
"""
OF_JAVA = """py4j.protocol.Py4JJavaError: An error occurred while calling o12.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] No space left on device
\tat org.apache.spark.errors.Query.taskFailed(Query.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no reason"),
        ("No space left on device\nmore\n", "No space left on device"),
        (IN_A_BATCH.format(end="ValueError: odd"), "ValueError: odd"),
        (
            IN_A_BATCH.format(end=OF_JAVA),
            "org.apache.spark.SparkException: [TASK_WRITE_FAILED] No space left on device",
        ),
        ("x" * 1000, "x" * LONGEST_REASON),
    ],
)
def test_the_line_that_says_what_happened(text: str, reason: str) -> None:
    assert reason_of(RuntimeError(text)) == reason

"""Files that Spark cannot read to their end: archives that were cut, Parquet that is none.

One of them ends a batch, and would end it again at every start. So the batch is taken in without
what cannot be read, each such file becomes a record in quarantine, and the files after it are read
as always. What Spark got of a file before the damage counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

_READING = re.compile(r"Encountered error while reading file (\S+)")


def unreadable_file(error: BaseException | None) -> str:
    """The file that Spark gave up at, as it calls it; empty if it failed at something else."""
    found = _READING.search(str(error))
    return unquote(found[1].rstrip(".")) if found else ""


def files_of_last_batch(spark: SparkSession, checkpoint: str) -> list[str]:
    """The files of the batch that a checkpoint has planned last."""
    lines = spark.read.text(f"{checkpoint}/sources/0").where("value like '{%'").collect()
    entries = [json.loads(line["value"]) for line in lines]
    newest = max((entry["batchId"] for entry in entries), default=-1)
    return sorted({unquote(e["path"]) for e in entries if e["batchId"] == newest})


def unreadable_among(
    read: Callable[[Sequence[str]], DataFrame], paths: Sequence[str]
) -> tuple[str, ...]:
    """Those that cannot be read to their end; one pass over all of them for each, and one more."""
    left, found = list(paths), []
    while left:
        try:
            read(left).write.format("noop").mode("overwrite").save()
        except (PySparkException, Py4JJavaError) as error:
            name = unreadable_file(error)
            if name not in left:
                raise
            left.remove(name)
            found.append(name)
        else:
            break
    return tuple(found)

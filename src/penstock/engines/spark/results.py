"""What components without subscribers put out, as the newest whole batch left it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.commits import Commits


def newest_results(folder: Path) -> dict[str, pa.Table]:
    """Rows of the newest batch that has any, by "component/stream", in memory."""
    commits = Commits(folder)
    for number in range(commits.last, -1, -1):
        root = commits.batch(number) / "results"
        streams = sorted(path for path in root.glob("*/*") if path.is_dir())
        if streams:
            return {f"{path.parent.name}/{path.name}": _rows(path) for path in streams}
    return {}


def _rows(folder: Path) -> pa.Table:
    # Names of drafts begin with a dot.
    files = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    return pa.concat_tables(pq.ParquetFile(file).read() for file in files)

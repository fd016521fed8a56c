"""Parquet files of a store that are cut, or are none: told by name, as no failure of ours."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from penstock.errors import Finding, InputError
from penstock.telemetry.manifest import local_manifest
from penstock.telemetry.part_files import files_of_parts


@contextmanager
def naming_broken_files(root: Path) -> Iterator[None]:
    """Around what reads tables of the store in this folder."""
    if find_spec("pyarrow") is None:
        yield
        return
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # With a number it is the system's: a disk that is full, a folder that may not be read.
        if getattr(error, "errno", None) is not None or isinstance(error, io.UnsupportedOperation):
            raise
        said = str(error).strip().splitlines() or [type(error).__name__]
        message = f"cannot be read as a table of telemetry: {said[0]}"
        raise InputError(Finding(message, str(_broken_file(root) or root))) from None


def _broken_file(root: Path) -> Path | None:
    """The first file of the newest commit without a footer that can be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from penstock.telemetry.schemas import INTERNAL_TABLES

    for table, parts in sorted(local_manifest(root).parts.items()):
        if table in INTERNAL_TABLES:
            continue
        for file in files_of_parts(root, parts.values()):
            try:
                pq.read_metadata(file.path)
            except (pa.ArrowException, OSError):
                return file.path
    return None

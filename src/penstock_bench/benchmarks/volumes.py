"""Recordings of volume that benchmarks share: written once in a run of a suite, gone at its end.

Fifty million samples take minutes to write, so that whoever needs fewer, or some in a folder of
their own, gets links to files that are there.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.recordings import write_volume

_PER_FILE = 1_000_000


@dataclass(frozen=True)
class VolumeSize:
    """So many records of components × machine types."""

    records: int
    components: int
    types: int


@made_once
def volume(size: VolumeSize) -> Path:
    """A folder of Parquet files in the order of time, an even number of them."""
    place = tempfile.TemporaryDirectory(prefix="penstock-volume-")
    atexit.register(place.cleanup)
    folder = Path(place.name) / "telemetry"
    if size.records > _PER_FILE:
        say(f"writing {size.records:,} samples")
    files = 2 * max(1, size.records // (2 * _PER_FILE))
    write_volume(folder, size.records, size.components, size.types, files=files)
    return folder


@made_once
def first_half(size: VolumeSize) -> Path:
    """The first half of the files of a recording, in a folder of their own."""
    files = sorted(volume(size).iterdir())
    folder = volume(size).with_name("first-half")
    link(files[: len(files) // 2], folder)
    return folder


def newest(size: VolumeSize, records: int) -> list[Path]:
    """The last files of a recording that together have at least so many records."""
    files = sorted(volume(size).iterdir())
    number, total = 0, 0
    while total < records and number < len(files):
        number += 1
        total += rows_in(files[-number])
    return files[len(files) - number :]


def link(files: Iterable[Path], folder: Path) -> None:
    """The same files under the same names elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        os.link(file, folder / file.name)


def rows_in(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.ParquetFile(path).metadata.num_rows)

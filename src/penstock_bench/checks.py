"""What ``penstock doctor`` looks for on behalf of the harness."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.cli.doctor_checks import Check
from penstock_bench.data import data_folder


def development_data(environ: Mapping[str, str]) -> Check:
    """The recorded clusters and runs that some tests and benchmarks need."""
    folder = data_folder(environ)
    present = folder.is_dir()
    return Check(
        name="development data",
        ok=present,
        needed_for="tests on recorded clusters",
        found=str(folder) if present else f"no folder {folder}",
        remedy="set PENSTOCK_DATA to the folder with the recorded clusters",
    )

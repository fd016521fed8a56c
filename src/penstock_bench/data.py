"""Where recorded data for development and benchmarks is, on machines that have it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import InputError

VARIABLE = "PENSTOCK_DATA"


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """``$PENSTOCK_DATA``, or ``shared/data`` beside the source tree (a wheel has no such place)."""
    named = environ.get(VARIABLE)
    return Path(named) if named else Path(__file__).parents[3] / "shared" / "data"


def production_folder(cluster: str) -> Path:
    """The folder of a recorded production cluster; an error says how to get it."""
    folder = data_folder() / "production-clusters" / cluster
    if not (folder / "cluster.json").is_file():
        raise InputError(
            f"this benchmark needs the recorded cluster {cluster}; set {VARIABLE} to the folder "
            "that has production-clusters in it"
        )
    return folder


def load_file(name: str) -> Path:
    """A recorded load by the beginning of its name; an error says how to get it."""
    paths = sorted((data_folder() / "loads").glob(f"{name}-*.csv"))
    if not paths:
        raise InputError(
            f"this benchmark needs the recorded load {name}; set {VARIABLE} to the folder that has "
            "loads in it"
        )
    return paths[0]

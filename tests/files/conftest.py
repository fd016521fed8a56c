"""The recorded clusters and topologies of the development data, where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = Path(os.environ.get("PENSTOCK_DATA") or _BESIDE)
    if not folder.is_dir():
        pytest.skip(f"no development data in {folder}; PENSTOCK_DATA names another folder")
    return folder

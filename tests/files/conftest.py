"""The recorded clusters and topologies of the development data, where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock_bench.data import data_folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = data_folder()
    if not folder.is_dir():
        pytest.skip(f"no development data in {folder}; PENSTOCK_DATA names another folder")
    return folder

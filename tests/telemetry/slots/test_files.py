"""Where a store can be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.telemetry.slots.files import require_reachable


def test_a_folder_of_this_machine_is_reachable_however_it_is_written(tmp_path: Path) -> None:
    for root in (str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}"):
        require_reachable(root)


def test_an_address_that_arrow_does_not_know_is_refused_with_those_it_does() -> None:
    with pytest.raises(InputError, match=r"no store can be kept there .* s3://, gs://"):
        require_reachable("nowhere://tables")

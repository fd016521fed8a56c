"""A cluster that is too large is refused before its machines are made."""

from __future__ import annotations

import tracemalloc

import pytest

from penstock.errors import InputError
from penstock.files.cluster_file import cluster_from
from penstock.files.document import ParsedFile

_MOST_BYTES = 20_000_000


def document(*counts: int) -> ParsedFile:
    machines = [{"type": "m", "count": n, "name": f"g{i}"} for i, n in enumerate(counts)]
    fields = {"format": "penstock/cluster", "version": 1, "name": "c", "types": {"m": {}}}
    return ParsedFile("cluster.yaml", {**fields, "machines": machines}, dict)


def test_groups_are_counted_and_not_expanded():
    """Twenty groups of 100,000: two million machines would be half a gigabyte."""
    large = document(*[100_000] * 20)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"2,000,000 machines; at most 100,000 are handled"):
            cluster_from(large)
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES
    finally:
        tracemalloc.stop()


def test_the_limit_is_on_all_groups_together():
    assert len(cluster_from(document(50, 50)).machines) == 100
    with pytest.raises(InputError, match=r"100,001 machines"):
        cluster_from(document(100_000, 1))
    with pytest.raises(InputError, match="every group has count 0"):
        cluster_from(document(0, 0))

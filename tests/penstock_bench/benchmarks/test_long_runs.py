"""Measurements that take minutes are made once, whether they succeed or not."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock_bench.benchmarks.long_runs import made_once


def test_what_was_found_and_what_failed_is_not_tried_again():
    tried = []

    @made_once
    def half(number: int) -> int:
        tried.append(number)
        if number % 2:
            raise PenstockError(f"{number} is odd")
        return number // 2

    assert [half(4), half(4)] == [2, 2]
    for _ in range(2):
        with pytest.raises(PenstockError, match="3 is odd"):
            half(3)
    assert tried == [4, 3]

"""Hashes are Spark's own, so that SQL and tasks in Python choose the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.telemetry.slots.hashes import hash_text, hash_whole, places

#: One, two, three and four bytes of UTF-8.
LETTERS = "abcZ09 _-/\x00äßé€漢字🚀"


def random_texts(number: int) -> list[str]:
    """Of every length up to 100 bytes, where steps of 4, 8 and 32 bytes begin and end."""
    rng = np.random.default_rng(7)
    plain = ["x" * length for length in range(101)]
    mixed = [
        "".join(rng.choice(list(LETTERS), size=rng.integers(0, 60)))
        .encode()[:100]
        .decode("utf-8", "ignore")
        for _ in range(number)
    ]
    return [*plain, *mixed]


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def random_numbers(number: int) -> list[int]:
    rng = np.random.default_rng(8)
    edges = [0, 1, -1, 2**63 - 1, -(2**63), 1_767_225_600_000]
    return [*edges, *rng.integers(-(2**63), 2**63 - 1, number - len(edges)).tolist()]


@pytest.mark.spark
def test_hashes_of_texts_numbers_and_rows_of_them_are_those_of_spark(spark: SparkSession) -> None:
    texts = random_texts(400)
    numbers = random_numbers(len(texts))
    rows = list(zip(texts, texts[::-1], numbers, numbers[::-1], strict=True))
    frame = spark.createDataFrame(rows, "a string, b string, x bigint, y bigint").coalesce(1)
    found = frame.select(
        "a", "b", "x", "y",
        F.xxhash64("a").alias("text"),
        F.xxhash64("a", "b").alias("texts"),
        F.xxhash64("x").alias("number"),
        F.xxhash64("a", "x", "y").alias("mixed"),
        F.expr("pmod(xxhash64(a, x, y), 1000)").alias("bucket"),
    ).collect()  # fmt: skip
    assert [(r["a"], r["b"], r["x"], r["y"]) for r in found] == rows
    assert [r["text"] for r in found] == [signed(hash_text(a)) for a in texts]
    chained = [signed(hash_text(b, hash_text(a))) for a, b, _, _ in rows]
    assert [r["texts"] for r in found] == chained
    x, y = np.array(numbers, dtype=np.int64), np.array(numbers[::-1], dtype=np.int64)
    plain = hash_whole(x, np.full(len(x), 42, dtype=np.uint64))
    assert [r["number"] for r in found] == plain.view(np.int64).tolist()
    seeds = np.array([hash_text(a) for a in texts], dtype=np.uint64)
    mixed = hash_whole(y, hash_whole(x, seeds))
    assert [r["mixed"] for r in found] == mixed.view(np.int64).tolist()
    assert [r["bucket"] for r in found] == places(mixed, 1000).tolist()


def test_the_specification_says_what_no_text_and_other_texts_hash_to() -> None:
    # XXH64 with seed 0, from the specification's reference implementation.
    assert hash_text("", 0) == 0xEF46DB3751D8E999
    assert hash_text("a", 0) == 0xD24EC4F1A98C6E5B
    assert hash_text("abc", 0) == 0x44BC2CF5AD770999


def test_buckets_are_never_negative_and_about_as_full() -> None:
    numbers = np.arange(100_000)
    bucket = places(hash_whole(numbers, np.full(len(numbers), 42, dtype=np.uint64)), 10)
    counts = np.bincount(bucket, minlength=10)
    assert len(counts) == 10
    # 10,000 in each, give or take sqrt(100000 * 0.1 * 0.9) = 95.
    assert np.abs(counts - 10_000).max() < 5 * 95

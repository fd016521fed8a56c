"""How one stream is divided among the instances of its target, as fractions of each tuple.

The fractions of a copied stream are whole numbers (a copy per task); all others sum to 1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from penstock.model.arrays import FloatVector, IntVector, frozen, sum_by
from penstock.model.flat_stream import FlatStream
from penstock.model.topology import Component


def divide_stream(stream: FlatStream, target: Component, shares: FloatVector) -> FloatVector:
    """Fraction of the stream for each instance of the target.

    ``shares`` are the plan's shares of the target's instances, NaN where it has none.
    """
    instances = len(shares)
    if stream.grouping.is_copied:
        # Storm copies to every task, so an executor that holds two of them gets two.
        return task_ranges(target.tasks or instances, instances).astype(np.float64)
    if stream.grouping.is_single:
        # Storm sends it all to the task with the lowest id.
        return np.concatenate([[1.0], np.zeros(instances - 1)])
    if stream.grouping.follows_shares and not np.isnan(shares[0]):
        return shares
    if stream.grouping.is_keyed and stream.keys:
        buckets = target.tasks or instances
        by_task = key_division(stream.keys, stream.key_skew, buckets)
        owner = np.repeat(np.arange(instances), task_ranges(buckets, instances))
        return sum_by(owner, by_task, instances)
    return divide_evenly(target, instances)


def divide_evenly(component: Component, instances: int) -> FloatVector:
    """Even over tasks, so uneven over executors that hold ranges of unequal length."""
    if component.tasks is None:
        return np.full(instances, 1.0 / instances)
    return task_ranges(component.tasks, instances) / component.tasks


def task_ranges(tasks: int, executors: int) -> IntVector:
    """How many tasks each executor holds: Storm cuts the list of tasks, longer ranges first."""
    short, longer = divmod(tasks, executors)
    return np.where(np.arange(executors) < longer, short + 1, short).astype(np.int64)


@lru_cache(maxsize=512)
def key_division(keys: int, skew: float, buckets: int) -> FloatVector:
    """Fraction of a fields-grouped stream per bucket: Zipf keys dealt by a fixed hash.

    The engine's real hash of the user's real keys is unknown; a fixed mixing function gives a
    typical, repeatable imbalance.
    """
    bucket = (_key_hashes(keys) % np.uint64(buckets)).view(np.int64)
    return frozen(sum_by(bucket, key_weights(keys, skew), buckets))


@lru_cache(maxsize=65536)
def largest_bucket(keys: int, skew: float, buckets: int) -> float:
    """The largest of :func:`key_division`, remembered for many numbers of buckets."""
    return float(key_division(keys, skew, buckets).max())


@lru_cache(maxsize=4)
def key_weights(keys: int, skew: float) -> FloatVector:
    """Fraction of a stream with each key, the most frequent first, shape (keys,)."""
    weight = np.arange(1, keys + 1, dtype=np.float64) ** -skew
    weight /= weight.sum()
    return frozen(weight)


@lru_cache(maxsize=4)
def _key_hashes(keys: int) -> np.ndarray:
    return frozen(_mix(np.arange(1, keys + 1, dtype=np.uint64)))


def hottest_buckets(keys: int, skew: float, ranks: int) -> tuple[np.ndarray, FloatVector]:
    """Hashes of the most frequent keys and the fraction of the stream that each holds."""
    most = min(keys, ranks)
    return _key_hashes(keys)[:most], key_weights(keys, skew)[:most]


def _mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: neighbouring ranks land in unrelated buckets."""
    z = values * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))

"""Keys dealt to instances: by hash, and by weight where some are frequent."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.engines.spark.keys import PARTS, dealt, excess, hot_now, hot_parts, parts_of


def batch(values, kind=None):
    return pa.RecordBatch.from_arrays([pa.array(values, kind)], ["k"])


def weights(table, hot):
    """What each instance gets, worked out part by part."""
    known = dict(hot)
    cold = (1 - sum(known.values())) / (PARTS - len(known))
    found = {}
    for part, instance in enumerate(table.tolist()):
        found[instance] = found.get(instance, 0.0) + known.get(part, cold)
    return found


def test_without_hot_parts_instances_get_as_many_as_their_shares_say():
    assert np.bincount(dealt([0.5, 0.25, 0.25])).tolist() == [8192, 4096, 4096]
    assert np.bincount(dealt([1, 1, 1])).sum() == PARTS
    assert np.bincount(dealt([1, 0, 1]), minlength=3)[1] == 0


def test_hot_parts_are_dealt_by_weight_and_the_rest_makes_up_for_them():
    # 0.4 of the rows are in two parts, of which 0.24, 0.12 and 0.04 are due. The first goes to the
    # largest share, the second then to the next. Of the rest, 0.6, they get 0.35, 0.15 and 0.1.
    table = dealt([0.6, 0.3, 0.1], ((7, 0.25), (9, 0.15)))
    assert (table[7], table[9]) == (0, 1)
    found = weights(table, ((7, 0.25), (9, 0.15)))
    assert [found[i] for i in range(3)] == pytest.approx([0.6, 0.3, 0.1], abs=1e-4)


def test_a_part_that_weighs_more_than_any_share_leaves_its_instance_nothing_else():
    table = dealt([0.5, 0.3, 0.2], ((3, 0.7),))
    assert np.flatnonzero(table == 0).tolist() == [3]
    # 0.7 instead of 0.5.
    assert excess([0.5, 0.3, 0.2], table, ((3, 0.7),)) == pytest.approx(0.4)


def test_keys_that_are_all_hot_find_their_places():
    hot = tuple((part, 0.25) for part in range(4))
    found = weights(dealt([0.5, 0.5, 0.0], hot), hot)
    assert found[0] == pytest.approx(0.5)
    assert found[1] == pytest.approx(0.5)
    assert 2 not in found


def test_shares_of_rows_are_kept_whatever_keys_weigh():
    rng = np.random.default_rng(5)
    for _ in range(20):
        shares = rng.dirichlet(np.ones(int(rng.integers(2, 7)))) + 0.02
        many = 1.0 / np.arange(1, 200)
        many = many / many.sum() * 0.8
        parts = rng.choice(PARTS, 199, replace=False)
        hot = tuple((int(p), float(w)) for p, w in zip(parts, many, strict=True) if w >= 0.0005)
        largest = max(weight for _part, weight in hot)
        over = excess(shares, dealt(shares, hot), hot)
        smallest = shares.min() / shares.sum()
        # Greedy by remaining share: nobody gets more than its share by more than one part.
        assert over <= largest / smallest + 0.01
        assert over <= excess(shares, dealt(shares), hot) + 1e-9


def test_the_words_of_a_language_are_dealt_in_the_shares_of_a_plan():
    # Of words as frequent as 1/rank, hashing alone gives some instance far more than its share.
    words = [f"word-{rank}" for rank in range(1, 5001)]
    frequency = 1.0 / np.arange(1, 5001)
    frequency /= frequency.sum()
    rows = np.bincount(parts_of(batch(words)), 1e6 * frequency, PARTS).astype(int)
    shares = (90 / 170, 50 / 170, 30 / 170)
    hot = hot_now(shares, (), int(rows.sum()), hot_parts(rows))

    def worst(table):
        got = np.bincount(table, rows, 3) / rows.sum()
        return float(np.max(got / np.array(shares))) - 1

    assert worst(dealt(shares)) > 0.1
    assert worst(dealt(shares, hot)) < 0.03


def test_keys_stay_where_they_are_until_moving_them_is_worth_it():
    shares = (0.5, 0.5)
    hot = hot_now(shares, (), 100_000, [(1, 30_000), (2, 30_000)])
    assert hot == ((1, 0.3), (2, 0.3))
    # Both were in the first half of the parts: 0.6 + 0.2 = 0.8 of 0.5. Now 0.5 each.
    assert excess(shares, dealt(shares), hot) == pytest.approx(0.6, abs=1e-3)
    assert hot_now(shares, hot, 100_000, [(1, 29_000), (2, 31_000)]) == hot
    assert hot_now(shares, hot, 500, [(1, 500)]) == hot
    # Counted by two senders.
    moved = hot_now(shares, hot, 100_000, [(3, 20_000), (3, 20_000), (1, 1000)])
    assert moved == ((1, 0.01), (3, 0.4))


def test_text_hashes_alike_from_arrow_and_from_either_kind_of_pandas():
    words = ["a", "bb", "straße", "", None, "a"]
    arrow = parts_of(batch(words)).tolist()
    assert arrow[0] == arrow[5]
    for kind in (pa.large_string(), pa.string()):
        for dtype in (object, "string"):
            column = pa.Array.from_pandas(pd.Series(words, dtype=dtype), type=kind)
            assert parts_of(pa.RecordBatch.from_arrays([column], ["k"])).tolist() == arrow
    # With a second column it is another key, but again the same for the same text.
    two = pa.RecordBatch.from_pydict({"a": words, "b": [1] * 6})
    assert parts_of(two)[0] == parts_of(two)[5]


def test_a_null_among_them_leaves_numbers_where_they_are():
    alone, beside = parts_of(batch([1, 2, 3])), parts_of(batch([1, 2, None, 3], pa.int64()))
    assert beside[[0, 1, 3]].tolist() == alone.tolist()

"""Rows that are offered at a rate, whether they are taken in or not."""

import pyarrow as pa
import pytest

from penstock.engines.rate_steps import write_rate_steps
from penstock.engines.spark.sources import OfferedSource, topic_lag


def numbers(source, tickets=range(8)):
    read = pa.RecordBatch.from_arrays([pa.array(tickets, pa.int64())], names=["value"])
    return [n for rows in source.unfolded(read) for n in rows.column("value").to_pylist()]


def test_a_batch_takes_what_waits_and_the_next_one_goes_on_from_there(tmp_path):
    path = tmp_path / "rates"
    write_rate_steps(path, [(1000.0, 10.0)])
    source = OfferedSource(path, most_rows=60)
    first = source.taking(source.arrived(0, 1005.0))
    assert numbers(first) == list(range(50))
    # 70 more come, and a batch has 60 at most.
    arrived = source.arrived(50, 1012.0)
    second = source.taking(arrived)
    assert numbers(second) == list(range(50, 110))
    # The 51st came at 1,005.1 s, and after the batch 10 wait.
    assert round(arrived.waits_since_s, 6) == 1005.1
    assert source.arrived(110, 1012.0).backlog == 10


def test_the_tickets_of_later_batches_mean_the_same(tmp_path):
    write_rate_steps(tmp_path / "rates", [(0.0, 1.0)])
    source = OfferedSource(tmp_path / "rates", 100, first=7, count=13)
    assert numbers(source, range(800, 808)) == list(range(7, 20))


def test_a_batch_for_which_nothing_waits_is_empty(tmp_path):
    write_rate_steps(tmp_path / "rates", [(1000.0, 10.0)])
    source = OfferedSource(tmp_path / "rates", 60)
    arrived = source.arrived(0, 990.0)
    assert numbers(source.taking(arrived)) == []
    assert (arrived.backlog, arrived.waits_since_s) == (0.0, 990.0)


@pytest.mark.parametrize(
    ("latest", "end", "lag"),
    [
        # 70 records in two partitions, 58 of them taken.
        ('{"t": {"0": 40, "1": 30}}', '{"t": {"0": 38, "1": 20}}', (70.0, 12.0)),
        (None, '{"t": {"0": 38}}', None),
        ("null", "null", None),
        ("7", "7", None),
    ],
)
def test_what_waits_in_a_topic_is_known_by_its_offsets(latest, end, lag):
    assert topic_lag(latest, end) == lag

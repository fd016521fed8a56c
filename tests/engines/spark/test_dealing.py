"""Source rows on their way to the instances of all spouts."""

from collections import Counter

import pyarrow as pa

from penstock.engines.spark.dealing import FROM_SOURCE, Deal
from penstock.engines.spark.packets import FROM, ORDER, PACKET, TARGET, TO
from penstock.engines.spark.sources import RateSource

NUMBER = pa.schema([("value", pa.int64())])


def as_it_is(read):
    yield read


def batches(*sizes):
    start = 0
    for size in sizes:
        values = list(range(start, start + size))
        start += size
        yield pa.RecordBatch.from_pydict({"value": values}, schema=NUMBER)


def dealt(deal, *sizes, task=0):
    return pa.Table.from_batches(list(deal.dealt(batches(*sizes), task))).to_pylist()


def values(packet):
    return pa.ipc.read_record_batch(pa.py_buffer(packet[PACKET]), NUMBER).to_pydict()["value"]


def test_every_row_gets_to_one_instance_by_the_shares_of_all_spouts():
    # Two instances of one spout, one of another, which has half of the input.
    deal = Deal(as_it_is, ("clicks", "clicks", "views"), (7, 8, 9), (0.3, 0.2, 0.5))
    packets = dealt(deal, 4000, 10_000, 6000)
    counts = Counter()
    for packet in packets:
        counts[packet[TARGET], packet[TO]] += len(values(packet))
        assert packet[FROM] == FROM_SOURCE
    assert counts == {("clicks", 7): 6000, ("clicks", 8): 4000, ("views", 9): 10_000}
    assert sorted(v for packet in packets for v in values(packet)) == list(range(20_000))


def test_a_partition_made_again_is_the_same_and_another_is_told_apart():
    deal = Deal(as_it_is, ("read", "read"), (0, 1), (0.5, 0.5))
    assert dealt(deal, 5000, 25_000) == dealt(deal, 5000, 25_000)
    both = [p for task in (0, 1) for p in dealt(deal, 10_000, 10_000, 10_000, task=task)]
    orders = [p[ORDER] for p in both if p[TO] == 0]
    # A packet of 10,000 rows and one of the 5,000 that are left, twice.
    assert len(orders) == 4
    assert orders == sorted(set(orders))


def test_tickets_stand_for_the_numbers_of_their_batch():
    source = RateSource(25_000)

    def numbers(*tickets):
        read = pa.RecordBatch.from_pydict({"value": list(tickets)}, schema=NUMBER)
        return [v for rows in source.unfolded(read) for v in rows.to_pydict()["value"]]

    # Three tickets a batch; the last stands for 5,000.
    assert numbers(0, 1, 2) == list(range(25_000))
    assert numbers(5) == list(range(45_000, 50_000))
    # Every other batch is of a fifth, which the first ticket is more than enough for.
    source = RateSource(25_000, (1.0, 0.2))
    assert numbers(3, 4, 5) == list(range(25_000, 30_000))
    assert numbers(6) == list(range(50_000, 60_000))


def test_nothing_comes_of_nothing():
    assert list(Deal(as_it_is, ("read",), (0,), (1.0,)).dealt(iter([]), task=0)) == []

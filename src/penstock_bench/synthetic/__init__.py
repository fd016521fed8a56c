"""Telemetry with known truth: what a topology on a placement would report, for tests and demos."""

from penstock_bench.synthetic.batches import record_batches
from penstock_bench.synthetic.layout import streams_apart
from penstock_bench.synthetic.settings import (
    Behaviour,
    InjectedDrift,
    InjectedFaults,
    Noise,
    Recording,
    levels,
    random_walk,
)
from penstock_bench.synthetic.truth import EdgeTruth, StreamTruth, Truth, truth
from penstock_bench.synthetic.write import Written, write_json_lines, write_parquet

__all__ = [
    "Behaviour",
    "EdgeTruth",
    "InjectedDrift",
    "InjectedFaults",
    "Noise",
    "Recording",
    "StreamTruth",
    "Truth",
    "Written",
    "levels",
    "random_walk",
    "record_batches",
    "streams_apart",
    "truth",
    "write_json_lines",
    "write_parquet",
]

"""What a run adds up over its batches."""

from tests.builders import SHAPES, topology

from penstock.app.runs import RunResult
from penstock.engines.base import Batch
from penstock.model.telemetry import Sample


def test_tuples_are_counted_not_worked_out_from_a_rate():
    spout = Sample(0, 100, "linear", "low", 0, "m1", "any", "w", inputs=(), produced=3.0)
    result = RunResult(topology(SHAPES["linear"]))
    result.add(Batch(0, 0.7, (spout,)))
    # 3 / 0.7 * 0.7 is 2.9999999999999996 in floating point.
    assert result.tuples["low"] == 3

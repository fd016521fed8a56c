"""Figures that the plugin's tests print are read among Maven's other lines."""

from penstock_bench.benchmarks.storm_plugin import figures_in


def test_figures_are_found_among_other_lines():
    said = "[INFO] Tests run: 3\nthe whole plan: 12.5 ms\npenstock-figure a.b_ms 12.5\n[INFO] x\n"
    assert figures_in(said + "penstock-figure c 0.25\n") == {"a.b_ms": 12.5, "c": 0.25}

"""Where components go in a drawing, and what an SVG of ours is."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from penstock.report.charts.layers import in_order, layers

DIAMOND = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]


def test_a_diamond_has_three_layers():
    assert layers(5, DIAMOND).rows == [[0], [1, 2, 3], [4]]


def test_a_component_comes_after_its_latest_source():
    # 0 → 1 → 2 and 0 → 2: the long way decides.
    found = layers(3, [(0, 1), (1, 2), (0, 2)])
    # The short way passes the second layer, in a place of its own: number 3.
    assert [sorted(row) for row in found.rows] == [[0], [1, 3], [2]]
    assert found.ways[0, 2] == [0, 3, 2]


def test_neighbours_are_near_each_other():
    # 0 → 3 and 1 → 2: the second layer is turned round, so that no streams cross.
    assert layers(4, [(0, 3), (1, 2)]).rows == [[0, 1], [3, 2]]


def test_a_cycle_is_laid_out_too():
    found = layers(3, [(0, 1), (1, 2), (2, 0)])
    assert found.rows == [[0], [1], [2]]
    assert (2, 0) not in found.ways
    assert in_order(2, [(0, 0), (0, 1)]) == [0, 1]


def test_no_stream_at_all():
    assert layers(2, []).rows == [[0, 1]]


def test_a_picture_is_svg_with_its_words_as_words():
    pytest.importorskip("matplotlib")
    from penstock.report.charts.bars import Bar, Mark, bars_svg
    from penstock.report.charts.canvas import standalone

    name = '<b> $x^2 & "quoted" id="7"'
    svg = bars_svg([Bar(name, 3.0, "three")], [Mark(4.0, "four")], "tuples/s", 880)
    assert "var(--ink)" in svg
    root = ElementTree.fromstring(standalone(svg, "a & b"))
    assert "var(" not in standalone(svg, "")
    words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {name, "three", "four", "tuples/s", "a & b"} <= words

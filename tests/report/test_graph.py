"""The graph of a topology: boxes hold their words, nothing covers anything else."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.report.charts.graph_layout import PADDING, Box, Drawing, Edge, Node, arranged
from penstock.report.text_width import cut, text_width

#: The clickstream case: two spouts, a fan-out, a join, two streams that pass a layer.
CLICKS = [(0, 2), (1, 2), (2, 5), (2, 3), (3, 4), (4, 6), (4, 5), (5, 6)]
NAMES = ["web-log", "app-events", "parse", "bot-filter", "enrich", "sessionize", "sink-db"]
PAGE, PHONE = 880, 320


def nodes(names=NAMES, rate="363,494/s", count="×448") -> list[Node]:
    return [Node(name, (rate, count, "100 % full"), 1.0) for name in names]


def edges(ends=CLICKS, label="327,145/s") -> list[Edge]:
    return [Edge(a, b, label, 1.0) for a, b in ends]


def numbers_fit(drawn_nodes: list[Node], drawing: Drawing, size: float) -> None:
    for node, box in zip(drawn_nodes, drawing.boxes, strict=True):
        widest = max(text_width(line, size - 2) for line in node.lines)
        assert widest <= box.width - 2 * PADDING


@pytest.mark.parametrize("rate", ["9/s", "363,494/s", "1,641,640,336/s", "123,456,789,012/s"])
@pytest.mark.parametrize(("width", "size"), [(PAGE, 12.0), (PHONE, 11.0)])
def test_a_box_is_as_wide_as_its_numbers(rate, width, size):
    drawing = arranged(nodes(rate=rate), edges(), width, size, is_phone=width == PHONE)
    assert drawing is not None
    numbers_fit(nodes(rate=rate), drawing, size)
    assert max(box.left + box.width for box in drawing.boxes) <= width


def test_a_short_name_is_never_cut_and_a_long_one_makes_the_box_wider():
    short, long = (
        arranged(nodes(["a", name]), edges([(0, 1)]), PAGE, 12.0, is_phone=False)
        for name in ("parse", "deserialize-and-validate")
    )
    assert short is not None
    assert long is not None
    room = long.boxes[1].width - 2 * PADDING
    assert cut("deserialize-and-validate", room, 12.0, bold=True) == "deserialize-and-validate"
    assert long.boxes[1].width > short.boxes[1].width


def test_a_topology_that_is_too_wide_from_left_to_right_goes_from_top_to_bottom():
    chain, large = [(0, 1), (1, 2), (2, 3), (3, 4)], "123,456,789,012/s"
    few = arranged(nodes(NAMES[:5]), edges(chain), PAGE, 12.0, is_phone=False)
    many = arranged(nodes(NAMES[:5], large), edges(chain, large), PAGE, 12.0, is_phone=False)
    assert few is not None
    assert many is not None
    assert [b.left for b in few.boxes] == sorted(b.left for b in few.boxes)
    assert len({b.top for b in few.boxes}) == 1
    assert [b.top for b in many.boxes] == sorted(b.top for b in many.boxes)
    assert len({round(b.left + b.width / 2) for b in many.boxes}) == 1


@pytest.mark.parametrize(("width", "size"), [(PAGE, 12.0), (PHONE, 11.0)])
def test_labels_of_streams_cover_neither_boxes_nor_each_other(width, size):
    drawing = arranged(nodes(), edges(), width, size, is_phone=width == PHONE)
    assert drawing is not None
    for one, other in combinations([*drawing.boxes, *drawing.labels], 2):
        assert not one.touches(other)


def test_what_does_not_fit_on_the_page_is_no_picture():
    # Nine spouts of a width of at least 36 pixels each, beside each other, on a phone.
    star = [(i, 9) for i in range(9)]
    assert arranged(nodes("abcdefghij"), edges(star), PHONE, 11.0, is_phone=True) is None


topologies = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=14, unique=True),
        st.integers(0, 10**12),
    )
)


@given(topologies)
def test_any_drawing_is_on_the_page_and_no_box_covers_another(drawn):
    count, ends, rate = drawn
    own = nodes([f"component-{i}" for i in range(count)], rate=f"{rate:,}/s")
    for width, size in ((PAGE, 12.0), (PHONE, 11.0)):
        drawing = arranged(own, edges(ends, f"{rate:,}/s"), width, size, is_phone=width == PHONE)
        if drawing is None:
            continue
        numbers_fit(own, drawing, size)
        page = Box(0, 0, width + 0.01, drawing.height)
        for box in drawing.boxes:
            assert page.left <= box.left <= box.left + box.width <= page.width
            assert page.top <= box.top <= box.top + box.height <= page.height
        assert not any(one.touches(other) for one, other in combinations(drawing.boxes, 2))


@pytest.mark.parametrize("width", [PAGE, PHONE])
@pytest.mark.parametrize("spouts", [2, 12])
def test_a_picture_has_every_number_in_full(width, spouts):
    """Twelve spouts are too many for layers: then it is a list."""
    pytest.importorskip("matplotlib")
    from penstock.report.charts.graph import graph_svg

    names = [f"kafka-payments-card-transactions-eu-{i}" for i in range(spouts)] + ["sink"]
    drawn = nodes(names, rate="1,641,640,336/s", count="×12,345")
    svg = graph_svg(drawn, edges([(i, spouts) for i in range(spouts)]), width)
    words = [text.text or "" for text in ElementTree.fromstring(svg).iter("text")]
    together = " ".join(words)
    assert together.count("1,641,640,336/s") == spouts + 1
    assert together.count("×12,345") == spouts + 1
    assert all("kafka" in text for text in words if "…" in text)


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize(
    "words", ["363,494/s", "×448", "web-log", "1,641,640,336/s", "ScoreWithMMMWWW", "100 % full"]
)
def test_words_are_measured_as_matplotlib_does(words, bold):
    pytest.importorskip("matplotlib")
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=100)
    inked = TextPath((0, 0), words, prop=font).get_extents().x1
    # The ink ends a little before the advance of the last letter.
    assert inked <= text_width(words, 100, bold=bold) <= 1.08 * inked + 12


def test_a_long_name_loses_its_middle():
    assert cut("short", 100) == "short"
    told = cut("a" * 50 + "z" * 50, 100, 10)
    assert 90 < text_width(told, 10) <= 100
    assert told.startswith("aaaa")
    assert told.endswith("zzz")
    assert told.count("…") == 1


@given(st.text(max_size=60), st.floats(40, 400))
def test_a_cut_name_is_never_wider_than_asked(name, pixels):
    assert text_width(cut(name, pixels, 6.0), 6.0) <= pixels

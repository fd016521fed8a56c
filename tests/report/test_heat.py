"""Heat maps: machines by type, with names, racks and sizes, and what a colour means."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from tests.builders import cluster, place, profile, topology

from penstock.app import reports
from penstock.app.report_options import ReportOptions
from penstock.model.plan import Plan
from penstock.model.problem import build
from penstock.planning.machine_use import machine_size
from penstock.report.charts.canvas import HEAT, OVER
from penstock.report.charts.heat import MOST_LINES, Gauge, HeatMachine, heat_svg
from penstock.report.charts.heat_parts import ink_on
from penstock.report.page import Paragraph
from penstock.report.page.wording import words as paragraph_words
from penstock.report.plan_report.machines import machines as machines_section

pytest.importorskip("matplotlib")

SIZES = {"arm": "3,200 CPU points, 65,536 MB", "xeon": "800 CPU points, 32,768 MB"}
PAGE, PHONE = 880, 320


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter("text")]


def interleaved(count: int, *, idle: bool = False) -> list[HeatMachine]:
    """Machines of two types in turn, each type in a rack of its own."""
    return [
        HeatMachine(f"{kind}-{number}", kind, f"rack-of-{kind}", idle and kind == "arm")
        for number in range(1, count + 1)
        for kind in ("xeon", "arm")
    ]


def drawn(machines: list[HeatMachine], width: int = PAGE, part: float = 0.5) -> list[str]:
    return words(heat_svg(machines, SIZES, [Gauge("CPU", [part] * len(machines))], width))


@pytest.mark.parametrize("width", [PAGE, PHONE])
@pytest.mark.parametrize("count", [4, MOST_LINES])
def test_machines_are_grouped_by_type_with_rack_and_size(width, count):
    """Four of each have a line each, thirty of each are a field."""
    told = drawn(interleaved(count), width)
    assert [word for word in told if word in SIZES] == ["xeon", "arm"]
    together = " ".join(told)
    assert f"{count} machines in rack-of-arm" in together
    assert all(f"each {size}" in together for size in SIZES.values())


def test_lines_have_names_in_the_order_of_their_groups():
    told = [word for word in drawn(interleaved(2)) if "-" in word and "rack" not in word]
    assert told == ["xeon-1", "xeon-2", "arm-1", "arm-2"]


def test_a_rack_is_beside_the_name_where_a_type_has_several():
    told = drawn([HeatMachine("a", "arm", "r1"), HeatMachine("b", "arm", "r2")])
    assert {"a (r1)", "b (r2)"} <= set(told)
    assert any(word.startswith("2 machines in 2 racks") for word in told)


def test_a_field_names_its_machines_and_their_range():
    assert f"arm-1 to arm-{MOST_LINES}: 50 %" in drawn(interleaved(MOST_LINES))


@pytest.mark.parametrize("width", [PAGE, PHONE])
@pytest.mark.parametrize("count", [4, MOST_LINES])
def test_a_key_says_what_colours_mean(width, count):
    assert {"idle 0 %", "100 % full", "more than the machine has"} <= set(
        drawn(interleaved(count), width)
    )


def test_idle_machines_are_one_line_without_cells():
    told = drawn(interleaved(4, idle=True))
    assert "4 idle: arm-1 to arm-4" in told
    assert told.count("50 %") == 4  # the four that are in use


@pytest.mark.parametrize("width", [PAGE, PHONE])
def test_sizes_are_never_cut(width):
    told = drawn([HeatMachine("a", "arm", "a-very-long-name-of-a-rack-" * 6)], width)
    assert any(SIZES["arm"] in word for word in told)
    assert any("…" in word for word in told)


def test_letters_stand_out_from_every_colour():
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    for colour in [*colormaps[HEAT](np.linspace(0, 1, 101)), to_rgb(OVER)]:
        assert _contrast(colour, to_rgb(ink_on(colour))) >= 4.5  # WCAG 2.1, level AA


def _contrast(one, other) -> float:
    def light(colour) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_size_of_a_machine_in_words():
    many = {"cpu_points": 1600.0, "core_points": 100.0, "memory_mb": 65536.0}
    small, large = cluster(M1=1, M2=1, types={"M2": many}).types
    assert machine_size(small) == "100 CPU points"
    assert machine_size(large) == "1,600 CPU points (100 per thread), 65,536 MB"


def test_a_report_lists_machines_in_use_and_folds_the_others():
    problem = build(topology("a>b"), cluster(M1=9), profile(a=1.0, b=1.0))
    plan = Plan(problem, place(problem, "a M1-1", "b M1-2"), "hand")
    found = reports.report_on_plan(plan, ReportOptions(schedulers=(), simulate=False))
    section = machines_section(found)
    told = [paragraph_words(block) for block in section.blocks if isinstance(block, Paragraph)]
    assert told == ["7 machines idle: M1-3 to M1-9."]
    (listed,) = [b for b in section.blocks if getattr(b, "caption", "").startswith("Every machine")]
    assert [row[0] for row in listed.rows] == ["M1-1", "M1-2"]

"""A simulation over time, as SVG: rates, latency, queues and the CPU of every machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from penstock.report.numbers import plain
from penstock.report.svg import COLOURS, FAINT, WIDTH, document, text
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Replace

_LEFT, _RIGHT, _TOP = 80, 24, 56
_HEIGHT, _GAP = 120, 44
_STRIP = 9
#: Of more machines only the busiest are drawn.
_MOST_STRIPS = 40

Line = tuple[str, Sequence[float]]


def simulation_svg(result: SimResult) -> str:
    """Four panels over the same time."""
    moments = result.over_time
    times = [one.until_s for one in moments]
    panels: list[tuple[str, list[Line]]] = [
        (
            "tuples/s",
            [
                ("offered", [sum(t.offered_per_s for t in one.topologies) for one in moments]),
                ("completed", [one.completed_per_s for one in moments]),
            ],
        ),
        (
            "latency, ms",
            [
                ("p50", [max(t.latency_p50_ms for t in one.topologies) for one in moments]),
                ("p99", [max(t.latency_p99_ms for t in one.topologies) for one in moments]),
            ],
        ),
        (
            "tuples present",
            [
                (label, [one.components[c].present for one in moments])
                for c, label in enumerate(result.problem.labels[: len(COLOURS)])
            ],
        ),
    ]
    parts = [
        text(16, 28, f"{result.problem.title}, scenario {result.scenario.name}", size=16,
             weight="bold")
    ]  # fmt: skip
    y = _TOP
    for title, lines in panels:
        parts += _panel(y, title, times, lines)
        y += _HEIGHT + _GAP
    strips, height = _strips(result, y, times)
    bottom = y + height
    parts += [*strips, *_changes(result, times, bottom), *_axis(times, bottom)]
    return document(int(bottom + 36), parts)


def _x(times: Sequence[float], at_s: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * at_s / times[-1]


def _panel(y: float, title: str, times: Sequence[float], lines: Sequence[Line]) -> list[str]:
    known = [value for _, values in lines for value in values if isfinite(value)]
    most = max([*known, 1e-12])
    parts = [text(_LEFT, y - 8, title, size=11, fill=FAINT)]
    top = f"{most:,.0f}" if most >= 1000 else plain(most, 3)
    parts.append(text(_LEFT - 6, y + 10, top, size=11, fill=FAINT, anchor="end"))
    parts.append(text(_LEFT - 6, y + _HEIGHT, "0", size=11, fill=FAINT, anchor="end"))
    parts.append(
        f'<rect x="{_LEFT}" y="{y}" width="{WIDTH - _LEFT - _RIGHT}" height="{_HEIGHT}" '
        'fill="none" stroke="#cccccc"/>'
    )
    for number, (name, values) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        for stretch in _stretches(times, values):
            points = " ".join(
                f"{_x(times, t):.1f},{y + _HEIGHT - _HEIGHT * v / most:.1f}" for t, v in stretch
            )
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            )
        parts.append(text(_LEFT + 130 + 100 * number, y - 8, name, size=11, fill=colour))
    return parts


def _stretches(times: Sequence[float], values: Sequence[float]) -> list[list[tuple[float, float]]]:
    """The line without the moments at which nothing was measured."""
    found: list[list[tuple[float, float]]] = [[]]
    for pair in zip(times, values, strict=True):
        if isfinite(pair[1]):
            found[-1].append(pair)
        elif found[-1]:
            found.append([])
    return [stretch for stretch in found if stretch]


def _strips(result: SimResult, y: float, times: Sequence[float]) -> tuple[list[str], float]:
    """CPU of each machine as a strip, darker the busier."""
    over_time = result.utilisation_over_time
    mean = over_time.mean(axis=0)
    used = np.flatnonzero(mean > 0)
    if len(used) > _MOST_STRIPS:
        used = np.sort(used[np.argsort(-mean[used], kind="stable")[:_MOST_STRIPS]])
    parts = [text(_LEFT, y - 8, "CPU of each machine, white 0 to blue 100 %", size=11, fill=FAINT)]
    # At most as many boxes as there are pixels to tell apart.
    step = max(1, len(times) // 400)
    for row, m in enumerate(used.tolist()):
        top = y + row * _STRIP
        name = result.problem.cluster.machines[m].name
        if len(used) <= 16 or row % 4 == 0:
            parts.append(text(_LEFT - 6, top + _STRIP - 1, name, size=9, fill=FAINT, anchor="end"))
        for k in range(0, len(times), step):
            part = float(over_time[k : k + step, m].mean())
            start = times[k - 1] if k else 0.0
            end = times[min(k + step, len(times)) - 1]
            left, right = _x(times, start), _x(times, end)
            parts.append(
                f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" '
                f'height="{_STRIP - 1}" fill="{COLOURS[0]}" fill-opacity="{min(part, 1.0):.2f}"/>'
            )
    return parts, len(used) * _STRIP


def _changes(result: SimResult, times: Sequence[float], bottom: float) -> list[str]:
    """A dashed line where something changes."""
    parts = []
    for change in result.scenario.changes:
        at_s = change.at_s + (change.pause_s if isinstance(change, Replace) else 0.0)
        if at_s > times[-1]:
            continue
        x = _x(times, at_s)
        word = type(change).__name__.lower()
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#111111" '
            'stroke-dasharray="3 3"/>'
        )
        parts.append(text(x + 3, _TOP + 10, word, size=10))
    return parts


def _axis(times: Sequence[float], bottom: float) -> list[str]:
    return [
        text(_x(times, part * times[-1]), bottom + 16, f"{part * times[-1]:.4g} s", size=11,
             fill=FAINT, anchor="middle")
        for part in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]  # fmt: skip

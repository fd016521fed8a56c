"""A picture of a comparison, as SVG: each scheduler's rate beside the bound, and its costs."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.report.facts import Facts
from penstock.report.numbers import percent, plain, rate, seconds
from penstock.report.svg import COLOURS, FAINT, INK, document, text

_LEFT = 110
_BAR_WIDTH = 380
_ROW = 30
_TOP = 84
_COLUMNS = (
    ("of bound", lambda f: percent(None if f.gap is None else 1 - f.gap)),
    ("machines", lambda f: str(f.machines_used)),
    ("remote", lambda f: percent(_remote(f), 0)),
    ("latency ms", lambda f: plain(f.path_latency_ms, 3)),
    ("watts", lambda f: plain(f.watts, 4)),
    ("time", lambda f: seconds(f.seconds_to_plan)),
)
_COLUMN = 74


def comparison_svg(rows: Sequence[Facts], title: str) -> str:
    """One bar per scheduler; the dashed line is what no plan can exceed."""
    height = _TOP + _ROW * len(rows) + 24
    most = max([_total(row) or 0.0 for row in rows] + [_bound(rows) or 0.0, 1e-300])
    parts = [text(16, 28, title, size=16, weight="bold")]
    parts.append(text(_LEFT, 62, "sustainable rate, tuples/s", size=11, fill=FAINT))
    for i, (name, _) in enumerate(_COLUMNS):
        parts.append(text(_column(i), 62, name, size=11, fill=FAINT, anchor="end"))
    for i, row in enumerate(rows):
        parts += _row(row, _TOP + i * _ROW, most)
    bound = _bound(rows)
    if bound:
        x = _LEFT + _BAR_WIDTH * bound / most
        bottom = _TOP + _ROW * len(rows)
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 10}" x2="{x:.1f}" y2="{bottom}" '
            'stroke="#111111" stroke-dasharray="4 3"/>'
        )
        parts.append(text(x, bottom + 14, f"bound {rate(bound)}", size=11, anchor="end"))
    return document(height, parts)


def _row(row: Facts, y: int, most: float) -> list[str]:
    total = _total(row)
    parts = [text(_LEFT - 8, y + 12, row.scheduler, anchor="end")]
    if total is None:
        words = "no plan" if not row.placed else "placed by requests"
        return [*parts, text(_LEFT, y + 12, words, fill="#666666")]
    width = _BAR_WIDTH * total / most
    # A plan that breaks a limit is drawn hollow: its rate is not to be had.
    fill = "#ffffff" if row.violations else COLOURS[0]
    parts.append(
        f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="17" fill="{fill}" '
        f'stroke="{COLOURS[0]}"/>'
    )
    inside = width > 90 and not row.violations
    x = _LEFT + width - 6 if inside else _LEFT + width + 6
    label = rate(total) + (" (breaks limits)" if row.violations else "")
    colour, anchor = ("#ffffff", "end") if inside else (INK, "start")
    parts.append(text(x, y + 13, label, fill=colour, anchor=anchor))
    for i, (_, cell) in enumerate(_COLUMNS):
        parts.append(text(_column(i), y + 13, cell(row), anchor="end"))
    return parts


def _column(i: int) -> int:
    return _LEFT + _BAR_WIDTH + 10 + (i + 1) * _COLUMN


def _total(row: Facts) -> float | None:
    return sum(row.rate_per_s.values()) if row.rate_per_s else None


def _bound(rows: Sequence[Facts]) -> float | None:
    """The bound in the unit of the bars: topologies' rates added up."""
    for row in rows:
        total = _total(row)
        if total and row.scale and row.bound_scale:
            return row.bound_scale * total / row.scale
    return None


def _remote(row: Facts) -> float | None:
    return None if row.network_mix is None else 1 - row.network_mix["same process"]

"""A picture of who runs where, as SVG: one box per machine, filled by its components' CPU.

The legend and the titles of the segments say the same as the colours in words and numbers.
"""

from __future__ import annotations

from itertools import groupby
from xml.sax.saxutils import escape

from penstock.model.plan import Plan
from penstock.report.loads import MachineUse, machine_uses
from penstock.report.numbers import percent, rate
from penstock.report.svg import COLOURS, FAINT, WIDTH, document, text

_MARGIN = 16
_TYPE_LABEL = 84
_BOX = (46, 64)
_GAP = 8
_ROW = 34


def placement_svg(plan: Plan) -> str:
    """The whole picture; a string that is a complete SVG file."""
    uses = machine_uses(plan)
    labels = plan.problem.labels
    parts: list[str] = []
    y = _header(parts, plan)
    y = _legend(parts, plan, labels, y)
    for kind, group in groupby(sorted(uses, key=lambda use: use.type), key=lambda use: use.type):
        y = _type_row(parts, kind, list(group), labels, y)
    height = y + _MARGIN
    return document(height, parts)


def colour(component: int) -> str:
    return COLOURS[component % len(COLOURS)]


def _header(parts: list[str], plan: Plan) -> int:
    title = f"{plan.problem.title} on {plan.problem.cluster.name}, planned by {plan.scheduler}"
    parts.append(text(_MARGIN, 28, title, size=16, weight="bold"))
    predicted = plan.predicted
    if predicted.rate_per_s:
        rates = ", ".join(f"{name} {rate(value)}" for name, value in predicted.rate_per_s)
        line = f"carries {rates} tuples/s"
        if predicted.gap is not None:
            line += f"; {percent(predicted.gap)} below what no plan can exceed"
        parts.append(text(_MARGIN, 48, line))
        parts.append(text(_MARGIN, 66, f"limited by {predicted.limited_by}", fill=FAINT))
    return 84


def _legend(parts: list[str], plan: Plan, labels: tuple[str, ...], y: int) -> int:
    counts = plan.placement.counts(len(labels))
    x = _MARGIN
    for c, label in enumerate(labels):
        words = f"{label} ×{counts[c]}"
        width = 26 + 7 * len(words)
        if x + width > WIDTH - _MARGIN:
            x, y = _MARGIN, y + 20
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour(c)}"/>')
        parts.append(text(x + 17, y + 10, words))
        x += width
    return y + _ROW


def _type_row(
    parts: list[str], kind: str, uses: list[MachineUse], labels: tuple[str, ...], y: int
) -> int:
    """All machines of one type, wrapped over as many lines as they need."""
    width, height = _BOX
    per_line = (WIDTH - 2 * _MARGIN - _TYPE_LABEL) // (width + _GAP)
    busy = [use for use in uses if use.slices]
    parts.append(text(_MARGIN, y + 14, kind, weight="bold"))
    parts.append(text(_MARGIN, y + 30, f"{len(busy)} of {len(uses)} used", fill=FAINT, size=10))
    for i, use in enumerate(uses):
        column, line = i % per_line, i // per_line
        x = _MARGIN + _TYPE_LABEL + column * (width + _GAP)
        _machine_box(parts, use, labels, x, y + line * (height + 2 * _GAP + 14))
    lines = -(-len(uses) // per_line)
    return y + lines * (height + 2 * _GAP + 14) + 10


def _machine_box(
    parts: list[str], use: MachineUse, labels: tuple[str, ...], x: int, y: int
) -> None:
    width, height = _BOX
    parts.append(
        f"<g><title>{escape(_words(use, labels))}</title>"
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#f2f2f2" stroke="#666666"/>'
    )
    bottom = float(y + height)
    for part in use.slices:
        tall = height * min(part.cpu_points / use.capacity_points, 1.0)
        bottom -= tall
        parts.append(
            f'<rect x="{x + 1}" y="{bottom:.1f}" width="{width - 2}" height="{tall:.1f}" '
            f'fill="{colour(part.component)}" stroke="#ffffff" stroke-width="0.6"/>'
        )
    parts.append("</g>")
    label = f"{100 * use.utilisation:.0f} %" if use.slices else "idle"
    parts.append(text(x + width // 2, y + height + 11, label, size=10, anchor="middle"))


def _words(use: MachineUse, labels: tuple[str, ...]) -> str:
    who = ", ".join(
        f"{labels[s.component]} ×{s.instances} ({s.cpu_points:.1f} points)" for s in use.slices
    )
    return f"{use.name}: {use.cpu_points:.1f} of {use.capacity_points:g} points; {who or 'idle'}"

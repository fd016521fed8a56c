"""A picture of who runs where, as SVG: one box per machine in use, filled by its components' CPU.

Machines stand by type and rack, under their names; each type says how large its machines are. The
legend and the titles of the boxes say the same as the colours in words and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from penstock.model.cluster import Cluster
from penstock.model.plan import Plan
from penstock.planning.numbers import count, counted, percent, plain, points, rate
from penstock.report.folding import name_ranges
from penstock.report.loads import MachineUse, machine_size, machine_uses
from penstock.report.svg import COLOURS, FAINT, WIDTH, document, text
from penstock.report.text_width import cut, text_width

_MARGIN = 16
_INNER = WIDTH - 2 * _MARGIN
_SMALL = 10
#: Widths of a machine's box, and the column with the names of racks.
_NARROWEST, _WIDEST = 46.0, 120.0
_RACK = 84
_BOX_HEIGHT = 56
_GAP = 8
_LONGEST_LABEL = 260.0


def placement_svg(plan: Plan) -> str:
    """The whole picture; a string that is a complete SVG file."""
    uses = machine_uses(plan)
    labels = plan.problem.labels
    parts: list[str] = []
    y = _header(parts, plan)
    y = _legend(parts, plan, labels, y)
    for kind in dict.fromkeys(use.type for use in uses):
        mine = [use for use in uses if use.type == kind]
        y = _type_heading(parts, plan.problem.cluster, kind, mine, y)
        longest = max(text_width(use.name, _SMALL) for use in mine) + 2
        box = min(max(longest, _NARROWEST), _WIDEST)
        for rack in dict.fromkeys(use.rack for use in mine):
            y = _rack_row(parts, rack, [use for use in mine if use.rack == rack], labels, y, box)
        y += 6
    return document(int(y) + _MARGIN, parts)


def colour(component: int) -> str:
    """One of eight colours, then the same ones darker and lighter."""
    round_, place = divmod(component, len(COLOURS))
    shade = (1.0, 0.6, 1.5)[round_ % 3]
    return "#" + "".join(
        f"{min(255, round(shade * int(COLOURS[place][i : i + 2], 16))):02X}" for i in (1, 3, 5)
    )


def _header(parts: list[str], plan: Plan) -> float:
    title = f"{plan.problem.title} on {plan.problem.cluster.name}, planned by {plan.scheduler}"
    parts.append(text(_MARGIN, 28, cut(title, _INNER, 16, bold=True), size=16, weight="bold"))
    predicted = plan.predicted
    if not predicted.rate_per_s:
        return 48
    rates = ", ".join(f"{name} {rate(value)}" for name, value in predicted.rate_per_s)
    line = f"carries {rates} tuples/s"
    if predicted.gap is not None:
        line += f"; gap to bound {percent(predicted.gap)}"
    parts.append(text(_MARGIN, 48, cut(line, _INNER)))
    parts.append(text(_MARGIN, 66, cut(f"limited by {predicted.limited_by}", _INNER), fill=FAINT))
    return 84


def _legend(parts: list[str], plan: Plan, labels: tuple[str, ...], y: float) -> float:
    counts = plan.placement.counts(len(labels))
    x = float(_MARGIN)
    for c, label in enumerate(labels):
        words = f"{cut(label, _LONGEST_LABEL)} ×{counts[c]:,}"
        width = 32 + text_width(words, 12)
        if x + width > WIDTH - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + 20
        fill = f'fill="{colour(c)}" stroke="#666666"'
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="12" height="12" {fill}/>')
        parts.append(text(x + 17, y + 10, words))
        x += width
    return y + 28


def _type_heading(
    parts: list[str], cluster: Cluster, kind: str, uses: Sequence[MachineUse], y: float
) -> float:
    busy = sum(1 for use in uses if use.slices)
    size = machine_size(cluster.types[cluster.type_names[kind]])
    about = f"{counted(len(uses), 'machine')}, {busy:,} in use; each {size}"
    name = cut(kind, _INNER - text_width(about, 12) - 12, 13, bold=True)
    parts.append(text(_MARGIN, y + 14, name, size=13, weight="bold"))
    parts.append(text(_MARGIN + text_width(name, 13, bold=True) + 10, y + 14, about, fill=FAINT))
    return y + 24


def _rack_row(
    parts: list[str],
    rack: str,
    uses: Sequence[MachineUse],
    labels: tuple[str, ...],
    y: float,
    box: float,
) -> float:
    """The machines of one type in one rack, wrapped over as many lines as they need."""
    parts.append(text(_MARGIN, y + 14, cut(rack, _RACK - 10, 12)))
    busy = [use for use in uses if use.slices]
    per_line = max(1, int((_INNER - _RACK + _GAP) // (box + _GAP)))
    height = _BOX_HEIGHT + 30
    for i, use in enumerate(busy):
        x = _MARGIN + _RACK + (i % per_line) * (box + _GAP)
        _machine_box(parts, use, labels, x, y + (i // per_line) * height, box)
    y += height * -(-len(busy) // per_line)
    idle = [use.name for use in uses if not use.slices]
    if idle:
        told = cut(f"{len(idle):,} idle: {name_ranges(idle)}", _INNER - _RACK)
        parts.append(text(_MARGIN + _RACK, y + 14, told, fill=FAINT))
        y += 22
    return y + 4


def _machine_box(
    parts: list[str], use: MachineUse, labels: tuple[str, ...], x: float, y: float, width: float
) -> None:
    parts.append(
        f"<g><title>{escape(_words(use, labels))}</title>"
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_BOX_HEIGHT}" fill="#f2f2f2" '
        f'stroke="#666666"/>'
    )
    bottom = y + _BOX_HEIGHT
    for part in use.slices:
        tall = _BOX_HEIGHT * min(part.cpu_points / use.capacity_points, 1.0)
        bottom -= tall
        parts.append(
            f'<rect x="{x + 1:g}" y="{bottom:.1f}" width="{width - 2:g}" height="{tall:.1f}" '
            f'fill="{colour(part.component)}" stroke="#ffffff" stroke-width="0.6"/>'
        )
    parts.append("</g>")
    middle, low = x + width / 2, y + _BOX_HEIGHT
    name = cut(use.name, width, _SMALL)
    parts.append(text(middle, low + 11, name, size=_SMALL, anchor="middle"))
    load = f"{100 * use.utilisation:.0f} %"
    parts.append(text(middle, low + 22, load, size=_SMALL, anchor="middle", fill=FAINT))


def _words(use: MachineUse, labels: tuple[str, ...]) -> str:
    who = ", ".join(
        f"{labels[s.component]} ×{count(s.instances)} ({points(s.cpu_points)} points)"
        for s in use.slices
    )
    cpu = f"{points(use.cpu_points)} of {plain(use.capacity_points)} points"
    return f"{use.name} ({use.type}, {use.rack}): {cpu}; {who}"

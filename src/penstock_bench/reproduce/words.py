"""Declared and found numbers as they stand on the page."""

from __future__ import annotations

from penstock.report.page import Cell, Number, Source, Tag, Tone
from penstock.report.page.document import MARKS
from penstock.report.page.wording import amount
from penstock_bench.reproduce.judged import JudgedRow
from penstock_bench.reproduce.paper_fields import KeptMeasure, Published, Row
from penstock_bench.reproduce.verdict import Verdict

TONES = {
    Verdict.REPRODUCED: Tone.GOOD,
    Verdict.SAME_DIRECTION: Tone.FAIR,
    Verdict.NOT_REPRODUCED: Tone.BAD,
    Verdict.NOT_JUDGED: Tone.PLAIN,
}
#: Figures by name: what they are called in a heading, and their unit.
_HEADINGS = {
    "rate_per_s": ("rate", "tuples/s"),
    "throughput_per_s": ("throughput", "tuples/s"),
    "simulated.throughput_per_s": ("simulated throughput", "tuples/s"),
    "throughput_per_node": ("throughput per node", "tuples/s"),
    "mean_utilisation": ("mean utilisation", "%"),
    "weighted_utilisation": ("weighted utilisation", "%"),
    "total_utilisation": ("utilisation, added up", "%"),
    "simulated.mean_utilisation": ("simulated utilisation", "%"),
    "gap": ("gap to bound", "%"),
    "proven": ("proven optimal", ""),
    "machines_used": ("machines used", ""),
    "machines_idle": ("machines without work", ""),
    "nodes_with_masters": ("nodes, masters too", ""),
    "limited_by": ("limited by", ""),
    "worst_error_points": ("worst error", "points"),
    "mean_error_points": ("mean error", "points"),
    "most_per_s": ("most", "tuples/s"),
    "e": ("e", "points per tuple/s"),
    "met": ("met", "points"),
    "mean_network_distance": ("network distance", ""),
    "simulated.watts": ("power", "W"),
    "simulated.watts_all_awake": ("power, all awake", "W"),
    "simulated.latency_ms": ("latency", "ms"),
    "simulated.execution_ms": ("execution", "ms"),
    "simulated.processing_ms": ("processing", "ms"),
}
#: Figures that are parts of one and are shown in percent.
_PARTS = frozenset(name for name, (_words, unit) in _HEADINGS.items() if unit == "%")
#: Figures that count things.
_COUNTS = ("machines", "nodes", "instances", "kind.", "readings")
_ENDINGS = {".completed_per_s": "tuples/s", ".stay_ms": "ms"}


def published_cell(row: Row) -> Cell:
    """What the paper says, marked as published."""
    published = row.published
    if published.value is not None:
        return Number(published.value, row.unit, Source.PUBLISHED)
    return f"{published_words(published, row.unit)}{MARKS[Source.PUBLISHED]}"


def published_words(published: Published, unit: str) -> str:
    if published.sign is not None:
        return published.sign
    if published.value is not None:
        return amount(published.value, unit)
    if published.values:
        return " / ".join(_short(value, unit) for value in published.values)
    low, high = (
        None if end is None else amount(end, unit) for end in (published.least, published.most)
    )
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def ours_cell(judged: JudgedRow) -> Cell:
    """Our numbers; those from a kept file are marked as given."""
    numbers = [value for reading in judged.ours for value in reading.values]
    if not numbers:
        return "no plan" if any(reading.no_plan for reading in judged.ours) else None
    kept = isinstance(judged.row.measure, KeptMeasure)
    if len(numbers) == 1:
        source = Source.GIVEN if kept else Source.RUN
        return Number(numbers[0], judged.row.unit, source)
    return " / ".join(_short(value, judged.row.unit) for value in numbers)


def near_enough(row: Row) -> str:
    """How near is near enough, as declared."""
    if row.published.sign is not None:
        return "which way"
    ways = []
    if row.within:
        ways.append(f"{row.within:g} {'points' if row.unit == '%' else row.unit}")
    if row.within_percent:
        ways.append(f"{row.within_percent:g} %")
    return "± " + " or ".join(ways) if ways else "as it stands"


def verdict_tag(verdict: Verdict) -> Tag:
    return Tag(verdict.value, TONES[verdict])


def heading_of(figure: str) -> tuple[str, str]:
    """What a figure is called, and its unit."""
    if figure in _HEADINGS:
        return _HEADINGS[figure]
    unit = next((u for ending, u in _ENDINGS.items() if figure.endswith(ending)), "")
    words = (
        figure.removeprefix("simulated.").removeprefix("topologies.").removeprefix("components.")
    )
    for ending, said in ((".completed_per_s", " completed"), (".stay_ms", " stay")):
        words = words.removesuffix(ending) + said if words.endswith(ending) else words
    return words.removeprefix("kind.").replace("instances.", "instances of ").replace(
        "_", " "
    ), unit


def figure_cell(figure: str, value: float | str | None) -> Cell:
    """A figure in the unit of its heading."""
    if value is None or isinstance(value, str):
        return value
    if figure == "proven":
        return "yes" if value else "no"
    if figure in _PARTS:
        return 100.0 * value
    return int(value) if figure.startswith(_COUNTS) and value == int(value) else value


def _short(value: float, unit: str) -> str:
    return amount(int(value) if value == int(value) and unit == "instances" else value, unit)

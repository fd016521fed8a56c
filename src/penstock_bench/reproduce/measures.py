"""What a row's measure makes of the figures of a setting."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InputError
from penstock_bench.reproduce.figures import FiguresByName
from penstock_bench.reproduce.kept import kept_figure
from penstock_bench.reproduce.paper_fields import (
    AwayMeasure,
    BetweenMeasure,
    ChangeMeasure,
    CountsMeasure,
    KeptMeasure,
    Measure,
    RatioMeasure,
    ValueMeasure,
)


@dataclass(frozen=True)
class FigureReading:
    """Our numbers for one row in one setting; none where there is no such plan."""

    values: tuple[float, ...]
    #: Which of several schedulers it is, or why there is no number.
    detail: str = ""
    #: A scheduler found no plan, which is a result.
    no_plan: bool = False


def read(measure: Measure, figures: FiguresByName) -> FigureReading:
    """The row's numbers in one setting."""
    if isinstance(measure, CountsMeasure):
        values = [_figure(figures, measure.of[0], name) for name in measure.figures]
        known = tuple(value for value in values if value is not None)
        return FigureReading(known) if len(known) == len(values) else _no_plan(figures, *measure.of)
    if isinstance(measure, RatioMeasure):
        top, bottom = read(measure.top, figures), read(measure.bottom, figures)
        if not (top.values and bottom.values):
            return top if bottom.values else bottom
        if bottom.values[0] == 0.0:
            return FigureReading((), "nothing to divide by")
        return FigureReading((top.values[0] / bottom.values[0],))
    if isinstance(measure, KeptMeasure):
        value = kept_figure(measure)
        if value is None:
            return FigureReading(
                (), f"The kept file is not here; {measure.command} prints the figure."
            )
        return FigureReading((value,))
    return _single(measure, figures)


def _single(
    measure: ChangeMeasure | ValueMeasure | AwayMeasure | BetweenMeasure, figures: FiguresByName
) -> FigureReading:
    if isinstance(measure, BetweenMeasure):
        scheduler = measure.of[0]
        first = _figure(figures, scheduler, measure.figure)
        other = _figure(figures, scheduler, measure.other)
        if first is None or other is None:
            return _no_plan(figures, scheduler)
        return FigureReading((_apart(first, other),))
    if isinstance(measure, AwayMeasure):
        value = _figure(figures, measure.of[0], measure.figure)
        if value is None:
            return _no_plan(figures, *measure.of)
        return FigureReading((_apart(value * measure.times, measure.measured),))
    label, value = _best(figures, measure)
    if value is None:
        return _no_plan(figures, *measure.of)
    detail = label if len(measure.of) > 1 else ""
    if isinstance(measure, ValueMeasure):
        return FigureReading((value * measure.times,), detail)
    base = _figure(figures, measure.against, measure.against_figure or measure.figure)
    if base is None:
        return _no_plan(figures, measure.against)
    return FigureReading((change_percent(value, base, measure.percent_of),), detail)


def change_percent(value: float, base: float, percent_of: str) -> float:
    """How much more than the base, in percent of the base or of the larger of the two."""
    whole = max(abs(value), abs(base)) if percent_of == "larger" else abs(base)
    if whole == 0.0:
        return 0.0
    return 100.0 * (value - base) / whole


def _apart(a: float, b: float) -> float:
    return abs(change_percent(a, b, "larger"))


def _best(
    figures: FiguresByName, measure: ChangeMeasure | ValueMeasure
) -> tuple[str, float | None]:
    """Of several schedulers the one with the most or the least; the first named where equal."""
    known = [(label, _figure(figures, label, measure.figure)) for label in measure.of]
    there = [(label, value) for label, value in known if value is not None]
    if not there:
        return "", None
    sign = 1.0 if measure.best == "most" else -1.0
    return max(there, key=lambda one: sign * one[1])


def _figure(figures: FiguresByName, scheduler: str, name: str) -> float | None:
    if scheduler not in figures:
        raise InputError(f'no figures of "{scheduler}"; there are: {", ".join(figures)}')
    own = figures[scheduler]
    value = own.get(name)
    if value is None and own.get("why_not") is None and name not in own:
        raise InputError(f'no figure "{name}" of {scheduler}')
    return value if isinstance(value, float) else None


def _no_plan(figures: FiguresByName, *labels: str) -> FigureReading:
    why = "; ".join(f"{label}: {figures[label].get('why_not') or 'no figure'}" for label in labels)
    return FigureReading((), f"No plan by {why}.", no_plan=True)

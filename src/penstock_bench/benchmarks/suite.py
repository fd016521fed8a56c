"""A suite is a YAML file: what to measure, how often, and the goal it must hold."""

from __future__ import annotations

import inspect
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from penstock.errors import InputError, PenstockError, UnknownNameError
from penstock.files.document import read_document
from penstock_bench.benchmarks import reference_loop
from penstock_bench.benchmarks.reference_loop import ReferenceLoop


class NotMeasurableHere(PenstockError):
    """This machine lacks what a measure needs, and no goal is judged for it."""


#: A measure yields one value per repeat.
Measure = Callable[..., Iterator[float]]

#: The median unless the suite says: one slow run on a busy machine is not the code's fault.
_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "median": statistics.median,
    "least": min,
    "most": max,
}
_QUICK_REPEATS = 3
#: What a suite says of what is left out of its quick form.
_SKIP = "skip"
_SUITES = Path(str(files("penstock_bench.benchmarks"))) / "suites"


@dataclass(frozen=True)
class Result:
    """One benchmark's figure beside its goal; ``holds`` is ``None`` where that is not judged."""

    name: str
    value: float
    unit: str
    least: float
    most: float
    #: ``None`` where that was not written down.
    repeats: int | None
    #: ``at_most`` or ``at_least`` and a number, or nothing.
    direction: str
    goal: float | None
    #: Of a figure that only an idle machine gives: what else the machine did meanwhile.
    reference: ReferenceLoop | None = None

    @property
    def is_judged(self) -> bool:
        """Whether there is a goal, and the machine was as idle as that takes."""
        return self.goal is not None and (self.reference is None or self.reference.is_idle)

    @property
    def holds(self) -> bool | None:
        if self.goal is None or not self.is_judged:
            return None
        return self.value <= self.goal if self.direction == "at_most" else self.value >= self.goal

    @property
    def goal_text(self) -> str:
        if self.goal is None:
            return ""
        return f"{'≤' if self.direction == 'at_most' else '≥'} {self.goal:g}"

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "goal": self.goal,
            "direction": self.direction,
            "holds": self.holds,
            "least": self.least,
            "most": self.most,
            "repeats": self.repeats,
            **({"reference": asdict(self.reference)} if self.reference else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Result:
        """What :meth:`to_dict` gave; whether it holds follows from the rest."""
        names = (column.name for column in fields(cls) if column.name != "reference")
        reference = content.get("reference")
        return cls(
            **{name: content[name] for name in names},
            reference=ReferenceLoop(**reference) if reference else None,
        )


@dataclass(frozen=True)
class FigureTable:
    """Figures that are read side by side rather than held against a goal."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def to_dict(self) -> dict[str, object]:
        return {"title": self.title, "columns": self.columns, "rows": self.rows}


@dataclass
class Report:
    """What a suite found."""

    results: list[Result]
    tables: list[FigureTable]
    #: What could not be measured, and why.
    failures: list[str]
    #: What this machine cannot measure, and why; no failure.
    left_out: list[str] = field(default_factory=list)
    #: By Ctrl-C, before everything was measured.
    interrupted: bool = False
    #: How idle the machine was, before and after whatever needs that.
    looks: list[ReferenceLoop] = field(default_factory=list)

    @property
    def has_anything(self) -> bool:
        return bool(self.tables or self.results or self.failures or self.left_out)

    @property
    def busiest(self) -> ReferenceLoop | None:
        """A later figure may come from an earlier run, so that all looks so far count."""
        return min(self.looks, key=lambda look: look.share, default=None)

    @property
    def holds(self) -> bool:
        return not self.failures and all(result.holds is not False for result in self.results)


def suite_names() -> list[str]:
    return sorted(path.stem for path in _SUITES.glob("*.yaml"))


def run_suite(
    name: str,
    *,
    quick: bool = False,
    only: str = "",
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _text: None,
    keep: Callable[[Report], None] = lambda _report: None,
) -> Report:
    """Run every table and benchmark of a suite whose name, or part, has ``only`` in it, in order.

    One that fails is told and counted; the others are not lost with it. Nor are they with Ctrl-C.
    ``settings`` go before what the suite says, where a measure takes them. ``keep`` gets what is
    known after each of them, so that whoever ends the run with force loses one of them only.
    """
    if name not in suite_names():
        raise UnknownNameError("benchmark suite", name, suite_names())
    suite: Any = read_document(_SUITES / f"{name}.yaml").value
    report = Report([], [], [])
    try:
        for entry in (*_entries(suite, "tables", quick), *_entries(suite, "benchmarks", quick)):
            if _is_meant(entry, only):
                entry["with"] = entry.get("with", {}) | _taken(entry, settings or {})
                _add(report, entry, quick, progress)
                keep(report)
    except KeyboardInterrupt:
        report.interrupted = True
    if only and not (report.interrupted or report.has_anything):
        names = [*_parts(suite), *(entry["name"] for entry in suite["benchmarks"])]
        raise UnknownNameError(f"benchmark of {name} with this in its name", only, names)
    return report


def _is_meant(entry: Mapping[str, Any], only: str) -> bool:
    """All that has these words, or is of this part; what takes hours must be asked for."""
    if not only:
        return not entry.get("alone")
    return only in _title(dict(entry)) or only == entry.get("part")


def _parts(suite: Mapping[str, Any]) -> list[str]:
    """Words with which some benchmarks of a suite, and their tables, are run together."""
    entries = [*suite.get("tables", []), *suite["benchmarks"]]
    return list(dict.fromkeys(entry["part"] for entry in entries if "part" in entry))


def _taken(entry: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that the measure of an entry takes."""
    if not settings:
        return {}
    names = inspect.signature(_measure(entry)).parameters
    return {name: value for name, value in settings.items() if name in names}


def _title(entry: dict[str, Any]) -> str:
    """A benchmark has a name; a table is known by what it is called with."""
    words = " ".join(str(value) for value in entry.get("with", {}).values())
    return str(entry.get("name", f"{entry['measure'].replace('_', ' ')} {words}"))


def _add(
    report: Report, entry: dict[str, Any], quick: bool, progress: Callable[[str], None]
) -> None:
    progress(_title(entry))
    try:
        if "name" in entry:
            with _watched(report, entry):
                found = _run(entry, quick)
            reference = report.busiest if entry.get("needs_idle") else None
            report.results.append(replace(found, reference=reference))
            _tell(report.results[-1], progress)
        else:
            with _watched(report, entry):
                report.tables.append(_measure(entry)(**_table_arguments(entry, quick)))
    except NotMeasurableHere as reason:
        report.left_out.append(f"{_title(entry)}: {reason}")
        progress(f"  not judged: {reason}")
    except InputError:
        raise  # what is missing on this machine is missing for all
    except PenstockError as error:
        report.failures.append(f"{_title(entry)}: {error}")
        progress(f"  could not be measured: {error}")


def _table_arguments(entry: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    """Those of its measure; repeats only where the suite says how many."""
    arguments = dict(entry.get("with", {}))
    return arguments | {"repeats": _repeats(entry, quick)} if "repeats" in entry else arguments


def _repeats(entry: Mapping[str, Any], quick: bool) -> int:
    repeats: int = entry.get("repeats", 1)
    return min(repeats, _QUICK_REPEATS) if quick else repeats


@contextmanager
def _watched(report: Report, entry: Mapping[str, Any]) -> Iterator[None]:
    """Looks at how idle the machine is before and after whatever needs that."""
    if not entry.get("needs_idle"):
        yield
        return
    report.looks.append(reference_loop.look())
    yield
    report.looks.append(reference_loop.look())


def _tell(result: Result, progress: Callable[[str], None]) -> None:
    progress(f"  {result.value:.4g} {result.unit} {result.goal_text}")
    if result.reference is not None:
        is_busy = result.goal is not None and not result.is_judged
        progress(f"  {result.reference}{'; not judged, the machine is busy' if is_busy else ''}")


def _entries(suite: dict[str, Any], kind: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Tables or benchmarks, each with its module and what it is to be called with."""
    for entry in suite.get(kind, []):
        shorter = entry.get("quick") if quick else None
        if shorter == _SKIP:
            continue
        entry_of_module = {"module": suite["module"], **entry}
        yield entry_of_module | {"with": shorter} if shorter is not None else entry_of_module


def _measure(entry: dict[str, Any]) -> Callable[..., Any]:
    measure: Callable[..., Any] = getattr(
        import_module(f"penstock_bench.benchmarks.{entry['module']}"), entry["measure"]
    )
    return measure


def _run(entry: dict[str, Any], quick: bool) -> Result:
    measure: Measure = _measure(entry)
    values = list(measure(repeats=_repeats(entry, quick), **entry.get("with", {})))
    goal: dict[str, float] = entry.get("goal", {})
    direction, limit = next(iter(goal.items()), ("", None))
    return Result(
        name=entry["name"],
        value=_STATISTICS[entry.get("statistic", "median")](values),
        unit=entry["unit"],
        least=min(values),
        most=max(values),
        repeats=len(values),
        direction=direction,
        goal=limit,
    )

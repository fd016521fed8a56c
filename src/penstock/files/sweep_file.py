"""The sweep format: a grid of problems, schedulers, seeds and scenarios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, read_document
from penstock.files.scenario_file import scenario_from
from penstock.files.schema import (
    Count,
    FileModel,
    Fraction,
    NotNegative,
    Positive,
    Strict,
    Version,
    check_file,
)
from penstock.simulate.scenario import Scenario

_MOST_CELLS = 1_000_000


class SweepProblemFields(Strict):
    """A problem: files, or names of shipped examples."""

    topology: str | list[str] = Field(description="Topology, or several that share a cluster.")
    cluster: str | None = None
    profile: str | None = None
    weighted: bool = False
    headroom: Fraction | None = None
    met: NotNegative | None = None


class SweepScenarioFields(Strict):
    """A scenario file, or a calm one at some load."""

    name: str | None = None
    file: str | None = Field(None, description="A scenario file beside this one.")
    load: Positive | None = Field(None, description="Part of the plan's sustainable rate.")
    saturate: bool = Field(False, description="Offer as much as goes through.")
    seconds: Positive | None = Field(None, description="Simulated time.")


class SweepFile(FileModel):
    """Every problem with every scheduler, seed and scenario is a cell."""

    format: Literal["penstock/sweep"]
    version: Version[Literal[1]]
    name: str = "sweep"
    description: str = ""
    problems: Annotated[list[SweepProblemFields], Field(min_length=1)]
    schedulers: Annotated[list[str], Field(min_length=1)]
    seeds: Count | list[Annotated[int, Field(ge=0)]] = Field(
        1, description="How many, from 0, or which."
    )
    scenarios: Annotated[list[SweepScenarioFields], Field(min_length=1)]
    runs: Count = Field(1, description="Independent runs in each cell.")
    fluid: bool = Field(False, description="The fluid model in place of the engine.")
    counts_from: str = Field("hetero", description="Counts for schedulers that only place.")


@dataclass(frozen=True)
class SweepProblem:
    topologies: tuple[str, ...]
    cluster: str | None
    profile: str | None
    weighted: bool
    headroom: float | None
    met: float | None


@dataclass(frozen=True)
class SweepScenario:
    name: str
    scenario: Scenario
    #: As much as goes through, whatever the scenario offers.
    saturate: bool
    seconds: float | None


@dataclass(frozen=True)
class Sweep:
    """A grid, with its scenario files read."""

    name: str
    problems: tuple[SweepProblem, ...]
    schedulers: tuple[str, ...]
    seeds: tuple[int, ...]
    scenarios: tuple[SweepScenario, ...]
    runs: int
    fluid: bool
    counts_from: str


def sweep_from(document: ParsedFile) -> Sweep:
    """The grid in a document; problems and schedulers are looked up when it is run."""
    document, file, findings = check_file(document, SweepFile)
    if file is None:
        raise InputError(*findings)
    home = Path(document.name).parent
    seeds = tuple(range(file.seeds)) if isinstance(file.seeds, int) else tuple(file.seeds)
    scenarios = tuple(
        _scenario(document, fields, number, home, findings)
        for number, fields in enumerate(file.scenarios)
    )
    names = [one.name for one in scenarios]
    for name in sorted({name for name in names if names.count(name) > 1}):
        message = f'two scenarios are named "{name}"; name them apart'
        findings.append(document.finding(("scenarios",), message))
    cells = len(file.problems) * len(file.schedulers) * len(seeds) * len(scenarios)
    if cells > _MOST_CELLS:
        findings.append(document.finding((), f"makes {cells:,} cells; at most {_MOST_CELLS:,}"))
    if findings:
        raise InputError(*findings)
    return Sweep(
        name=file.name,
        problems=tuple(_problem(fields, home) for fields in file.problems),
        schedulers=tuple(file.schedulers),
        seeds=seeds,
        scenarios=scenarios,
        runs=file.runs,
        fluid=file.fluid,
        counts_from=file.counts_from,
    )


def _problem(fields: SweepProblemFields, home: Path) -> SweepProblem:
    given = [fields.topology] if isinstance(fields.topology, str) else fields.topology

    def path_of(name: str | None) -> str | None:
        """Files are looked for beside the suite."""
        beside = home / name if name else None
        return str(beside) if beside is not None and beside.is_file() else name

    return SweepProblem(
        tuple(str(path_of(name)) for name in given),
        path_of(fields.cluster),
        path_of(fields.profile),
        fields.weighted,
        fields.headroom,
        fields.met,
    )


def _scenario(
    document: ParsedFile,
    fields: SweepScenarioFields,
    number: int,
    home: Path,
    findings: list[Finding],
) -> SweepScenario:
    scenario = Scenario()
    if fields.saturate and fields.load is not None:
        message = "has load and saturate; give one of them"
        findings.append(document.finding(("scenarios", number), message))
    if fields.file is not None:
        try:
            scenario = scenario_from(read_document(home / fields.file))
        except InputError as error:
            place = ("scenarios", number, "file")
            findings += [document.finding(place, str(f)) for f in error.findings[:3]]
    name = fields.name or (scenario.name if fields.file else "")
    if fields.load is not None:
        scenario = replace(
            scenario,
            offered=replace(
                scenario.offered, of_sustainable=fields.load, per_s=None, in_flight=None
            ),
        )
        name = name or f"load {fields.load:g}"
    name = name or ("saturated" if fields.saturate else scenario.name)
    return SweepScenario(name, scenario, fields.saturate, fields.seconds)

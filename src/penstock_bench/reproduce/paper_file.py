"""The paper format: a paper's published figures, and the settings in which we work out ours.

A *setting* is what is run: topologies on a cluster, and the schedulers that plan them. An
*experiment* is a figure or table of the paper; its *rows* say which figure of which setting is held
against which published value, and how near is near enough. Adding a row needs no code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, Place
from penstock.files.schema import FileModel, Name, Version, check_file, no_such
from penstock_bench.reproduce.paper_fields import (
    BOUND,
    CLUSTER,
    PLANS,
    Experiment,
    KeptMeasure,
    PaperSetting,
    Row,
    schedulers_of,
)


class PaperFile(FileModel):
    """A paper's evaluation as experiments that can be run."""

    format: Literal["penstock/paper"]
    version: Version[Literal[1]]
    name: Name
    title: str
    about: str = ""
    proposes: Annotated[list[Name], Field(min_length=1)]
    headline: Name
    settings: dict[Name, PaperSetting]
    experiments: Annotated[list[Experiment], Field(min_length=1)]


@dataclass(frozen=True)
class Paper:
    """A paper's evaluation. ``proposes``: its own schedulers; ``headline``: the setting to show."""

    name: str
    title: str
    about: str
    proposes: tuple[str, ...]
    headline: str
    settings: dict[str, PaperSetting]
    experiments: tuple[Experiment, ...]


def paper_from(document: ParsedFile) -> Paper:
    """The paper in a document, or everything that is wrong with it."""
    document, file, findings = check_file(document, PaperFile)
    if file is None:
        raise InputError(*findings)
    findings = list(_findings(document, file))
    if findings:
        raise InputError(*findings)
    return Paper(
        file.name,
        file.title,
        file.about,
        tuple(file.proposes),
        file.headline,
        dict(file.settings),
        tuple(file.experiments),
    )


def _findings(document: ParsedFile, file: PaperFile) -> Iterator[Finding]:
    """What does not fit together."""
    yield from _unknown_settings(document, file, (file.headline,), ())
    ids = [experiment.id for experiment in file.experiments]
    for number, experiment in enumerate(file.experiments):
        place: Place = ("experiments", number)
        if ids.count(experiment.id) > 1:
            yield document.finding((*place, "id"), f'two experiments are "{experiment.id}"')
        yield from _unknown_settings(document, file, experiment.settings, place)
        for at, row in enumerate(experiment.rows):
            here = (*place, "rows", at)
            yield from _unknown_settings(document, file, row.settings, here)
            yield from _row_findings(document, file, experiment, row, here)


def _unknown_settings(
    document: ParsedFile, file: PaperFile, names: tuple[str, ...], place: Place
) -> Iterator[Finding]:
    for name in names:
        if name not in file.settings:
            yield document.finding((*place, "settings"), no_such("setting", name, file.settings))


def _row_findings(
    document: ParsedFile, file: PaperFile, experiment: Experiment, row: Row, place: Place
) -> Iterator[Finding]:
    names = experiment.settings_of(row)
    if not names and not isinstance(row.measure, KeptMeasure):
        yield document.finding(place, "has no setting, and its experiment has none")
    if row.published.forms != 1:
        message = "give one of value, values, sign, or least and most"
        yield document.finding((*place, "published"), message)
    exact = row.published.sign is not None
    if row.within is None and row.within_percent is None and not exact:
        yield document.finding(place, "how near is near enough? give within or within_percent")
    single = row.published.value is not None or row.published.values
    if single and len(names) > 1 and row.over == "each":
        yield document.finding(place, "holds several settings against one value; give a range")
    for name in names:
        setting = file.settings.get(name)
        if setting is None or setting.kind != PLANS:
            continue
        known = {use.shown for use in setting.uses} | {BOUND, CLUSTER}
        for scheduler in sorted(schedulers_of(row.measure) - known):
            message = no_such(f"scheduler in setting {name}", scheduler, sorted(known))
            yield document.finding((*place, "measure"), message)

"""The watch format: which policy decides when a plan changes, and what it may not do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import InputError
from penstock.files.document import ParsedFile
from penstock.files.schema import (
    Count,
    FileModel,
    Fraction,
    Name,
    NotNegative,
    Positive,
    Version,
    check_file,
)
from penstock.files.topology_file import given
from penstock.model.watch_rules import Hours, WatchRules, WatchSetting

_DEFAULT = WatchRules()


class WatchFile(FileModel):
    """Who decides, and the guard rails that hold for every policy. Everything has a default."""

    format: Literal["penstock/watch"]
    version: Version[Literal[1]]
    policy: Name = Field(WatchSetting().policy, description="Who decides.")
    parameters: dict[Name, float | Name] = Field(
        default_factory=dict, description="The policy's own parameters, where not its defaults."
    )
    latency_target_s: Positive = Field(
        _DEFAULT.latency_target_s, description="The longest 95th percentile that is fine."
    )
    stale_after_s: Positive = Field(
        _DEFAULT.stale_after_s, description="Older telemetry is not acted on."
    )
    dead_band: Fraction = Field(
        _DEFAULT.dead_band, description="No change of what is carried by less than this part."
    )
    stabilise_s: NotNegative = Field(
        _DEFAULT.stabilise_s, description="So long a wish to shrink must have stood."
    )
    cool_down_s: NotNegative = Field(
        _DEFAULT.cool_down_s, description="So long after a change there is no shrinking."
    )
    cool_down_growing_s: NotNegative = Field(
        _DEFAULT.cool_down_growing_s, description="So long after a change there is no growing."
    )
    most_moves_per_change: Count | None = Field(
        None, description="Instances that one change may move, start or stop."
    )
    most_moves_per_hour: Count | None = None
    most_changes_per_hour: Count | None = None
    forbidden_hours: list[Annotated[str, Field(pattern=r"^\d\d:\d\d-\d\d:\d\d$")]] = Field(
        default_factory=list, description="UTC, as 22:00-06:00; no changes then."
    )
    fewest_machines: Count = 1
    most_machines: Count | None = None
    most_instances: Count | None = None
    most_price_per_hour: Positive | None = None
    catching_up_s: NotNegative = Field(
        _DEFAULT.catching_up_s, description="No shrinking while tuples of more seconds wait."
    )
    pause_s: NotNegative = Field(
        _DEFAULT.pause_s, description="How long a change stops the topology, until measured."
    )
    judge_after_s: Positive = Field(
        _DEFAULT.judge_after_s, description="A change is judged so long after it."
    )
    must_keep: Annotated[float, Field(ge=0, le=1)] = Field(
        _DEFAULT.must_keep,
        description="A change that carries less of what was predicted is undone; 0: never.",
    )
    most_failed: Annotated[float, Field(ge=0, le=1)] = Field(
        _DEFAULT.most_failed, description="With more of the machines lost, a person decides."
    )


#: Fields of the file that are the rules' own, under the same names.
_SAME = [field.name for field in fields(WatchRules) if field.name != "forbidden_hours"]


def watch_from(document: ParsedFile) -> WatchSetting:
    """The setting in a document; the policy and its parameters are looked up when it is used."""
    document, file, findings = check_file(document, WatchFile)
    if file is None:
        raise InputError(*findings)
    hours = []
    for number, text in enumerate(file.forbidden_hours):
        try:
            hours.append(_hours(text))
        except ValueError:
            place = ("forbidden_hours", number)
            findings.append(document.finding(place, "must be two times of the day, 22:00-06:00"))
    if file.most_machines is not None and file.most_machines < file.fewest_machines:
        findings.append(document.finding(("most_machines",), "is less than fewest_machines"))
    if findings:
        raise InputError(*findings)
    rules = {name: getattr(file, name) for name in _SAME}
    return WatchSetting(
        file.policy, dict(file.parameters), WatchRules(**rules, forbidden_hours=tuple(hours))
    )


def watch_to_dict(setting: WatchSetting) -> dict[str, object]:
    """The setting as its file says it; what is as by default is left out."""
    rules = setting.rules
    differs: Mapping[str, object] = {
        name: getattr(rules, name)
        for name in _SAME
        if getattr(rules, name) != getattr(_DEFAULT, name)
    }
    return WatchFile.FORMAT.head | given(
        {
            "policy": setting.policy,
            "parameters": dict(setting.parameters) or None,
            **differs,
            "forbidden_hours": [_text(h) for h in rules.forbidden_hours] or None,
        }
    )


def _hours(text: str) -> Hours:
    begin, end = (_hour(part) for part in text.split("-"))
    if begin == end:
        raise ValueError(text)
    return Hours(begin, end)


def _hour(text: str) -> float:
    hours, minutes = map(int, text.split(":"))
    if hours > 24 or minutes > 59 or hours + minutes / 60 > 24:
        raise ValueError(text)
    return hours + minutes / 60


def _text(hours: Hours) -> str:
    parts = (divmod(round(60 * hour), 60) for hour in (hours.begin, hours.end))
    return "-".join(f"{hour:02d}:{minute:02d}" for hour, minute in parts)

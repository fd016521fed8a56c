"""The scenario format: what arrives, how the engine behaves, what goes wrong when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, Place, read_document
from penstock.files.plan_file import plan_from
from penstock.files.schema import (
    Count,
    FileModel,
    NotNegative,
    Positive,
    Strict,
    Version,
    check_file,
)
from penstock.files.trace_file import read_trace
from penstock.simulate.patterns import Bursts, Pattern, Steady, Steps, Wave
from penstock.simulate.scenario import (
    STORM_QUEUE,
    STORM_TIMEOUT_S,
    Arrivals,
    Change,
    CutOff,
    Down,
    Offered,
    Replace,
    Scenario,
    Selectivity,
    ServiceTime,
    Shape,
    Sharing,
    Shuffle,
    Slow,
    WhenFull,
)

_T = TypeVar("_T")


def _word(default: _T, description: str) -> _T:
    """A field that takes one of a few words."""
    field: _T = Field(default, description=description, strict=False)
    return field


class StepFields(Strict):
    at_s: NotNegative
    factor: NotNegative


class WaveFields(Strict):
    period_s: Positive
    low: NotNegative = Field(description="Factor at the beginning of each period.")
    high: NotNegative = Field(1.0, description="Factor in its middle.")


class BurstFields(Strict):
    every_s: Positive
    for_s: Positive
    factor: NotNegative


class OfferedFields(Strict):
    """How much arrives: one of the first four, and one pattern over time at most."""

    of_sustainable: Positive | None = Field(
        None, description="Part of the plan's sustainable rate; 0.8 by default."
    )
    per_s: Positive | None = Field(None, description="Tuples/s, all topologies together.")
    in_flight: Count | None = Field(None, description="Saturate: keep this many tuples in flight.")
    trace: str | None = Field(
        None, description="CSV file beside this one: from which second, tuples/s."
    )
    arrivals: Arrivals = _word(Arrivals.POISSON, "At random or evenly spaced.")
    steps: list[StepFields] = Field(
        default_factory=list, description="The factor from each time on; the first at 0."
    )
    wave: WaveFields | None = Field(None, description="A day: a factor that goes up and down.")
    bursts: BurstFields | None = Field(
        None, description="Bursts: at intervals, a multiple of the rate."
    )


class ServiceFields(Strict):
    shape: Shape = _word(Shape.EXPONENTIAL, "Shape of service times around the profile's mean.")
    variation: Positive = Field(1.0, description="Lognormal: deviation over mean.")
    samples: list[Positive] = Field(
        default_factory=list, description="Empirical: measured times; only their shape counts."
    )


class ServicesFields(ServiceFields):
    components: dict[str, ServiceFields] = Field(
        default_factory=dict, description="Components with other service times, by name."
    )


class ScenarioChangeFields(Strict):
    """One thing that changes: slow, down, cut_off or replace."""

    at_s: NotNegative
    until_s: Positive | None = Field(None, description="When it is over; not for replace.")
    slow: str | None = Field(None, description="A machine that runs at a part of its speed.")
    speed: Positive | None = Field(
        None, description="Its speed, as a part of full speed, for slow."
    )
    down: str | None = Field(None, description="A machine that dies.")
    cut_off: str | None = Field(None, description="A rack without connection to the others.")
    replace: str | None = Field(None, description="Plan file that takes over.")
    pause_s: NotNegative | None = Field(None, description="How long spouts stop, for replace.")


_NO_OFFER = OfferedFields.model_construct()
_NO_SERVICE = ServicesFields.model_construct()


class ScenarioFile(FileModel):
    """What is simulated. Everything but format and version has a default."""

    format: Literal["penstock/scenario"]
    version: Version[Literal[1]]
    name: str = "scenario"
    description: str = ""
    duration_s: Positive = Scenario().duration_s
    warmup_s: NotNegative | None = Field(
        None, description="Time left out at the beginning; by the rule MSER-5 if absent."
    )
    sample_s: Positive = Field(1.0, description="Seconds between results over time.")
    offered: OfferedFields = _NO_OFFER
    service: ServicesFields = _NO_SERVICE
    queue_limit: Count | None = Field(
        STORM_QUEUE, description="Tuples in an instance's queue; null: no limit."
    )
    when_full: WhenFull = _word(WhenFull.WAIT, "Senders wait, or tuples are dropped.")
    max_spout_pending: Count | None = Field(
        None, description="Most unacknowledged tuples of a spout instance."
    )
    acking: bool = True
    timeout_s: Positive = STORM_TIMEOUT_S
    replay: bool = Field(True, description="Tuples that timed out are sent again.")
    selectivity: Selectivity = _word(
        Selectivity.PROBABILITY, "How fractions of tuples are emitted: at random, or every so many."
    )
    shuffle: Shuffle = _word(Shuffle.IN_TURN, "In turn, or Storm's load-aware shuffle.")
    sharing: Sharing = _word(
        Sharing.EQUAL, "CPU of a full machine: equal parts, or by what the plan expects."
    )
    tuples_per_batch: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1, description="Tuples simulated as one, for speed."
    )
    use_headroom: bool = Field(
        False, description="Let machines use the headroom that the plan keeps free."
    )
    changes: list[ScenarioChangeFields] = Field(default_factory=list)


def scenario_from(document: ParsedFile) -> Scenario:
    """The scenario in a document; machines and components are checked when they meet a plan."""
    document, file, findings = check_file(document, ScenarioFile)
    if file is None:
        raise InputError(*findings)
    findings = [document.finding(place, message) for place, message in _contradictions(file)]
    home = Path(document.name).parent
    offered = _offered(document, file.offered, home, findings)
    changes = tuple(
        change
        for number, fields in enumerate(file.changes)
        if (change := _change(document, fields, number, home, findings)) is not None
    )
    if findings:
        raise InputError(*findings)
    return Scenario(
        name=file.name,
        duration_s=file.duration_s,
        warmup_s=file.warmup_s,
        sample_s=file.sample_s,
        offered=offered,
        service=_service(file.service),
        services=tuple((name, _service(s)) for name, s in file.service.components.items()),
        queue_limit=file.queue_limit,
        when_full=file.when_full,
        max_spout_pending=file.max_spout_pending,
        acking=file.acking,
        timeout_s=file.timeout_s,
        replay=file.replay,
        selectivity=file.selectivity,
        shuffle=file.shuffle,
        sharing=file.sharing,
        tuples_per_batch=file.tuples_per_batch,
        use_headroom=file.use_headroom,
        changes=changes,
    )


#: More results over time than anybody looks at.
_MOST_LOOKS = 20_000


def _contradictions(file: ScenarioFile) -> Iterator[tuple[Place, str]]:
    if file.warmup_s is not None and file.warmup_s >= file.duration_s:
        yield ("warmup_s",), f"leaves nothing of the {file.duration_s:g} s"
    if file.sample_s > file.duration_s:
        yield ("sample_s",), f"is longer than the whole, {file.duration_s:g} s"
    if file.duration_s / file.sample_s > _MOST_LOOKS:
        yield ("sample_s",), f"makes more than {_MOST_LOOKS:,} results over time; take longer ones"
    offered = file.offered
    much = ("of_sustainable", "per_s", "in_flight", "trace")
    given = [name for name in much if getattr(offered, name) is not None]
    if len(given) > 1:
        yield ("offered",), f"says how much arrives twice: {' and '.join(given)}"
    patterns = [name for name in ("steps", "wave", "bursts") if getattr(offered, name)]
    if len(patterns) > 1:
        yield ("offered",), f"has two patterns over time: {' and '.join(patterns)}"
    if patterns and given and given[0] in ("in_flight", "trace"):
        yield ("offered", patterns[0]), f"cannot be combined with {given[0]}"
    times = [step.at_s for step in offered.steps]
    if times and (times[0] != 0 or times != sorted(set(times))):
        yield ("offered", "steps"), "must begin at 0 and go on in time"
    if offered.bursts and offered.bursts.for_s >= offered.bursts.every_s:
        yield ("offered", "bursts", "for_s"), "must be shorter than every_s"
    services = [(("service",), file.service)]
    services += [(("service", "components", n), s) for n, s in file.service.components.items()]  # type: ignore[misc]
    for place, service in services:
        if (service.shape is Shape.EMPIRICAL) != bool(service.samples):
            yield (*place, "samples"), "and shape empirical go together"


def _offered(
    document: ParsedFile, fields: OfferedFields, home: Path, findings: list[Finding]
) -> Offered:
    pattern: Pattern = Steady()
    if fields.steps:
        pattern = Steps(tuple((step.at_s, step.factor) for step in fields.steps))
    elif fields.wave:
        pattern = Wave(fields.wave.period_s, fields.wave.low, fields.wave.high)
    elif fields.bursts:
        pattern = Bursts(fields.bursts.every_s, fields.bursts.for_s, fields.bursts.factor)
    if fields.trace is not None:
        try:
            levels = read_trace(home / fields.trace)
        except InputError as error:
            findings += [_at(document, ("offered", "trace"), f) for f in error.findings]
            levels = ((0.0, 1.0),)
        return Offered(None, 1.0, None, Steps(levels), fields.arrivals)
    of_sustainable = fields.of_sustainable
    if fields.per_s is None and fields.in_flight is None and of_sustainable is None:
        of_sustainable = Offered().of_sustainable
    return Offered(of_sustainable, fields.per_s, fields.in_flight, pattern, fields.arrivals)


def _service(fields: ServiceFields) -> ServiceTime:
    return ServiceTime(fields.shape, fields.variation, tuple(fields.samples))


def _change(
    document: ParsedFile,
    fields: ScenarioChangeFields,
    number: int,
    home: Path,
    findings: list[Finding],
) -> Change | None:
    """The change, or nothing and a finding."""

    def wrong(message: str, *field: str) -> None:
        findings.append(document.finding(("changes", number, *field), message))

    kinds = {"slow": "speed", "down": None, "cut_off": None, "replace": "pause_s"}
    given = [kind for kind in kinds if getattr(fields, kind) is not None]
    if len(given) != 1:
        seen = " and ".join(given) or "nothing"
        wrong(f"must be one of {', '.join(kinds)}, not {seen}")
        return None
    if fields.until_s is not None and fields.until_s <= fields.at_s:
        wrong("must be later than at_s", "until_s")
    for kind, own in kinds.items():
        if own is not None and kind != given[0] and getattr(fields, own) is not None:
            wrong(f"belongs to {kind}", own)
    if fields.slow is not None:
        if fields.speed is None:
            wrong("is missing", "speed")
        return Slow(fields.at_s, fields.slow, fields.speed or 1.0, fields.until_s)
    if fields.down is not None:
        return Down(fields.at_s, fields.down, fields.until_s)
    if fields.cut_off is not None:
        return CutOff(fields.at_s, fields.cut_off, fields.until_s)
    if fields.until_s is not None:
        wrong("cannot be combined with replace", "until_s")
    try:
        plan = plan_from(read_document(home / str(fields.replace)))
    except InputError as error:
        place: Place = ("changes", number, "replace")
        findings += [_at(document, place, finding) for finding in error.findings[:3]]
        return None
    return Replace(fields.at_s, plan, fields.pause_s or 0.0)


def _at(document: ParsedFile, place: Place, finding: Finding) -> Finding:
    """What is wrong in another file, at the place that names it."""
    return document.finding(place, str(finding))

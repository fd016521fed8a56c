"""What a paper's file declares, as plain values: settings, measures, published figures, rows.

These are dataclasses, so that they may leave this room; pydantic fills and checks them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from penstock.files.schema import Count, Name, NotNegative, Positive
from penstock.model.plan import Scalar
from penstock.model.terms import Least

PLANS, CPU_READINGS, COUNT_PAIRS = "plans", "cpu-readings", "count-pairs"
#: The pseudo scheduler that holds the upper bound of a setting.
BOUND = "bound"
#: The one that holds what the cluster is made of.
CLUSTER = "cluster"

Names: TypeAlias = Annotated[tuple[Name, ...], Field(min_length=1)]


class Declared:
    """An unknown field is an error."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


# -- settings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SchedulerUse(Declared):
    """A scheduler with parameters, under a label of its own where it stands twice.

    ``carry``: it is asked for the setting's demand instead of the most; ``least``: to save on.
    """

    name: Name
    label: str = ""
    set: dict[str, Scalar] = field(default_factory=dict)
    carry: bool = False
    least: tuple[Least, ...] = ()

    @property
    def shown(self) -> str:
        return self.label or self.name


@dataclass(frozen=True)
class PaperChange(Declared):
    """What a setting changes in the shipped topologies, cluster and profile.

    ``cpu_requests``: none at all, or what an instance uses when each has a machine of its own.
    """

    instances: Count | None = None
    workers: Count | None = None
    slots: Count | None = None
    tuple_bytes: Positive | None = None
    #: Factor on every e of the profile.
    e_times: Positive | None = None
    memory_mb: Positive | None = None
    cpu_requests: Literal["none", "as-used"] | None = None


@dataclass(frozen=True)
class Demand(Declared):
    """Every topology's demand: a part of what the plans of the named schedulers all carry."""

    part: Positive
    of_least: Names


@dataclass(frozen=True)
class Simulate(Declared):
    """The plans are simulated, too; where nothing else is said, at saturation."""

    #: Part of the plan's own rate.
    load: Positive | None = None
    #: The setting's demand is offered to all plans alike.
    demand: bool = False
    #: So many tuples are kept in flight, whatever the plan carries.
    in_flight: Count | None = None
    #: So many times the plan's rate is offered, and full queues hold up their senders.
    flood: Positive | None = None
    seconds: Positive = 60.0
    sample_s: Positive = 1.0
    fluid: bool = False


@dataclass(frozen=True)
class PaperSetting(Declared):
    """What is run once, for all rows that refer to it."""

    topology: Names
    cluster: Name
    kind: Literal["plans", "cpu-readings", "count-pairs"] = "plans"
    met: NotNegative | None = None
    #: cpu-readings: the component whose machine is read, and for how long each time.
    watch: str = ""
    read_s: Positive = 60.0
    #: count-pairs: the most instances of a component.
    most: Count = 8
    change: PaperChange = field(default_factory=PaperChange)
    demand: Demand | None = None
    schedulers: tuple[Name | SchedulerUse, ...] = ()
    simulate: Simulate | None = None

    @property
    def uses(self) -> tuple[SchedulerUse, ...]:
        return tuple(SchedulerUse(s) if isinstance(s, str) else s for s in self.schedulers)


# -- measures -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChangeMeasure(Declared):
    """By how many percent a figure differs between two schedulers; of several, the best.

    ``percent_of`` says what 100 % are: the figure of ``against``, or the larger of the two.
    """

    kind: Literal["change"]
    figure: str
    of: Names
    against: Name
    percent_of: Literal["against", "larger"] = "against"
    best: Literal["most", "least"] = "most"
    #: The other scheduler's figure, where it is not the same.
    against_figure: str = ""


@dataclass(frozen=True)
class ValueMeasure(Declared):
    """A figure as it is; of several schedulers, the best."""

    kind: Literal["value"]
    figure: str
    of: Names
    times: float = 1.0
    best: Literal["most", "least"] = "most"


@dataclass(frozen=True)
class CountsMeasure(Declared):
    """Several figures of one scheduler, side by side."""

    kind: Literal["counts"]
    figures: Names
    of: Names


@dataclass(frozen=True)
class RatioMeasure(Declared):
    """One change over another."""

    kind: Literal["ratio"]
    top: ChangeMeasure
    bottom: ChangeMeasure


@dataclass(frozen=True)
class AwayMeasure(Declared):
    """By how many percent of the larger a figure is away from a published one."""

    kind: Literal["away"]
    figure: str
    of: Names
    measured: float
    times: float = 1.0


@dataclass(frozen=True)
class BetweenMeasure(Declared):
    """By how many percent of the larger two figures of one scheduler differ."""

    kind: Literal["between"]
    figure: str
    other: str
    of: Names


@dataclass(frozen=True)
class KeptMeasure(Declared):
    """A figure of a benchmark that takes too long, from the file kept of its last whole run."""

    kind: Literal["kept"]
    file: str
    #: How the heading of its table begins.
    table: str
    row: str
    column: str
    command: str


Measure: TypeAlias = (
    ChangeMeasure
    | ValueMeasure
    | CountsMeasure
    | RatioMeasure
    | AwayMeasure
    | BetweenMeasure
    | KeptMeasure
)


# -- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published(Declared):
    """What the paper says: a value, several, a range or limit, or only which way it goes."""

    value: float | None = None
    values: tuple[float, ...] = ()
    least: float | None = None
    most: float | None = None
    sign: Literal["more", "less"] | None = None

    @property
    def forms(self) -> int:
        """How many of the forms are given; one is right."""
        ranged = self.least is not None or self.most is not None
        return (self.value is not None) + bool(self.values) + ranged + (self.sign is not None)


@dataclass(frozen=True)
class Row(Declared):
    """One published figure and how ours is worked out.

    ``within`` is in the row's unit, ``within_percent`` of the published value; of both, the wider
    counts. ``neutral`` is where there is no difference, for telling directions. ``remark`` is shown
    always, ``why`` where the row is not reproduced.
    """

    what: str
    measure: Annotated[Measure, Field(discriminator="kind")]
    published: Published
    settings: tuple[Name, ...] = ()
    #: What counts of several settings: every one, or the most or least of them ("up to").
    over: Literal["each", "most", "least"] = "each"
    unit: str = "%"
    within: NotNegative | None = None
    within_percent: NotNegative | None = None
    neutral: float | None = None
    remark: str = ""
    why: str = ""


@dataclass(frozen=True)
class Experiment(Declared):
    """A figure or table of a paper. ``unsaid``: what the paper leaves open, and what was taken."""

    id: Name
    source: str
    title: str
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    unsaid: str = ""
    settings: tuple[Name, ...] = ()
    #: Figures in the table of all schedulers.
    shows: tuple[str, ...] = ()

    def settings_of(self, row: Row) -> tuple[str, ...]:
        """The settings a row is about: its own, else the experiment's."""
        return row.settings or self.settings


def schedulers_of(measure: Measure) -> set[str]:
    """The labels a measure refers to."""
    if isinstance(measure, KeptMeasure):
        return set()
    if isinstance(measure, RatioMeasure):
        return schedulers_of(measure.top) | schedulers_of(measure.bottom)
    against = {measure.against} if isinstance(measure, ChangeMeasure) else set()
    return set(measure.of) | against


def neutral_of(row: Row) -> float | None:
    """Where the row's measure shows no difference; ``None`` where it has no direction."""
    if row.neutral is not None:
        return row.neutral
    return {"change": 0.0, "ratio": 1.0}.get(row.measure.kind)

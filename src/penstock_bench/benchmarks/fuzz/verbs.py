"""The verbs and their parameters as the command line itself tells them: a new one is tried at once.

Only what cannot be known from a parser is written here: which verbs start Spark or Storm, which
would take an hour or start daemons, and which run for ever unless told to end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: Start Spark; one after another inside one session, and with limits of their own.
SPARK = frozenset({"run", "profile", "sweep", "history measure", "calibrate"})
#: Start daemons of a lab or measure for hours: only called wrongly, so that they refuse.
ONLY_REFUSED = frozenset(
    {"bench", "reproduce", "demo", "lab up", "lab demo", "lab submit", "lab feed", "lab end"}
)
#: What makes sense of a verb at all, where somebody takes care.
USUAL = {
    "run": ["--example", "wordcount", "--rows", "200"],
    "calibrate": ["--example", "wordcount"],
    "agent": ["--once"],
}
#: Simulate for tens of seconds unless told otherwise: that is work, and no hang.
SIMULATE = frozenset({"report", "rehearse"})
#: Ask a Storm; none answers here.
STORM = frozenset({"apply", "import storm", "watch"})
#: Options about a running Storm, which rule out most others.
LIVE = frozenset({"taken_from", "nimbus", "ui", "storm_yaml", "telemetry", "since"})
#: Options that end what would go on for ever, or plans as often as there are machines and more.
ENDS = {
    "advise": ["--seconds", "1"],
    "compare": ["--seconds", "0.2"],
    # All fourteen schedulers' plans, each simulated for seconds, are minutes of work.
    "compare --simulate": ["--schedulers", "default,hetero,penstock"],
    "report": ["--seconds", "0.2"],
    "rehearse": ["--policy", "static", "--seeds", "1"],
    "run": ["--batches", "1"],
    "agent": ["--every", "1", "--seconds", "1"],
    "calibrate": ["--seconds", "2", "--every", "0.1", "--minutes", "0.02"],
    # A billion tuples are twenty minutes of work, which it says as it goes on.
    "simulate": ["--max-tuples", "3e6"],
    "profile --follow": ["--seconds", "0"],
    "watch": ["--once"],
}


@dataclass(frozen=True)
class OptionParameter:
    """An argument or an option of a verb."""

    name: str
    #: None for an argument; the longest first.
    options: tuple[str, ...]
    is_flag: bool
    is_multiple: bool
    is_required: bool
    type: str
    choices: tuple[str, ...]
    least: float | None
    most: float | None

    @property
    def is_argument(self) -> bool:
        return not self.options


@dataclass(frozen=True)
class DrawableVerb:
    words: tuple[str, ...]
    parameters: tuple[OptionParameter, ...]

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def starts_spark(self) -> bool:
        return self.name in SPARK

    @property
    def is_of_storm(self) -> bool:
        return self.name in STORM

    @property
    def only_refused(self) -> bool:
        return self.name in ONLY_REFUSED


def verbs_from(told: Iterable[dict[str, Any]]) -> tuple[DrawableVerb, ...]:
    """What the fork server tells on its first line."""
    return tuple(
        DrawableVerb(
            tuple(verb["words"]),
            tuple(_parameter(p) for p in verb["parameters"]),
        )
        for verb in told
    )


def _parameter(told: dict[str, Any]) -> OptionParameter:
    return OptionParameter(
        **{**told, "options": tuple(told["options"]), "choices": tuple(told["choices"])}
    )

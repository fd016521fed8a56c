"""Options that several verbs share, and how they become a problem."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli.output import say
from penstock.cli.values import fraction_of
from penstock.engines.registry import DEFAULT_ENGINE
from penstock.errors import Finding, InputError, UsageError
from penstock.planning.numbers import percent
from penstock.schedulers.base import Budget

if TYPE_CHECKING:
    from penstock.model.machine_table import MachineTable
    from penstock.model.plan import Plan, Scalar
    from penstock.model.problem import Problem

Topologies = Annotated[
    list[str] | None,
    typer.Argument(help="Topology files (ours or Flux), or names of shipped examples."),
]
Example = Annotated[
    list[str] | None, typer.Option("--example", "-e", help="Name of a shipped topology.")
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", "-c", help="Cluster file, or name of a shipped cluster.")
]
Profile = Annotated[
    str | None, typer.Option("--profile", "-p", help="Profile file, or name of a shipped profile.")
]
EstimateFrom = Annotated[
    str | None,
    typer.Option(
        "--estimate-from",
        metavar="<type>",
        help="Estimate costs that the profile lacks from those on this machine type, by speed.",
    ),
]
Weighted = Annotated[
    bool, typer.Option("--weighted", help="Allow unequal shares (weighted grouping).")
]
Headroom = Annotated[
    float | None,
    typer.Option(
        "--headroom",
        parser=fraction_of("--headroom"),
        metavar="<fraction>",
        help="Fraction of each machine's and thread's CPU to keep free: 20% or 0.2.",
    ),
]
Met = Annotated[
    float | None, typer.Option("--met", help="Fixed CPU points per instance, for what-if studies.")
]
CountsFrom = Annotated[
    str,
    typer.Option(
        "--counts-from",
        help="Scheduler that sets instance counts for those that only place; topology: all take "
        "the counts stated there.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random generator.", min=0)]
Seconds = Annotated[
    float | None, typer.Option("--seconds", help="Stop searching after this many seconds.", min=0)
]
Iterations = Annotated[
    int | None, typer.Option("--iterations", help="Stop searching after this many rounds.", min=1)
]
WarmUp = Annotated[
    float, typer.Option("--warm-up", help="Ignore this many seconds after a worker starts.", min=0)
]
FittingWarmUp = Annotated[
    float | None,
    typer.Option(
        "--warm-up",
        help="Ignore this many seconds after a worker starts. Default: 60, or half of a "
        "shorter run.",
        min=0,
    ),
]
Agents = Annotated[
    list[Path] | None,
    typer.Option(
        "--agents", help="Folder where agents tell of the machines (penstock agent); repeatable."
    ),
]
Master = Annotated[str, typer.Option("--master", help="Spark's master.")]
DriverMemory = Annotated[str, typer.Option("--driver-memory", help="Memory of Spark's driver.")]
SparkSettings = Annotated[
    list[str] | None, typer.Option("--config", help="Set a property of Spark.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the result to this file.")]


def make_problem(
    topologies: list[str] | None,
    examples: list[str] | None,
    cluster: str | None,
    profile: str | None,
    *,
    weighted: bool = False,
    headroom: float | None = None,
    met: float | None = None,
    engine: str = DEFAULT_ENGINE,
    estimate_from: str | None = None,
    agents: list[Path] | None = None,
) -> Problem:
    """The problem the options describe."""
    named = [*(topologies or []), *(examples or [])]
    if not named:
        raise UsageError("name a topology file, or an example with --example (penstock examples)")
    return app.problem(
        named, cluster, profile, weighted=weighted, headroom=headroom, met=met, engine=engine,
        estimate_from=estimate_from, told=machine_table(agents), say=say,
    )  # fmt: skip


def machine_table(folders: list[Path] | None) -> MachineTable | None:
    """What agents have told in these folders."""
    return app.machine_table(folders, say=say) if folders else None


def load_plan(path: Path) -> Plan:
    """A file that must be a plan."""
    from penstock.model.plan import Plan

    loaded = app.load(path)
    if not isinstance(loaded, Plan):
        raise InputError(Finding(f"is a {type(loaded).__name__.lower()}, not a plan", str(path)))
    return loaded


def parse_settings(settings: list[str] | None) -> dict[str, Scalar]:
    """``name=value`` pairs of ``--set``."""
    parsed: dict[str, Scalar] = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            raise UsageError(f'--set takes name=value, not "{setting}"')
        parsed[name] = value
    return parsed


#: A search that takes longer than this is reported, then ever more rarely.
_FIRST_WORD_AFTER_S = 5.0


@dataclass
class Stoppable:
    """Makes budgets that the first Ctrl-C ends with the best so far; the second interrupts."""

    seconds: float | None
    iterations: int | None
    #: What the first Ctrl-C does.
    stopping: str = "stopping with the best plan so far"
    #: Ctrl-C was pressed.
    stopped: bool = False
    #: When to say again that the search goes on.
    _next_word: float = field(default_factory=lambda: time.monotonic() + _FIRST_WORD_AFTER_S)
    _began: float = field(default_factory=time.monotonic)
    _best: float | None = None
    _bound: float | None = None

    def __call__(self) -> Budget:
        return Budget(
            self.iterations, self.seconds, stop=self._must_stop, on_progress=self._keep_in_mind
        )

    def _keep_in_mind(self, scale: float, bound: float | None) -> None:
        self._best, self._bound = scale, bound

    def _so_far(self) -> str:
        """How good the best plan is, in words."""
        if self._best is None or not self._bound:
            return ""
        gap = max(0.0, 1.0 - self._best / self._bound)
        return f", gap to bound {percent(gap, 2)}"

    def _must_stop(self) -> bool:
        """Asked by the scheduler in every round; long searches are reported in passing."""
        now = time.monotonic()
        if now >= self._next_word:
            passed = now - self._began
            so_far = self._so_far()
            say(f"still searching after {passed:.0f} s; Ctrl-C keeps the best plan so far{so_far}")
            self._next_word = now + 2 * passed
        return self.stopped

    def on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        say(f"{self.stopping}; Ctrl-C again to give up")


@contextmanager
def stoppable_budget(
    seconds: float | None = None,
    iterations: int | None = None,
    stopping: str = Stoppable.stopping,
) -> Iterator[Stoppable]:
    """Budgets for a block in which Ctrl-C asks for the best so far."""
    budget = Stoppable(seconds, iterations, stopping)
    before = signal.signal(signal.SIGINT, budget.on_interrupt)
    try:
        yield budget
    finally:
        signal.signal(signal.SIGINT, before)


def spark_config(settings: list[str]) -> dict[str, str]:
    """``name=value`` pairs of ``--config``."""
    wrong = [text for text in settings if "=" not in text]
    if wrong:
        raise UsageError(*(f"--config {text}: write name=value" for text in wrong))
    return dict(text.split("=", 1) for text in settings)

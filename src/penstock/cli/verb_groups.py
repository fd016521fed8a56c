"""The verbs in groups, as ``penstock --help`` and the reference show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperGroup

from penstock.cli.lazy_verbs import LazyVerbs

#: Each group with its verbs and their lines in the list, in the order in which people meet them.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Plan": {
        "plan": "Plan topologies on a cluster.",
        "show": "Show a plan, or what it does under more load.",
        "explain": "Explain what limits a plan, or one part of it.",
        "certify": "Prove how far a plan is from the best there is.",
        "check": "Check the proof in a certificate, without any solver.",
        "advise": "Advise what to buy, what to remove and what to speed up.",
        "compare": "Compare schedulers on one problem.",
        "diff": "Show what changes between two plans.",
        "report": "Write a report on a plan: HTML, Markdown, JSON, CSV, LaTeX.",
    },
    "Measure": {
        "agent": "Tell what this machine is and does, and how far others are.",
        "calibrate": "Measure on purpose what components cost, or a machine can do.",
        "profile": "Fit costs to telemetry, on Spark.",
        "store": "List, read and maintain the tables of telemetry.",
        "history": "Show applied plans, and how good their predictions were.",
    },
    "Run": {
        "run": "Run a topology on Spark and measure it.",
        "lab": "Start and stop a cluster of unlike machines on this computer.",
        "demo": "Measure, plan and compare a shipped topology.",
    },
    "Operate": {
        "import": "Import clusters and topologies from other formats.",
        "power": "Put machines to sleep and wake them, by your own commands.",
        "apply": "Put a plan in force on a running cluster.",
        "watch": "Watch a running cluster; advise, ask or act when its plan should change.",
        "approve": "Approve a change that the loop proposes.",
        "reject": "Reject a change that the loop proposes.",
        "pause": "Let the loop look on and change nothing.",
        "resume": "Let the loop act again.",
    },
    "Study": {
        "simulate": "Simulate a plan, tuple by tuple.",
        "rehearse": "Rehearse policies of the loop on recorded loads.",
        "sweep": "Simulate a grid of plans, on Spark.",
        "bench": "Run a benchmark suite; exit code 1 when a goal does not hold.",
        "reproduce": "Repeat the papers' experiments and compare the results with theirs.",
        "generate": "Make a random problem: topology, cluster and profile files.",
    },
    "Files and set-up": {
        "examples": "List or copy the shipped examples.",
        "validate": "Check files, alone and together.",
        "schema": "Print the JSON Schema of a file format.",
        "schedulers": "List the schedulers.",
        "doctor": "Check what is installed here and what is missing.",
        "completion": "Complete verbs and options in bash, zsh or fish.",
        "help": "Show the help of a verb.",
    },
}
#: Verbs that other packages bring.
_OTHERS = "From other packages"
#: Verbs of the distribution ``penstock-bench``, which are there where it is installed.
_HARNESS = ("bench", "reproduce", "generate")
_LINES = {verb: line for verbs in GROUPS.values() for verb, line in verbs.items()}


def grouped(verbs: Iterable[str]) -> dict[str, list[str]]:
    """The verbs that there are, by group; those of other packages last."""
    left = list(verbs)
    groups = {name: [verb for verb in known if verb in left] for name, known in GROUPS.items()}
    groups[_OTHERS] = [verb for verb in left if verb not in _LINES]
    return {name: names for name, names in groups.items() if names}


class GroupedVerbs(TyperGroup):
    """The program: a verb is loaded when it is called, and the help lists them by group."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        own = {verb: line for verb, line in _LINES.items() if verb not in _HARNESS}
        commands: Any = LazyVerbs(own)
        self.commands = commands

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        lines = {verb: self._line(verb) for verb in self.commands}
        width = max(map(len, lines))
        for group, verbs in grouped(lines).items():
            with formatter.section(group):
                formatter.write_dl([(verb.ljust(width), lines[verb]) for verb in verbs])

    def _line(self, verb: str) -> str:
        """What the list says of a verb; only those of other packages are loaded to know it."""
        return _LINES.get(verb) or self.commands[verb].get_short_help_str(100)

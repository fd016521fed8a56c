"""The verbs in groups, as ``penstock --help`` and the reference show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperGroup

#: Each group with its verbs, in the order in which people meet them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Plan": ("plan", "show", "explain", "advise", "compare", "diff", "report"),
    "Measure": ("profile", "store", "history"),
    "Run": ("run", "lab", "demo"),
    "Operate": ("import", "apply"),
    "Study": ("simulate", "rehearse", "sweep", "bench", "reproduce", "generate"),
    "Files and set-up": (
        "examples", "validate", "schema", "schedulers", "doctor", "completion", "help",
    ),
}  # fmt: skip
#: Verbs that other packages bring.
_OTHERS = "From other packages"


def grouped(verbs: Iterable[str]) -> dict[str, list[str]]:
    """The verbs that there are, by group; those of other packages last."""
    left = list(verbs)
    groups = {name: [verb for verb in known if verb in left] for name, known in GROUPS.items()}
    placed = {verb for names in groups.values() for verb in names}
    groups[_OTHERS] = [verb for verb in left if verb not in placed]
    return {name: names for name, names in groups.items() if names}


class GroupedVerbs(TyperGroup):
    """The program's own help: one list of verbs for each group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for group, verbs in grouped(self.commands).items():
            with formatter.section(group):
                lines = [(v.ljust(width), self.commands[v].get_short_help_str(100)) for v in verbs]
                formatter.write_dl(lines)

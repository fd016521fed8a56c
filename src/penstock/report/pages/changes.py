"""What moves, what comes and what goes from one plan to another."""

from __future__ import annotations

from penstock.change.diff import Changes, ComponentChange
from penstock.planning.numbers import counted
from penstock.report.name_ranges import change_words, name_ranges
from penstock.report.page import (
    Block,
    Column,
    Document,
    Number,
    Section,
    Table,
    paragraph,
    table_of,
)

_MOST_WORDS = 8


def changes_page(changes: Changes) -> Document:
    """Moves in all, machines taken and freed, rates before and after, then each component."""
    return Document("", (Section("", tuple(_blocks(changes))),))


def _blocks(changes: Changes) -> list[Block]:
    if not changes.any:
        return [paragraph("no change")]
    total = f"{changes.moves:,} moves, {changes.added:,} added, {changes.dropped:,} dropped"
    machines = [
        paragraph(f"{counted(len(names), 'machine')} {what}: {name_ranges(names)}")
        for what, names in (("taken", changes.machines_taken), ("freed", changes.machines_freed))
        if names
    ]
    before = dict(changes.rate_before_per_s)
    rates = [
        paragraph(f"{name}: ", Number(before.get(name)), " → ", Number(after, "tuples/s"))
        for name, after in changes.rate_after_per_s
    ]
    return [paragraph(total), *machines, *rates, _components(changes)]


def _components(changes: Changes) -> Table:
    return table_of(
        (change for change in changes.components if change.is_change),
        (Column("component"), lambda change: f"{change.topology}/{change.component}"),
        (Column("before"), lambda change: change.before),
        (Column("after"), lambda change: change.after),
        (Column("moves"), lambda change: len(change.moves)),
        (Column("what"), _words),
    )


def _words(change: ComponentChange) -> str:
    words = change_words(change)
    more = [f"… and {len(words) - _MOST_WORDS} more"] if len(words) > _MOST_WORDS else []
    return "; ".join([*words[:_MOST_WORDS], *more])

"""Partial sums of a slot, as columns: what hours, profiles and live refreshes are added up from."""

from __future__ import annotations

import pyarrow as pa

_TYPES = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64()}


def fields(*columns: str) -> pa.Schema:
    """From lines of ``type: name name …``."""
    typed = [line.split(":") for line in columns]
    return pa.schema(
        [pa.field(name, _TYPES[kind]) for kind, names in typed for name in names.split()]
    )


def _table(*columns: str) -> pa.Schema:
    """The slot comes last."""
    return fields(*columns, "text: slot")


PARTIAL_TABLES: dict[str, pa.Schema] = {
    # What each task did at each place, and how many of its windows are good for what.
    "tasks": _table(
        "text: topology run component",
        "whole: task last_task",
        "text: host machine_type worker rack",
        # Seconds of windows that count, of those that say what came in, and of all.
        "number: counted_s watched_s seen_s",
        # Tuples of windows that count.
        "number: worked",
        "whole: used warm_up baseline unknown with_cpu with_rate usable first_ms last_ms",
        "number: first_window_s longest_window_s",
    ),
    # Tuples in, by task and block of windows.
    "intake": _table(
        "text: topology run component", "whole: task block", "number: tuples_in seconds"
    ),
    # Tuples out on each stream, by task and block.
    "outputs": _table(
        "text: topology run component stream",
        "whole: task block",
        "number: tuples_out bytes sized_tuples",
    ),
    # Tuples that a task took in from a component or a task.
    "received": _table(
        "text: topology run component host worker rack source stream",
        "whole: task source_task",
        "number: tuples bytes",
    ),
    # Tuples that a task put on a stream, whether or not it says what it took in.
    "sent": _table(
        "text: topology run component host worker rack stream", "whole: task", "number: sent"
    ),
    # Rows of the table of workers.
    "workers": _table(
        "text: topology run host machine_type worker",
        "whole: minute",
        "number: worker_cpu_points tasks_cpu_points own_cpu_points worker_memory_mb",
        "whole: tasks",
    ),
    # How often each amount of memory, of three figures, was seen.
    "memory": _table(
        "text: topology component machine_type", "number: memory_mb", "whole: windows"
    ),
    # Windows from which costs are fitted: at least those that the final sample has.
    "points": _table(
        "text: topology component machine_type run",
        "whole: task time_ms",
        "number: rate cpu_points rate_variance",
    ),
    # The same of worker processes.
    "worker_points": _table(
        "text: run host worker machine_type",
        "whole: time_ms",
        "number: rate rate_variance whole_cpu_points tasks_cpu_points",
    ),
    # Moments of workers and their rates, all of them.
    "worker_rates": _table("text: run host worker machine_type", "number: rate", "whole: moments"),
    # Records that do not count, by the file of the samples and the row in it.
    "dropped": _table("text: path", "whole: row"),
}

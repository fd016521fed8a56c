"""Who sends how much to whom in an hour, between instances, and from there places.

A writer that knows the source task of every tuple (ours does) gives exact traffic. Storm's own
counters know the source *component* only; then the tuples are dealt out by what each of its tasks
put on that stream, and the row says that it is an estimate. It cannot see that local-or-shuffle
keeps tuples at home.
"""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.telemetry.slots.columns import (
    NO_NUMBER,
    NO_WORD,
    Columns,
    Groups,
    Vocabulary,
    joined,
    length,
    matches,
    rows_of,
)

#: From near to far.
DISTANCES = ("same worker", "same machine", "same rack", "other rack")
#: Where an instance is, by each of these.
LEVELS = {
    "worker": ("host", "worker"),
    "machine": ("host",),
    "rack": ("rack",),
}
_SCOPE = ("topology", "run")
_PLACE = ("host", "worker", "rack")
_RECEIVER = (*_SCOPE, "component", "task", *_PLACE)
#: Stands for all streams; no stream is called so.
_ANY = ""
#: What names of Storm's own components begin with.
_SYSTEM = "__"
_SENDER = ("source_task", *(f"source_{name}" for name in _PLACE))


def instance_traffic(
    received: Columns, sent: Columns, tasks: Columns, vocabulary: Vocabulary
) -> Columns:
    """Tuples between every two instances that exchange any, in one hour."""
    arrived = _arrived(received, tasks)
    is_exact = arrived["source_task"] != NO_NUMBER
    exact = _from_known_tasks(rows_of(arrived, is_exact), tasks, vocabulary)
    dealt = _dealt_out(rows_of(arrived, ~is_exact), sent, tasks, vocabulary)
    exact["estimated"] = np.zeros(length(exact), dtype=bool)
    dealt["estimated"] = np.ones(length(dealt), dtype=bool)
    pairs = joined([exact, dealt])
    pairs["tuples_per_s"] = pairs["tuples"] / pairs["seconds"]
    pairs["bytes_per_s"] = pairs["bytes"] / pairs["seconds"]
    pairs["distance"] = _distances(pairs, vocabulary)
    return pairs


def place_traffic(traffic: Columns, vocabulary: Vocabulary) -> Columns:
    """The same tuples between workers, machines and racks: one row per level and pair.

    A sender that is not known is null; a rack that nobody named has no row.
    """
    levels = []
    for level, names in LEVELS.items():
        ends = {
            end: _named(vocabulary, *(traffic[f"{end}_{name}"] for name in names))
            for end in ("source", "target")
        }
        rows = np.flatnonzero(ends["target"] != NO_WORD)
        table = {**{name: traffic[name] for name in _SCOPE}, **ends}
        groups = Groups.of(*(column[rows] for column in table.values()))
        levels.append({
            **groups.keys(rows_of(table, rows), table),
            "level": np.full(len(groups), vocabulary.number(level)),
            "tuples_per_s": groups.sums(traffic["tuples_per_s"][rows]),
            "bytes_per_s": groups.known_sums(traffic["bytes_per_s"][rows]),
        })  # fmt: skip
    return joined(levels)


def worker_crossings(traffic: Columns, vocabulary: Vocabulary) -> Columns:
    """Tuples/s that enter or leave each worker; unknown where a sender is not known.

    Acknowledgements back to spouts are left out, as in the model, where ackers send nothing.
    """
    near = vocabulary.number(DISTANCES[0])
    known = traffic["distance"] != NO_WORD
    crossing = np.where(
        traffic["distance"] == near, 0.0, np.where(known, traffic["tuples_per_s"], np.nan)
    )
    counted = ~of_system(traffic["source"], vocabulary)
    ends = [
        {"run": traffic["run"], "host": traffic[f"{end}_host"],
         "worker": traffic[f"{end}_worker"], "crossing": crossing}
        for end in ("source", "target")
    ]  # fmt: skip
    table = joined([rows_of(end, counted & (end["worker"] != NO_WORD)) for end in ends])
    groups = Groups.of(table["run"], table["host"], table["worker"])
    return {
        **groups.keys(table, ("run", "host", "worker")),
        "crossing": groups.whole_sums(table["crossing"]),
    }


def of_system(source: IntVector, vocabulary: Vocabulary) -> BoolVector:
    is_system = np.array([word.startswith(_SYSTEM) for word in vocabulary.words] or [False])
    return is_system[source]


def _named(vocabulary: Vocabulary, *parts: IntVector) -> IntVector:
    """Names of places, such as host/worker; no name where nothing is known."""
    pairs = Groups.of(*parts)
    words = vocabulary.words
    names = [
        "/".join(words[part[row]] for part in parts if part[row] != NO_WORD) for row in pairs.first
    ]
    numbers = [vocabulary.number(name) if name else NO_WORD for name in names]
    return np.array(numbers, dtype=np.int64)[pairs.of_row]


def _arrived(received: Columns, tasks: Columns) -> Columns:
    """What each task took in, by source and stream, and in how many seconds."""
    names = (*_RECEIVER, "source", "stream", "source_task")
    groups = Groups.of(*(received[name] for name in names))
    table = {
        **groups.keys(received, names),
        "tuples": groups.sums(received["tuples"]),
        "bytes": groups.known_sums(received["bytes"]),
    }
    # Seconds are those in which the task was watched, with or without tuples from that source.
    watched = Groups.of(*(tasks[name] for name in _RECEIVER))
    seconds = watched.sums(tasks["watched_s"])
    homes = watched.keys(tasks, _RECEIVER)
    mine, theirs = matches([table[n] for n in _RECEIVER], [homes[n] for n in _RECEIVER])
    table = rows_of(table, mine) | {"seconds": seconds[theirs]}
    table = rows_of(table, (table["tuples"] > 0) & (table["seconds"] > 0))
    return {
        **{name: table[name] for name in (*_SCOPE, "source", "stream", "source_task")},
        "target": table["component"],
        "target_task": table["task"],
        **{f"target_{name}": table[name] for name in _PLACE},
        **{name: table[name] for name in ("tuples", "bytes", "seconds")},
    }


# -- exact -------------------------------------------------------------------------------------


def _from_known_tasks(arrived: Columns, tasks: Columns, vocabulary: Vocabulary) -> Columns:
    """Add where the source task ran; one that moved within the hour counts where it was longest.

    A record may stand for several tasks (an executor's): tuples of any of them are its tuples.
    """
    homes = _homes(tasks, vocabulary)
    keys = (*_SCOPE, "source_task")
    mine, theirs = matches([arrived[n] for n in keys], [homes[n] for n in keys])
    home = np.full(length(arrived), -1)
    home[mine] = theirs
    is_known = home >= 0
    table = dict(arrived)
    for name in _PLACE:
        table[f"source_{name}"] = _looked_up(homes[f"source_{name}"], home, NO_WORD)
    sender = _looked_up(homes["sender"], home, NO_NUMBER)
    table["source_task"] = np.where(is_known, sender, arrived["source_task"])
    names = [name for name in table if name not in ("tuples", "bytes", "seconds")]
    groups = Groups.of(*(table[name] for name in names))
    return {
        **groups.keys(table, names),
        "seconds": table["seconds"][groups.first],
        "tuples": groups.sums(table["tuples"]),
        "bytes": groups.known_sums(table["bytes"]),
    }


def _looked_up(values: IntVector, place: IntVector, missing: int) -> IntVector:
    return np.append(values, missing)[place]


def _homes(tasks: Columns, vocabulary: Vocabulary) -> Columns:
    names = (*_SCOPE, "task", "last_task", *_PLACE)
    rows = np.flatnonzero(tasks["counted_s"] > 0)
    groups = Groups.of(*(tasks[name][rows] for name in names))
    table = groups.keys(rows_of(tasks, rows), names)
    seconds = groups.sums(tasks["counted_s"][rows])
    number = table["last_task"] - table["task"] + 1
    row = np.repeat(np.arange(len(number)), number)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
    task = table["task"][row] + offset
    rank = vocabulary_ranks(vocabulary)
    scope = [table[name][row] for name in _SCOPE]
    ties = [rank[table[name][row]] for name in reversed(_PLACE)]
    order = np.lexsort((*ties, table["task"][row], -seconds[row], task, *scope))
    first = order[Groups.of(*(key[order] for key in (*scope, task))).first]
    chosen = row[first]
    return {
        **{name: table[name][chosen] for name in _SCOPE},
        "source_task": task[first],
        "sender": table["task"][chosen],
        **{f"source_{name}": table[name][chosen] for name in _PLACE},
    }


def vocabulary_ranks(vocabulary: Vocabulary) -> IntVector:
    """Place of each word in the alphabet."""
    words = np.array(vocabulary.words, dtype=object)
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[np.argsort(words)] = np.arange(len(words))
    return ranks


# -- dealt out ---------------------------------------------------------------------------------


def _dealt_out(arrived: Columns, sent: Columns, tasks: Columns, vocabulary: Vocabulary) -> Columns:
    """Share what came from a component over its tasks, by what each of them put on the stream.

    Storm counts its acknowledgements where they arrive but not where they are sent: on a stream
    that nobody says to have put anything on, by what each of them took in.
    """
    shares = _shares(sent, tasks, vocabulary)
    keys = (*_SCOPE, "source")
    mine, _ = matches([arrived[n] for n in (*keys, "stream")], [shares[n] for n in (*keys, "by")])
    is_named = np.zeros(length(arrived), dtype=bool)
    is_named[mine] = True
    by = np.where(is_named, arrived["stream"], vocabulary.number(_ANY))
    mine, theirs = matches([*(arrived[n] for n in keys), by], [shares[n] for n in (*keys, "by")])
    # A source that never reported still sent these tuples, from we do not know where.
    lost = np.ones(length(arrived), dtype=bool)
    lost[mine] = False
    unknown = {name: np.full(int(lost.sum()), NO_WORD) for name in _SENDER}
    unknown["source_task"] = np.full(int(lost.sum()), NO_NUMBER)
    dealt = rows_of(arrived, mine) | {name: shares[name][theirs] for name in _SENDER}
    for name in ("tuples", "bytes"):
        dealt[name] = dealt[name] * shares["share"][theirs]
    return joined([dealt, rows_of(arrived, lost) | unknown])


def _shares(sent: Columns, tasks: Columns, vocabulary: Vocabulary) -> Columns:
    """Part of each task in what its component put on each stream, and on any."""
    on_any = np.full(length(tasks), vocabulary.number(_ANY))
    table = joined([
        {**{name: sent[name] for name in _RECEIVER}, "by": sent["stream"], "sent": sent["sent"]},
        {**{name: tasks[name] for name in _RECEIVER}, "by": on_any, "sent": tasks["worked"]},
    ])  # fmt: skip
    names = (*_RECEIVER, "by")
    groups = Groups.of(*(table[name] for name in names))
    keys, amount = groups.keys(table, names), groups.sums(table["sent"])
    keys, amount = rows_of(keys, amount > 0), amount[amount > 0]
    every = Groups.of(*(keys[name] for name in (*_SCOPE, "component", "by")))
    share: FloatVector = amount / every.sums(amount)[every.of_row]
    return {
        **{name: keys[name] for name in (*_SCOPE, "by")},
        "source": keys["component"],
        "source_task": keys["task"],
        **{f"source_{name}": keys[name] for name in _PLACE},
        "share": share,
    }


def _distances(pairs: Columns, vocabulary: Vocabulary) -> IntVector:
    def same(name: str) -> BoolVector:
        return np.asarray(pairs[f"source_{name}"] == pairs[f"target_{name}"])

    near, machine, rack, far = (vocabulary.number(name) for name in DISTANCES)
    at_most_machine = np.where(same("worker"), near, machine)
    distance = np.where(same("host"), at_most_machine, np.where(same("rack"), rack, far))
    return np.where(pairs["source_host"] == NO_WORD, NO_WORD, distance)

"""What profiles need of all hours of a store, added up. Small: nothing here has a row a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.telemetry.manifest import Manifest
from penstock.telemetry.slots.bundles import read_bundle
from penstock.telemetry.slots.columns import (
    NO_WORD,
    Columns,
    Groups,
    Vocabulary,
    from_arrow,
    joined,
    length,
    matches,
    rows_of,
)
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.hours import EDGE, GROUP, SUMMARIES, added, ranked, spans, stream_sums
from penstock.telemetry.slots.sums import SampleSizes, in_sample, worker_numbers

#: Hours whose minutes tell what a worker process costs anyway: the newest.
_MOST_HOURS = 200
_STREAM = ("topology", "component", "stream")


@dataclass(frozen=True)
class Summaries:
    """The summaries of all hours below each other, each row with its hour."""

    root: str
    manifest: Manifest
    vocabulary: Vocabulary
    tables: Mapping[str, Columns]
    #: Columns of tables' files read before, by file.
    known: dict[str, Columns] = field(default_factory=dict)

    def text(self, column: Any) -> list[str]:
        words = self.vocabulary.words
        return [words[number] for number in column]

    # -- groups -------------------------------------------------------------------------------

    def groups(self) -> list[dict[str, Any]]:
        """Windows of each component on each machine type, how many can be fitted, its memory."""
        table = self.tables["groups"]
        counted = [n for n in SUMMARIES["groups"].names if n not in GROUP]
        groups = Groups.of(*(table[name] for name in GROUP))
        names = [self.text(table[name][groups.first]) for name in GROUP]
        sums = {name: groups.sums(table[name]).astype(np.int64) for name in counted}
        memory = self._memory()
        rows = []
        for n, key in enumerate(zip(*names, strict=True)):
            row: dict[str, Any] = dict(zip(GROUP, key, strict=True))
            rows.append(
                row | {c: int(sums[c][n]) for c in counted} | {"memory_mb": memory.get(key)}
            )
        return sorted(rows, key=lambda row: tuple(row[name] for name in GROUP))

    def _memory(self) -> dict[tuple[str, ...], float]:
        """What 95 of 100 windows of each group do not exceed."""
        table = self.tables["memory"]
        groups = Groups.of(*(table[name] for name in GROUP))
        keys = zip(*(self.text(table[name][groups.first]) for name in GROUP), strict=True)
        order = np.lexsort((table["memory_mb"], groups.of_row))
        result = {}
        for number, key in enumerate(keys):
            own = order[groups.of_row[order] == number]
            below = np.cumsum(table["windows"][own])
            place = int(np.searchsorted(below, np.ceil(0.95 * below[-1])))
            result[key] = float(table["memory_mb"][own][place])
        return result

    def windows_by_status(self) -> dict[str, int]:
        table = self.tables["groups"]
        names = {"used": "used", "warm-up": "warm_up", "baseline": "baseline", "unknown": "unknown"}
        counts = {status: int(table[name].sum()) for status, name in names.items()}
        return {status: count for status, count in counts.items() if count}

    # -- streams ------------------------------------------------------------------------------

    def stream_halves(self) -> dict[tuple[str, str, str], list[dict[str, float]]]:
        """Sums by stream, of the earlier and the later half of its blocks where there are both."""
        table = self.tables["stream_sums"]
        streams = Groups.of(*(table[name] for name in _STREAM))
        first, last = streams.least(table["first_block"]), streams.most(table["last_block"])
        middle = ((first + last) / 2)[streams.of_row]
        mixed = (table["first_block"] <= middle) & (table["last_block"] > middle)
        # In hours that have the middle in them, blocks are told apart one by one.
        blocks = self._blocks(sorted(set(table["hour"][mixed].tolist())))
        whole = rows_of(table, ~mixed) | {"late": (table["first_block"] > middle)[~mixed]}
        names = (*_STREAM, "late", *_SUMS)
        parts = [{name: whole[name] for name in names}]
        if blocks:
            keys = rows_of(table, streams.first)
            mine, theirs = matches(
                [blocks[name] for name in _STREAM], [keys[name] for name in _STREAM]
            )
            own = rows_of(blocks, mine)
            chosen = self._is_mixed(own, rows_of(table, mixed))
            own = rows_of(own, chosen)
            late = own["block"] > ((first + last) / 2)[theirs][chosen]
            parts += [
                stream_sums(rows_of(own, late == half)) | {"late": np.full(0, half)}
                for half in (False, True)
            ]
            for part, half in zip(parts[1:], (False, True), strict=True):
                part["late"] = np.full(length(part), half)
        every = joined([{name: part[name] for name in names} for part in parts])
        return self._halves(every)

    def _is_mixed(self, blocks: Columns, mixed: Columns) -> np.ndarray:
        keys = (*_STREAM, "hour")
        mine, _ = matches([blocks[n] for n in keys], [mixed[n] for n in keys])
        chosen = np.zeros(length(blocks), dtype=bool)
        chosen[mine] = True
        return chosen

    def _blocks(self, hours: Sequence[int]) -> Columns:
        words, parts = self.vocabulary.words, self.manifest.parts.get("streams", {})
        files = StoreFiles(self.root)
        tables = [
            from_arrow(
                files.read(parts[words[hour]], None, (*_STREAM, "run", "hour")), self.vocabulary
            )
            for hour in hours
        ]
        return joined(tables) if tables else {}

    def _halves(self, sums: Columns) -> dict[tuple[str, str, str], list[dict[str, float]]]:
        groups = Groups.of(*(sums[name] for name in _STREAM), sums["late"].astype(np.int64))
        names = [self.text(sums[name][groups.first]) for name in _STREAM]
        late = sums["late"][groups.first]
        totals = {
            n: groups.known_sums(sums[n]) if n in _MAY_LACK else groups.sums(sums[n]) for n in _SUMS
        }
        halves: dict[tuple[str, str, str], list[tuple[bool, dict[str, float]]]] = {}
        for n, (topology, component, stream) in enumerate(zip(*names, strict=True)):
            part = {name: float(values[n]) for name, values in totals.items()}
            halves.setdefault((topology, component, stream), []).append((bool(late[n]), part))
        return {
            key: [part for _, part in sorted(parts, key=lambda half: half[0])]
            for key, parts in sorted(halves.items())
        }

    def edges(self) -> list[dict[str, Any]]:
        """Tuples/s on every stream between components: the mean of all hours that have any."""
        names, table = EDGE, self.tables["edges"]
        groups = Groups.of(*(table[name] for name in names))
        texts = zip(*(self.text(table[name][groups.first]) for name in names), strict=True)
        per_s = groups.sums(table["tuples_per_s"]) / groups.sums(table["hours"])
        size = groups.known_sums(table["bytes"]) / groups.sums(table["tuples"])
        rows = [
            dict(zip(names, key, strict=True))
            | {"tuples_per_s": float(per_s[n]), "tuple_bytes": float(size[n])}
            for n, key in enumerate(texts)
        ]
        return sorted(rows, key=lambda row: tuple(row[name] for name in names))

    def share_estimated(self) -> float:
        """Share of pairs of instances whose sender had to be estimated."""
        table = self.tables["edges"]
        pairs = int(table["pairs"].sum())
        return float(table["estimated"].sum() / pairs) if pairs else 0.0

    # -- machines and workers -----------------------------------------------------------------

    def machine_cpu(self) -> list[tuple[str, float]]:
        """Mean CPU points of each host over all minutes seen."""
        table = self._table("utilisation", ("host", "minutes", "cpu_points_mean"))
        if not table:
            return []
        groups = Groups.of(table["host"])
        used = groups.known_sums(table["cpu_points_mean"] * table["minutes"])
        mean = used / groups.sums(table["minutes"].astype(np.float64))
        hosts = self.text(table["host"][groups.first])
        return sorted((h, float(m)) for h, m in zip(hosts, mean, strict=True) if not np.isnan(m))

    def own_cpu(self) -> dict[str, tuple[tuple[float, ...], int]]:
        """By machine type, quartiles of what a process costs beside its tasks, and of how many
        minutes they are."""
        table = self._table("workers", ("machine_type", "own_cpu_points"), newest=_MOST_HOURS)
        if not table:
            return {}
        known = rows_of(table, ~np.isnan(table["own_cpu_points"]))
        groups = Groups.of(known["machine_type"])
        quartiles = [ranked(groups, known["own_cpu_points"], q) for q in (0.25, 0.5, 0.75)]
        kinds, minutes = self.text(known["machine_type"][groups.first]), groups.counts()
        return {
            kind: (tuple(float(q[n]) for q in quartiles), int(minutes[n]))
            for n, kind in enumerate(kinds)
        }

    def _table(self, name: str, columns: Sequence[str], newest: int | None = None) -> Columns:
        parts = self.manifest.parts.get(name, {})
        hours = sorted(parts)[-newest:] if newest else sorted(parts)
        text = [column for column in columns if column in ("host", "machine_type")]
        tables = []
        for path in (parts[hour] for hour in hours):
            if path not in self.known:
                table = StoreFiles(self.root).read(path, columns, text)
                self.known[path] = from_arrow(table, self.vocabulary)
            tables.append(self.known[path])
        return joined(tables) if tables else {}

    def sizes(self) -> SampleSizes:
        """How many windows there are."""
        table = self.tables["worker_rates"]
        kinds = Groups.of(table["machine_type"])
        moments = kinds.sums(table["moments"]).astype(np.int64)
        return SampleSizes(
            groups={tuple(r[n] for n in GROUP): r["usable"] for r in self.groups()},  # type: ignore[misc]
            workers=dict(
                zip(self.text(table["machine_type"][kinds.first]), moments.tolist(), strict=True)
            ),
        )

    # -- time ---------------------------------------------------------------------------------

    def time_covered(self) -> float:
        """Share of the time between a task's first and last window that its windows cover."""
        spans = self.tables["spans"]
        groups = Groups.of(*(spans[name] for name in ("topology", "run", "task")))
        first = groups.least(spans["first_ms"])
        first_window = np.full(len(groups), np.nan)
        is_first = spans["first_ms"] == first[groups.of_row]
        first_window[groups.of_row[is_first]] = spans["first_window_s"][is_first]
        span = (groups.most(spans["last_ms"]) - first) / 1000 + np.nan_to_num(first_window)
        return min(1.0, float(spans["seen_s"].sum() / span.sum())) if span.sum() else 0.0

    def host_spans(self) -> list[tuple[str, str, int, int, float]]:
        """Run, host, first and last moment, and the longest window."""
        spans = self.tables["spans"]
        names = ("topology", "run", "host")
        groups = Groups.of(*(spans[name] for name in names))
        texts = [self.text(spans[name][groups.first]) for name in names]
        first, last = groups.least(spans["first_ms"]), groups.most(spans["last_ms"])
        longest = groups.most(spans["longest_window_s"]) * 1000
        return [
            (f"{topology}/{run}", host, int(first[n]), int(last[n]), float(longest[n]))
            for n, (topology, run, host) in enumerate(zip(*texts, strict=True))
        ]


#: Hours that live records still go to; older ones are added up once.
_OPEN_HOURS = 2
#: Tables of which some columns are read whole.
_READ = ("utilisation", "workers")


class SummaryReader:
    """Reads summaries of hours, and of those that did not change no second time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._vocabulary = Vocabulary()
        #: The hours that were added up, by their files, and what they add up to.
        self._known: dict[str, Columns] = {}
        self._closed: tuple[tuple[str, ...], dict[str, Columns]] | None = None

    def read(self, manifest: Manifest) -> Summaries:
        hours = sorted(manifest.parts.get("hours", {}).items())
        closed, newest = hours[:-_OPEN_HOURS], hours[-_OPEN_HOURS:]
        files = tuple(path for _, path in closed)
        if self._closed is None or self._closed[0] != files:
            tables = [self._empty(), *(self._hour(*hour) for hour in closed)]
            self._closed = files, _rolled_up(_joined(tables))
        tables = [self._closed[1], *(self._hour(*hour) for hour in newest)]
        paths = {path for name in _READ for path in manifest.parts.get(name, {}).values()}
        for gone in set(self._known) - paths:
            del self._known[gone]
        return Summaries(self._root, manifest, self._vocabulary, _joined(tables), self._known)

    def _empty(self) -> dict[str, Columns]:
        none = {"hour": np.zeros(0, dtype=np.int64)}
        return {
            name: from_arrow(schema.empty_table(), self._vocabulary) | none
            for name, schema in SUMMARIES.items()
        }

    def _hour(self, hour: str, path: str) -> dict[str, Columns]:
        number = self._vocabulary.number(hour)
        tables = {}
        for name, table in read_bundle(self._root, path).items():
            columns = from_arrow(table, self._vocabulary)
            tables[name] = columns | {"hour": np.full(len(table), number)}
        return tables


def _joined(tables: Sequence[Mapping[str, Columns]]) -> dict[str, Columns]:
    return {name: joined([table[name] for table in tables]) for name in SUMMARIES}


def _rolled_up(tables: dict[str, Columns]) -> dict[str, Columns]:
    """Tables that are only ever added up, with one row for all hours; their hour says nothing."""
    counted = [name for name in SUMMARIES["groups"].names if name not in GROUP]
    edges = [name for name in SUMMARIES["edges"].names if name not in EDGE]
    rolled = {
        "groups": added(tables["groups"], GROUP, counted),
        "memory": added(tables["memory"], (*GROUP, "memory_mb"), ["windows"]),
        "spans": spans(tables["spans"]),
        "edges": _added_edges(tables["edges"], edges),
    }
    for table in rolled.values():
        table["hour"] = np.full(length(table), NO_WORD)
    return tables | rolled


def _added_edges(edges: Columns, counted: Sequence[str]) -> Columns:
    groups = Groups.of(*(edges[name] for name in EDGE))
    sums = {name: groups.known_sums(edges[name].astype(np.float64)) for name in counted}
    whole = ("pairs", "estimated", "hours")
    sums |= {name: sums[name].astype(np.int64) for name in whole}
    return {**groups.keys(edges, EDGE), **sums}


_SUMS = ("i", "o", "ii", "io", "oo", "bytes", "sized_tuples", "seconds", "blocks")
_MAY_LACK = ("bytes", "sized_tuples")


def worker_windows(summaries: Summaries, sizes: SampleSizes) -> Columns:
    """What processes used beside their tasks, in a sample of moments, as points of a fit.

    How many of a worker's tuples enter or leave it is known by the hour; in each window as many as
    in proportion.
    """
    vocabulary = summaries.vocabulary
    points, rates = summaries.tables["worker_points"], summaries.tables["worker_rates"]
    worker = ("run", "hour", "host", "worker")
    task = worker_numbers(vocabulary, points["host"], points["worker"])
    words = vocabulary.words
    number = np.array([sizes.workers.get(word, 0) for word in words] or [0])
    kept = in_sample(
        vocabulary, points["run"], task, points["time_ms"], number[points["machine_type"]]
    )
    table = rows_of(points | {"task": task}, kept)
    usual = _looked_up(table, rates, (*worker, "machine_type"), rates["rate"] / rates["moments"])
    crossings = summaries.tables["crossings"]
    crossing = _looked_up(table, crossings, worker, crossings["crossing"])
    with np.errstate(divide="ignore", invalid="ignore"):
        proportional = np.where(usual > 0, crossing * table["rate"] / usual, np.nan)
    return {
        "machine_type": table["machine_type"],
        "run": table["run"],
        "task": table["task"],
        "time_ms": table["time_ms"],
        "rate": table["rate"],
        "cpu_points": table["whole_cpu_points"] - table["tasks_cpu_points"],
        "rate_variance": table["rate_variance"],
        "instances": np.ones(length(table)),
        "crossing": proportional,
    }


def _looked_up(table: Columns, other: Columns, keys: Sequence[str], values: Any) -> Any:
    mine, theirs = matches([table[n] for n in keys], [other[n] for n in keys])
    result = np.full(length(table), np.nan)
    result[mine] = values[theirs]
    return result

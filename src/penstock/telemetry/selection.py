"""Which records count, when only those of a running cluster are wanted; and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import InputError


@dataclass(frozen=True)
class Selection:
    """Records of these topologies on these hosts, since then."""

    topologies: frozenset[str]
    #: Machine type by every name that a record may have for a machine.
    hosts: Mapping[str, str]
    since_ms: int | None = None

    def of(self, samples: DataFrame) -> DataFrame:
        return samples.where(self._condition())

    def _condition(self) -> Column:
        chosen = F.col("topology").isin(sorted(self.topologies)) & F.col("host").isin(
            sorted(self.hosts)
        )
        return chosen if self.since_ms is None else chosen & (F.col("time_ms") > self.since_ms)


@dataclass(frozen=True)
class Lot:
    """Records of one topology on one host."""

    topology: str
    host: str
    records: int
    last_ms: int


def survey(samples: DataFrame) -> list[Lot]:
    """What there is, before anything is left out."""
    rows = (
        samples.groupBy("topology", "host")
        .agg(F.count("*").alias("records"), F.max("time_ms").alias("last_ms"))
        .orderBy("topology", "host")
        .collect()
    )
    return [Lot(r["topology"], r["host"], int(r["records"]), int(r["last_ms"])) for r in rows]


def require_some(
    lots: Iterable[Lot], selection: Selection, now_ms: int, say: Callable[[str], None]
) -> None:
    """An error if nothing is left, with the first reason; a word on what is left out."""
    chosen = list(lots)
    running, hosts = sorted(selection.topologies), sorted(selection.hosts)
    chosen = _kept(chosen, "topology", selection.topologies, f"running are {_names(running)}", say)
    chosen = _kept(chosen, "host", selection.hosts, f"the cluster has {_names(hosts)}", say)
    if selection.since_ms is None or any(lot.last_ms > selection.since_ms for lot in chosen):
        return
    newest = max(lot.last_ms for lot in chosen)
    age_min, asked_min = ((now_ms - ms) / 60_000 for ms in (newest, selection.since_ms))
    raise InputError(
        f"no telemetry of the last {asked_min:.4g} minutes: the newest line is {age_min:.4g} "
        "minutes old; give a longer --since, or see whether the reporter still writes"
    )


def _kept(
    lots: list[Lot],
    what: str,
    known: Iterable[str],
    there: str,
    say: Callable[[str], None],
) -> list[Lot]:
    """Lots whose topology or host is known."""
    names = set(known)
    chosen = [lot for lot in lots if getattr(lot, what) in names]
    others = sorted({getattr(lot, what) for lot in lots} - names)
    if not chosen:
        raise InputError(f"the telemetry is of {what} {_names(others)}; {there}")
    if others:
        left = sum(lot.records for lot in lots) - sum(lot.records for lot in chosen)
        say(f"{left:,} lines of {what} {_names(others)} are left out: {there}")
    return chosen


def _names(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more if names else "none"

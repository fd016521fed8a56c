"""A topology running as a PySpark stream: batch after batch through its components.

Structured Streaming brings the batches and remembers in its checkpoint which it has brought;
:mod:`penstock.engines.spark.commits` sees to it that each counts once. Between two batches
everything may change: the plan, and with it instances, places and shares.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.engines.base import Batch
from penstock.engines.spark.code import Code
from penstock.engines.spark.commits import Commits
from penstock.engines.spark.dataflow import Dataflow
from penstock.engines.spark.deployment import Deployment
from penstock.engines.spark.instance import FAILED
from penstock.engines.spark.measured import Window, WorkerClocks, samples
from penstock.engines.spark.memory import Memory, hot_keys
from penstock.engines.spark.placement import Places
from penstock.engines.spark.run_status import BatchStatus
from penstock.engines.spark.sources import (
    Arrived,
    KafkaSource,
    OfferedSource,
    Source,
    topic_lag,
)
from penstock.errors import PenstockError
from penstock.files.writer import write_text
from penstock.model.telemetry import Sample
from penstock.model.topology import Kind, Topology
from penstock.telemetry.batch_stream import BatchStream
from penstock.telemetry.spark_errors import SparkFailed


class ComponentFailed(SparkFailed):
    """A function of the user's raised an exception."""


class PlaceLost(PenstockError):
    """Instances are bound to a place where no executor is any more."""

    def __init__(self, places: Iterable[str]) -> None:
        self.places = sorted(places)
        super().__init__(f"no executor left at {', '.join(self.places)}")


_LOOKS_EVERY_S = 1.0
#: An executor that crashed is back by then; a machine that is gone is not.
LOST_AFTER_S = 20.0
STATE, TELEMETRY, SAMPLES = "state", "telemetry", "samples.jsonl"
#: In the facts of a commit: rows that were taken in all.
TAKEN = "taken"


@dataclass
class Runner:
    """One topology, its code and a folder for all it leaves behind."""

    spark: SparkSession
    topology: Topology
    code: Code
    source: Source
    folder: Path
    #: Asked before every batch, so that a plan can be replaced between two.
    deployment: Callable[[], Deployment]
    on_batch: Callable[[Batch], None] = lambda _batch: None
    #: Where instances are bound to places.
    places: Places | None = None
    lost_after_s: float = LOST_AFTER_S
    #: Seconds from the start of one batch to the next; 0 for as fast as they go.
    every_s: float = 0.0
    #: Gets each whole batch as it looks from the source.
    on_status: Callable[[BatchStatus], None] = lambda _status: None
    clock: Callable[[], float] = time.time
    _began: float = field(default_factory=time.monotonic)
    _before: float = 0.0
    _clocks: WorkerClocks = field(default_factory=WorkerClocks)

    @property
    def commits(self) -> Commits:
        return Commits(self.folder)

    def run(self, stop: Callable[[], bool]) -> None:
        """Until told to stop; a batch that is under way is finished first."""
        self.commits.publish(SAMPLES, TELEMETRY)
        self._before = time.monotonic()
        writer = self.source.stream(self.spark).writeStream
        writer = writer.trigger(processingTime=f"{round(1000 * self.every_s)} milliseconds")
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        watch = _PlaceWatch(self.places, self.lost_after_s)

        def stop_or_lost() -> bool:
            if not watch.lost():
                return stop()
            # Its stages would wait for ever. The batch is run again by whoever goes on.
            self.spark.sparkContext.cancelAllJobs()
            return True

        try:
            BatchStream(self._run_batch).run(writer, stop_or_lost)
        except SparkFailed as error:
            if not watch.lost():
                raise _of_component(error) or error from error.__cause__
        if watch.lost():
            raise PlaceLost(watch.lost())

    def _run_batch(self, rows: DataFrame, number: int) -> None:
        commits = self.commits
        if number <= commits.last:
            return  # committed by us, not yet by Spark, when the driver died
        began = time.monotonic()
        rows.sparkSession.conf.set("spark.sql.adaptive.enabled", "false")
        folder = commits.begin(number)
        deployment = self.deployment()
        profiles = self.places.profiles if self.places else {}
        hot = hot_keys(commits, deployment)
        flow = Dataflow(self.topology, self.code, deployment, profiles, hot)
        memory = Memory(flow, commits)
        source, arrived = self._taking(commits)
        notes = flow.run(source, rows, memory.known(), folder)
        now = time.monotonic()
        # Batches at fixed times stand for the time between them, others for what they took.
        seconds = max(self.every_s, now - began) if self.every_s else now - self._before
        self._before = now
        samples = self._samples(notes, seconds)
        _write_lines(folder / SAMPLES, samples)
        facts = {"rows": sum(s.produced or 0 for s in samples), "seconds": seconds}
        taken = {TAKEN: source.first + source.count} if isinstance(source, OfferedSource) else {}
        commits.commit(number, facts | taken | memory.facts(notes))
        commits.publish(SAMPLES, TELEMETRY)
        for name in self.code.stateful:
            commits.forget_before(f"{STATE}/{name}", number)
        self.on_batch(Batch(number, seconds, tuple(samples)))
        self.on_status(self._status(number, seconds, float(facts["rows"]), source, arrived))

    def _taking(self, commits: Commits) -> tuple[Source, Arrived | None]:
        """The source of one batch, and what had come to it where it knows."""
        if not isinstance(self.source, OfferedSource):
            return self.source, None
        taken: Any = commits.facts(commits.last).get(TAKEN, 0) if commits.last >= 0 else 0
        arrived = self.source.arrived(int(taken), self.clock())
        return self.source.taking(arrived), arrived

    def _status(
        self, number: int, seconds: float, rows: float, source: Source, arrived: Arrived | None
    ) -> BatchStatus:
        now = self.clock()
        if isinstance(source, KafkaSource):
            return BatchStatus(number, now, seconds, rows, *(self._topic_lag() or (None, None)))
        if not isinstance(source, OfferedSource) or arrived is None:
            return BatchStatus(number, now, seconds, rows)
        left = source.arrived(source.first + source.count, now)
        latency = now - arrived.waits_since_s if source.count else None
        return BatchStatus(number, now, seconds, rows, left.offered, left.backlog, latency)

    def _topic_lag(self) -> tuple[float, float] | None:
        """As Spark told it when it planned the newest batch that is whole."""
        for query in self.spark.streams.active:
            if (progress := query.lastProgress) is not None and progress.sources:
                return topic_lag(progress.sources[0].latestOffset, progress.sources[0].endOffset)
        return None

    @cached_property
    def _driver(self) -> str:
        java = self.spark.sparkContext._jvm
        assert java is not None
        return str(java.java.lang.ProcessHandle.current().pid())

    def _samples(self, notes: list[str], seconds: float) -> list[Sample]:
        spouts = frozenset(c.name for c in self.topology.components if c.kind is Kind.SPOUT)
        window = Window(
            end_ms=int(self.clock() * 1000),
            length_ms=round(1000 * seconds),
            topology=self.topology.name,
            run=self.folder.name,
            uptime_s=time.monotonic() - self._began,
            driver=self._driver,
        )
        return samples(notes, window, spouts, self._clocks)


class _PlaceWatch:
    """Notices places that stay without an executor."""

    def __init__(self, places: Places | None, lost_after_s: float) -> None:
        self.places, self.lost_after_s = places, lost_after_s
        self._seen: dict[str, float] = {}
        self._looked = -math.inf

    def lost(self) -> list[str]:
        """Places that were there and are not, for long enough."""
        if self.places is None:
            return []
        now = time.monotonic()
        if now - self._looked >= _LOOKS_EVERY_S:
            self._looked = now
            self._seen |= dict.fromkeys(self.places.alive(), now)
            # A place out of use may go.
            self._seen = {p: seen for p, seen in self._seen.items() if p in self.places.used}
        return [place for place, seen in self._seen.items() if now - seen > self.lost_after_s]


def _of_component(error: SparkFailed) -> ComponentFailed | None:
    """The failure of a user's function, if that is what ended Spark."""
    failure = re.search(f"{FAILED}(.*?){FAILED}", str(error.__cause__), re.DOTALL)
    return ComponentFailed(failure.group(1)) if failure else None


def _write_lines(path: Path, samples: list[Sample]) -> None:
    write_text(path, "".join(json.dumps(sample.to_dict()) + "\n" for sample in samples))

"""Spark as an engine: it runs topologies from code, under a plan file that it looks at itself.

What runs, and a new plan for it, are files of the run's folder; no connection to it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from penstock.engines.base import (
    Ability,
    Capabilities,
    ClosedLoopResult,
    Engine,
    ResultRows,
    RunOrder,
    Say,
    WatchOrder,
)
from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.planning import SCHEDULER, as_spark_runs_it
from penstock.engines.spark.session import LOCAL, require_spark
from penstock.errors import InputError, UsageError
from penstock.model.topology import Topology

if TYPE_CHECKING:
    from penstock.engines.lab.lab import Lab
    from penstock.engines.lab.machines import LabMachine
    from penstock.engines.spark.watched_run import SparkRunSession


@dataclass(frozen=True)
class SparkEngine(Engine):
    """One Spark, local or a standalone cluster."""

    name: ClassVar[str] = "spark"
    summary: ClassVar[str] = "Apache Spark: topologies from code, on real tuples, under a plan"
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset(
            {
                Ability.RUN,
                Ability.LAB,
                Ability.DEMO,
                Ability.SNAPSHOT,
                Ability.PUBLISH,
                Ability.TELEMETRY,
                Ability.WATCH,
            }
        ),
        scheduler=SCHEDULER,
        weighted=True,
        changes_counts=True,
    )

    master: str = field(default=LOCAL, metadata={"help": "Spark's master, local[…] or spark://…"})
    place_by: PlaceBy | None = field(
        default=None, metadata={"help": "what workers announce: type, machine or nothing"}
    )
    config: Mapping[str, str] = field(
        default_factory=dict, metadata={"help": "settings of Spark's"}
    )
    run_folder: Path | None = field(
        default=None, metadata={"help": "the folder (--out) of the run that is asked or watched"}
    )
    master_page: str | None = field(
        default=None, metadata={"help": "address of the standalone master's page, http://…:8080"}
    )

    def __post_init__(self) -> None:
        if not self.master.startswith(("local", "spark://")):
            raise UsageError(f"--master takes local[…] or spark://…, not {self.master}")
        if self.run_folder is not None:
            object.__setattr__(self, "run_folder", Path(self.run_folder))

    def adapt(self, topology: Topology) -> Topology:
        return as_spark_runs_it(topology)

    @contextmanager
    def connect(self, say: Say) -> Iterator[SparkRunSession]:
        with self.watch(WatchOrder(say)) as session:
            yield session

    @contextmanager
    def watch(self, order: WatchOrder) -> Iterator[SparkRunSession]:
        from penstock.engines.spark.watched_run import SparkRunSession

        yield SparkRunSession(self._run_folder, self.master_page, order)

    def telemetry(self) -> Sequence[str]:
        return [str(self._run_folder / "telemetry")]

    @property
    def _run_folder(self) -> Path:
        if self.run_folder is None:
            raise InputError(
                "name the folder of the run, its --out: --engine-option run-folder=FOLDER"
            )
        return self.run_folder

    def run(self, order: RunOrder) -> None:
        require_spark()
        from penstock.engines.spark.start import SparkTarget, start

        place_by = self.place_by
        if place_by is None:
            is_cluster = self.master.startswith("spark://")
            place_by = PlaceBy.TYPE if is_cluster else PlaceBy.NOTHING
        start(order, SparkTarget(self.master, place_by, self.config))

    def results(self, folder: Path, rows: int) -> Sequence[ResultRows]:
        from penstock.engines.spark.results import newest_results

        return [
            ResultRows(name, table.num_rows, table.slice(0, rows).to_pydict())
            for name, table in newest_results(folder).items()
        ]

    def require_lab(self, say: Say) -> None:
        require_spark()

    def start_lab(self, lab: Lab) -> str:
        from penstock.engines.spark.standalone import start_lab

        return start_lab(lab)

    def closed_loop(
        self, topology: Topology, machines: Sequence[LabMachine], seconds: float, say: Say
    ) -> ClosedLoopResult:
        require_spark()
        from penstock.engines.spark.lab_demo import closed_loop

        return closed_loop(topology, machines, seconds, say)

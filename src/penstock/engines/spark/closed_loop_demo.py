"""The closed loop on a lab, by hand: run, measure, plan, run again under the plan.

Every observation waits until the lab holds its machines to their points, leaves out the first
batches after that, and then watches for so many seconds.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from penstock.engines.base import Batch
from penstock.engines.lab.cluster import lab_cluster, with_own_use
from penstock.engines.lab.lab import Lab
from penstock.engines.lab.profile import profile_of
from penstock.engines.spark.code import Code
from penstock.engines.spark.deployment import Deployment, Instance, PlaceBy
from penstock.engines.spark.observed import BatchWatch, RunObservation, rows_of
from penstock.engines.spark.placement import EXECUTOR_MB, Places, settings
from penstock.engines.spark.planning import SCHEDULER, as_spark_runs_it
from penstock.engines.spark.runner import TELEMETRY, Runner
from penstock.engines.spark.session import spark_session
from penstock.engines.spark.sources import RateSource
from penstock.errors import PenstockError
from penstock.evaluate.capacity import capacity
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.topology import Kind, Topology
from penstock.planning import solve
from penstock.telemetry.findings import NotMeasured

_LIMITED_WITHIN_S = 240.0
_FIRST_LOOK_ROWS, _FIRST_LOOK_LEVELS, _FIRST_LOOK_BATCHES = 15_000, (0.2, 1.0), 8
_WATCHED = "watched"
#: Costs are measured at these parts of the highest load, in turn, a batch so often; and held
#: against batches of another.
_MEASURE_LEVELS, _MEASURE_EVERY_S = (0.2, 0.6, 1.0), 4.0
_OTHER_LEVEL = 0.8
#: Fifteen batches of each; the pipeline asks for three minutes of a worker's own cost.
_MEASURE_S = 240.0
#: On a computer that others use as well, what they do may hide a small cost.
_MEASURED_AT_MOST = 3
#: The highest load takes this part of the slowest machine; the rest is for Spark's own work.
_FILL = 0.4


@dataclass
class ClosedLoop:
    """One topology on one lab."""

    lab: Lab
    master: str
    topology: Topology
    code: Code
    folder: Path
    say: Callable[[str], None] = lambda _text: None
    #: What each machine's own daemon uses, once costs were measured.
    own_points: dict[str, float] = field(default_factory=dict)

    @property
    def slots(self) -> int:
        """Tasks that all machines can work on at once."""
        return sum(self.lab.slots(machine) for machine in self.lab.machines)

    @contextmanager
    def alone(self) -> Iterator[SparkSession]:
        """A session as Spark makes it, on all machines."""
        config = {
            "spark.cores.max": str(self.slots),
            "spark.executor.cores": "1",
            "spark.executor.memory": f"{EXECUTOR_MB}m",
        }
        with spark_session(self.master, config=config) as spark:
            yield spark

    @contextmanager
    def under(self, plan: Plan) -> Iterator[tuple[SparkSession, Deployment, Places]]:
        """A session for a plan, with executors at all its places."""
        deployment = Deployment.of(plan, self.topology.name, PlaceBy.TYPE)
        machines = int(plan.problem.cluster.machines_per_type.max())
        config = settings(deployment, machines)
        with spark_session(self.master, config=config) as spark:
            places = Places(spark)
            places.adopt(deployment)
            yield spark, deployment, places

    def equal(self, parts: int) -> Deployment:
        """So many equal instances of every component, wherever Spark likes."""
        names = [c.name for c in self.topology.components if c.kind is not Kind.ACKER]
        return Deployment(
            {
                name: tuple(Instance(parts * c + i, 1.0 / parts) for i in range(parts))
                for c, name in enumerate(names)
            }
        )

    def observe(
        self,
        name: str,
        spark: SparkSession,
        deployment: Deployment,
        source: RateSource,
        seconds: float,
        *,
        places: Places | None = None,
        every_s: float = 0.0,
    ) -> RunObservation:
        """BatchWatch a run for so many seconds after everything is warm."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        watch = BatchWatch(self.lab, seconds, time.monotonic() + _LIMITED_WITHIN_S)
        runner = Runner(
            spark, self.topology, self.code, source, folder, lambda: deployment, watch.see, places,
            every_s=every_s,
        )  # fmt: skip
        runner.run(watch.is_done)
        observation = watch.observed()
        self.say(
            f"{name}: {observation.rate_per_s:,.0f} tuples/s, {observation.batch_s:.2f} s a batch"
        )
        return observation

    def _keep(self, name: str, observation: RunObservation) -> None:
        """Set the telemetry of some batches apart, for a profile."""
        keep = self.folder / _WATCHED
        keep.mkdir(exist_ok=True)
        for batch in observation.batches:
            file = f"{batch.number:09d}.jsonl"
            shutil.copyfile(self.folder / name / TELEMETRY / file, keep / f"{name}-{file}")

    def cpu_s_per_tuple(self, spark: SparkSession) -> float:
        """A first idea of what a source tuple costs in all components, to choose batch sizes by."""
        folder = self.folder / "first-look"
        seen: list[Batch] = []
        deployment = self.equal(self.slots)
        source = RateSource(_FIRST_LOOK_ROWS, _FIRST_LOOK_LEVELS)
        Runner(
            spark, self.topology, self.code, source, folder, lambda: deployment, seen.append
        ).run(lambda: len(seen) >= _FIRST_LOOK_BATCHES)
        few, many = (sum(batch.cpu_s(name) for name in deployment.instances) for batch in seen[-2:])
        rows = _FIRST_LOOK_ROWS * (_FIRST_LOOK_LEVELS[1] - _FIRST_LOOK_LEVELS[0])
        # What a batch costs anyway is the same in both.
        return max(many - few, 0.1 * many) / rows

    def costs(self, cpu_s_per_tuple: float) -> tuple[Profile, RunObservation]:
        """What the pipeline finds in a run at three loads, the highest of which fills the slowest
        machine well; where that does not do, in another one as well.

        Batches at a fourth load come in between and stay out of the profile: what it predicts for
        them can be held against what they took at the same time. They are what is given back too.
        """
        slowest = min(machine.points for machine in self.lab.machines) / 100
        rows = self._rows(_FILL * slowest * self.slots, cpu_s_per_tuple, _MEASURE_EVERY_S)
        source = RateSource(rows, (*_MEASURE_LEVELS, _OTHER_LEVEL))

        def is_other(batch: Batch) -> bool:
            return rows_of(batch) == round(_OTHER_LEVEL * rows)

        profile: Profile | None = None
        seen, number = RunObservation(()), 0
        while profile is None:
            number += 1
            name = f"measure-{number}"
            with self.alone() as spark:
                more = self.observe(
                    name, spark, self.equal(self.slots), source, _MEASURE_S,
                    every_s=_MEASURE_EVERY_S,
                )  # fmt: skip
            self._keep(name, more.where(lambda batch: not is_other(batch)))
            seen += more
            try:
                profile = profile_of(self.folder / _WATCHED)
            except NotMeasured as error:
                if number == _MEASURED_AT_MOST:
                    raise
                self.say(f"{error}. Once more")
        self.own_points = seen.own_points()
        return profile, seen.where(is_other)

    def full_batch(self, cpu_s_per_tuple: float, seconds: float) -> RateSource:
        """As many rows as all machines together go through in so many seconds."""
        cores = sum(machine.points for machine in self.lab.machines) / 100
        return RateSource(self._rows(cores, cpu_s_per_tuple, seconds))

    def _rows(self, cores: float, cpu_s_per_tuple: float, seconds: float) -> int:
        rows = int(cores * seconds / cpu_s_per_tuple)
        return max(1000, rows // 1000 * 1000)

    def problem(self, profile: Profile) -> Problem:
        graph = as_spark_runs_it(self.topology)
        cluster = with_own_use(lab_cluster(self.lab.machines), self.own_points)
        return build(graph, cluster, profile, weighted=True)

    def plan(self, profile: Profile) -> Plan:
        planned = solve.plan(self.problem(profile), SCHEDULER)
        if planned.plan is None:
            reasons = (f"no plan for the lab: {why}" for why in planned.outcome.shortfalls)
            raise PenstockError(*reasons)
        return planned.plan


def predicted_points(
    problem: Problem, hosts: Mapping[str, float], rate_per_s: float
) -> dict[str, float]:
    """CPU of each machine at a rate that reaches every component in these shares."""
    machines = [problem.cluster.machine_index[host] for host in hosts]
    components = range(len(problem.components))
    placement = Placement.of(
        np.repeat(list(components), len(machines)),
        machines * len(components),
        share=[*hosts.values()] * len(components),
    )
    load = capacity(problem, placement)
    points = load.machine_fixed + load.machine_slope * rate_per_s
    return {host: float(points[m]) for host, m in zip(hosts, machines, strict=True)}

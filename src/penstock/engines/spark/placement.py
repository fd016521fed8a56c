"""How instances get to the machines a plan names: resource profiles of Spark.

Workers announce their machine type, and where one wishes their name, as a custom resource. A stage
whose profile asks for that resource runs on executors there and nowhere else. Profiles need dynamic
allocation, and Spark has that for standalone clusters without further services when it tracks
shuffles itself. Other masters are refused before anything starts: local ones have no executors, and
on YARN and Kubernetes it is the manager's labels that decide, which we have not tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark import inheritable_thread_target
from pyspark.resource import (
    ExecutorResourceRequests,
    ResourceProfile,
    ResourceProfileBuilder,
    TaskResourceRequests,
)
from pyspark.sql import SparkSession

from penstock.engines.spark.deployment import ANYWHERE, Deployment
from penstock.errors import Finding, InputError

EXECUTOR_MB = 600
#: Beside the instances, for handing on what they have put out: another machine waits for it, and
#: behind a long-running instance it would wait for that.
_HANDING_ON = 1
#: For stages of no place, which read the input.
_READING = 1
#: Cores that a worker must offer beyond those its instances use.
MORE_CORES = _HANDING_ON + _READING
_ARRIVES_WITHIN_S = 120.0
_STANDALONE = "spark://"


def resource_name(place: str) -> str:
    """A machine's name or type as Spark can spell it."""
    return re.sub(r"[^0-9A-Za-z_-]", "_", place)


def require_placeable(master: str, deployment: Deployment) -> None:
    """An error where the master cannot bring instances to the places of a plan."""
    bound = [place for place in deployment.places if place != ANYWHERE]
    if not bound or master.startswith(_STANDALONE):
        return
    where = ", ".join(bound)
    if master.startswith("local"):
        message = f"{master} is one process and cannot place instances on {where}"
    else:
        message = f"{master.split(':')[0]} is not supported for placing instances on {where}"
    raise InputError(
        f"{message}; a standalone cluster (spark://…) can, or give --place-by nothing to take "
        "only counts and shares from the plan"
    )


def settings(deployment: Deployment, machines_per_place: int) -> dict[str, str]:
    """Spark's settings for a deployment that is bound to places.

    Stages without a place of their own, which read the input and deal it out, run where most of
    the work is: on a slow machine they would hold up all others.
    """
    bound = [place for place in deployment.places if place != ANYWHERE]
    if not bound:
        return {}
    return {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        # Executors stay: starting one costs more than it saves.
        "spark.dynamicAllocation.executorIdleTimeout": "1h",
        "spark.dynamicAllocation.cachedExecutorIdleTimeout": "1h",
        "spark.dynamicAllocation.shuffleTracking.timeout": "1h",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.minExecutors": "1",
        # Of each profile: one executor on each machine.
        "spark.dynamicAllocation.maxExecutors": str(machines_per_place),
        "spark.executor.cores": "1",
        "spark.executor.memory": f"{EXECUTOR_MB}m",
        f"spark.executor.resource.{resource_name(bound[0])}.amount": "1",
    }


@dataclass
class Places:
    """The places of a deployment, as one session of Spark sees them."""

    spark: SparkSession
    profiles: dict[str, ResourceProfile] = field(default_factory=dict)

    def adopt(self, deployment: Deployment) -> None:
        """Make every place of a deployment reachable, or an error that names those that are not."""
        new: dict[str, ResourceProfile] = {}
        for place in deployment.places:
            if place == ANYWHERE or place in self.profiles:
                continue
            instances = [i for mine in deployment.instances.values() for i in mine]
            cores = max(i.cores for i in instances if i.place == place) + _HANDING_ON
            executor = ExecutorResourceRequests().cores(cores).memory(f"{EXECUTOR_MB}m")
            executor.resource(resource_name(place), 1)
            task = TaskResourceRequests().cpus(1)
            new[place] = ResourceProfileBuilder().require(executor).require(task).build
        self._reach(new, _ARRIVES_WITHIN_S)
        self.profiles |= new

    def _reach(self, new: Mapping[str, ResourceProfile], within_s: float) -> None:
        """Run something at every place; executors start and warm up on the way."""
        if not new:
            return
        touch = inheritable_thread_target(self.spark)
        threads = ThreadPoolExecutor(len(new))
        asked = {p: threads.submit(touch(self._touch), profile) for p, profile in new.items()}
        _, silent = wait(asked.values(), timeout=within_s)
        if silent:
            self.spark.sparkContext.cancelAllJobs()
        threads.shutdown()
        if silent:
            raise _nobody_at([place for place, answer in asked.items() if answer in silent])
        for answer in asked.values():
            answer.result()

    def alive(self) -> set[str]:
        """Places that have an executor now."""
        of = {profile.id: place for place, profile in self.profiles.items()}
        listed = self.spark.sparkContext._jsc.sc().statusStore().executorList(True)
        numbers = {listed.apply(i).resourceProfileId() for i in range(listed.size())}
        return {place for number, place in of.items() if number in numbers}

    def _touch(self, profile: ResourceProfile) -> None:
        one = self.spark.range(1).repartition(1)
        one.mapInArrow(_as_it_is, one.schema, profile=profile).collect()


def _nobody_at(places: Sequence[str]) -> InputError:
    needed = 2 * EXECUTOR_MB + 800
    return InputError(
        *(
            Finding(
                f"no worker has room for instances on {place}: the settings of a worker there must "
                f"have spark.worker.resource.{resource_name(place)}.amount 2, and it must have "
                f"{1 + MORE_CORES} cores or more and {needed} MB free (docs/spark.md)"
            )
            for place in places
        )
    )


def _as_it_is(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches

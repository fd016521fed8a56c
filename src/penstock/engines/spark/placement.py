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
#: The number that Spark gives to its own.
_DEFAULT_PROFILE = 0
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
    reader = reader_of(deployment)
    if reader == ANYWHERE:
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
        f"spark.executor.resource.{resource_name(reader)}.amount": "1",
    }


def reader_of(deployment: Deployment) -> str:
    """The place of stages that have none of their own: where most of the work is."""
    return next((place for place in deployment.places if place != ANYWHERE), ANYWHERE)


@dataclass
class Places:
    """The places of a deployment, as one session of Spark sees them."""

    spark: SparkSession
    #: Where stages of no place run, which read the input.
    reader: str = ANYWHERE
    profiles: dict[str, ResourceProfile] = field(default_factory=dict)
    #: Places that instances are bound to now, and that of the reader.
    used: frozenset[str] = frozenset()

    def adopt(self, deployment: Deployment) -> None:
        """Go on with a deployment all of whose places can be reached, or an error."""
        self.reach(deployment)
        self.use(deployment)

    def use(self, deployment: Deployment) -> None:
        """Note which places a deployment needs from now on."""
        self.used = frozenset({*deployment.places, self.reader} - {ANYWHERE})

    def missing(self, deployment: Deployment) -> list[str]:
        """Places of a deployment at which no executor is ready."""
        there = self.alive()
        return [p for p in deployment.places if p != ANYWHERE and p not in there]

    def reach(self, deployment: Deployment) -> None:
        """Make every place of a deployment reachable, or an error that names those that are not.

        May be asked while batches run at other places; what it starts is warm afterwards.
        """
        new: dict[str, ResourceProfile] = {}
        for place in self.missing(deployment):
            if place in self.profiles:
                new[place] = self.profiles[place]
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
        group = f"reach {', '.join(sorted(new))}"
        asked = {
            p: threads.submit(touch(self._touch), profile, group) for p, profile in new.items()
        }
        _, silent = wait(asked.values(), timeout=within_s)
        if silent:
            self.spark.sparkContext.cancelJobGroup(group)
        threads.shutdown()
        if silent:
            raise _nobody_at([place for place, answer in asked.items() if answer in silent])
        for answer in asked.values():
            answer.result()

    def alive(self) -> set[str]:
        """Places that have an executor now; that of the reader, one for reading as well."""
        of = {profile.id: place for place, profile in self.profiles.items()}
        listed = self.spark.sparkContext._jsc.sc().statusStore().executorList(True)
        executors = [listed.apply(i) for i in range(listed.size())]
        numbers = {e.resourceProfileId() for e in executors if e.id() != "driver"}
        return {
            place
            for number, place in of.items()
            if number in numbers and (place != self.reader or _DEFAULT_PROFILE in numbers)
        }

    def _touch(self, profile: ResourceProfile, group: str) -> None:
        self.spark.sparkContext.setJobGroup(group, group)
        one = self.spark.range(1).repartition(1)
        one.mapInArrow(_as_it_is, one.schema, profile=profile).collect()


class NobodyThere(InputError):
    """No worker has room for executors at some places."""

    def __init__(self, places: Sequence[str], *findings: Finding) -> None:
        self.places = sorted(places)
        super().__init__(*findings)


def _nobody_at(places: Sequence[str]) -> NobodyThere:
    needed = 2 * EXECUTOR_MB + 800
    return NobodyThere(
        places,
        *(
            Finding(
                f"no worker has room for instances on {place}: the settings of a worker there must "
                f"have spark.worker.resource.{resource_name(place)}.amount 2, and it must have "
                f"{1 + MORE_CORES} cores or more and {needed} MB free (docs/spark.md)"
            )
            for place in places
        ),
    )


def _as_it_is(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches

"""A run under a plan, watched and told what to change by the files it leaves and looks at.

What it did is in its status file and the telemetry of its newest batches, which machines there are
the standalone master says, and a new plan in the place of the old one is taken up between two
batches. Nothing restarts for it: only where the machine that reads the input goes out of use does
the run begin a new session.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any, ClassVar

from penstock.change.history import Receipt
from penstock.engines.base import PublishOrder, WatchOrder
from penstock.engines.publication import Publication, PublicationStep
from penstock.engines.publication import prepare as prepare_publication
from penstock.engines.publisher import EngineAway, PlanRecord, Publisher
from penstock.engines.reading import InstanceReading, Reading, TopologyReading
from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.master_page import machines_there, registered_workers
from penstock.engines.spark.planned import plan_id_of
from penstock.engines.spark.run_status import BatchStatus, RunStatus, read_status
from penstock.engines.spark.runner import TELEMETRY
from penstock.errors import InputError
from penstock.files.replacement import replace_file
from penstock.files.store import load, to_dict
from penstock.files.writer import to_json
from penstock.model.cluster import Cluster
from penstock.model.plan import Deployed, Places, Plan
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Topology

_LOOK_EVERY_S = 0.5
_BY_TYPE = (
    "instances are placed by machine type: which machine of a type is out of use is Spark's choice "
    "(--place-by machine)"
)


@dataclass(frozen=True)
class SparkRunSession:
    """One run in its folder."""

    folder: Path
    #: The master's page, where it is not in its usual place.
    master_page: str | None = None
    order: WatchOrder = field(default_factory=WatchOrder)

    # -- what runs --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        return self._snapshot(read_status(self.folder))

    def reading(self) -> Reading:
        status = read_status(self.folder)
        snapshot, now = self._snapshot(status), self.order.clock()
        batches = _newest(status.batches, self.order.window_s)
        lines = [line for batch in batches for line in self._lines(batch)]
        (deployed,) = snapshot.deployed
        points = _machine_points(lines, batches)
        return Reading(
            time_s=now,
            snapshot=snapshot,
            topologies={status.topology: _topology(status, batches, _under_way(snapshot, status))},
            machine_points={m: points[m] for m in snapshot.cluster.machine_index if m in points},
            instances=_instances(lines, batches, deployed),
            stream_per_s=_streams(lines, batches, status.topology),
            shares={
                (status.topology, name): tuple(share for _, _, share in instances)
                for name, instances in status.places.items()
            },
            paused_s=nan if status.paused_s is None else status.paused_s,
            telemetry_age_s=max(0.0, now - batches[-1].ended_s) if batches else nan,
        )

    def _snapshot(self, status: RunStatus) -> Snapshot:
        plan = load(status.plan_file)
        if not isinstance(plan, Plan):
            raise InputError(f"{status.plan_file} is not a plan")
        topology = next((t for t in plan.problem.topologies if t.name == status.topology), None)
        if topology is None:
            raise InputError(f"{status.plan_file} has no topology {status.topology}")
        places = {n: tuple((m, s) for m, s, _ in p) for n, p in status.places.items()}
        deployed = Deployed(status.topology, status.id, tuple(places.items()))
        cluster, notes = self._cluster(plan.problem.cluster, status)
        return Snapshot(
            cluster=cluster,
            topologies=(_of_running(topology, places),),
            deployed=(deployed,),
            statuses={status.topology: status.doing or status.refusal},
            settings={"plan file": status.plan_file},
            notes=notes,
        )

    def _cluster(self, planned: Cluster, status: RunStatus) -> tuple[Cluster, tuple[str, ...]]:
        """The machines that have a worker; without a standalone master, those of the plan."""
        if not status.master.startswith("spark://"):
            return planned, ("no standalone master: which machines are there is not known",)
        machines = machines_there(planned, registered_workers(status.master, self.master_page))
        if not machines:
            raise EngineAway("no machine of the plan has a worker at Spark's master")
        kinds = {machine.type for machine in machines}
        is_by_type = status.place_by == PlaceBy.TYPE.value and len(kinds) < len(machines)
        notes = (_BY_TYPE,) if is_by_type else ()
        return replace(planned, machines=machines), notes

    def _lines(self, batch: BatchStatus) -> list[dict[str, Any]]:
        path = self.folder / TELEMETRY / f"{batch.number:09d}.jsonl"
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError):
            return []  # not there yet, or expired

    # -- what is to change ------------------------------------------------------------------------

    @property
    def lock(self) -> Path | None:
        path = Path(read_status(self.folder).plan_file)
        return path.with_name(path.name + ".lock")

    def use(self, machines: Collection[str]) -> None:
        """A machine without instances gets no parts; its worker stays, so that it can come back."""

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        """What would change; nothing is touched, and nothing restarts."""
        status = read_status(self.folder)
        topology = snapshot.topologies[0]
        others = [t.name for t in plan.problem.topologies if t.name != status.topology]
        if others:
            raise InputError(f"the run in {self.folder} has {topology.name} only, no {others[0]}")
        publication = prepare_publication(plan, snapshot)
        return replace(publication, steps=tuple(map(_without_restart, publication.steps)))

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        return Publisher(SparkPlanWriter(self, order), order).publish(publication)


@dataclass
class SparkPlanWriter:
    """The plan file that a run looks at; the run says when it has taken it up."""

    name: ClassVar[str] = "spark"

    session: SparkRunSession
    order: PublishOrder
    _before: Plan | None = None
    _file_before: bytes = b""

    def settle(self, publication: Publication) -> None:
        pass

    def begin(self, publication: Publication) -> PlanRecord:
        path = self._path
        self._before, self._file_before = publication.before, path.read_bytes()
        backup = path.with_name(path.name + ".before")
        replace_file(backup, self._file_before)
        return PlanRecord(plan_id_of(_content(publication.plan)), str(path), str(backup))

    def write(self, plan: Plan) -> list[str]:
        """Written, and taken up by the run; going back, the very file from before."""
        content = self._file_before if plan is self._before else _content(plan)
        number, path = plan_id_of(content), self._path
        deadline = self.order.clock() + self.order.within_s
        # Also where it is the same: a plan that was refused is tried once more.
        if read_status(self.session.folder).plan_id != number or path.read_bytes() != content:
            replace_file(path, content)
        trouble = f"the run did not take up the plan within {self.order.within_s:g} s"
        while self.order.clock() <= deadline:
            try:
                status = read_status(self.session.folder)
            except EngineAway as error:
                trouble = str(error)
            else:
                if status.plan_id == number and not status.doing:
                    return []
                if status.refused_id == number:
                    return [f"the run refused the plan: {status.refusal}"]
            self.order.sleep(_LOOK_EVERY_S)
        return [trouble]

    def move(self, step: PublicationStep, deadline: float) -> str:
        return ""

    def snapshot(self, topologies: Mapping[str, Places]) -> Snapshot:
        return self.session.snapshot()

    def restore(self, publication: Publication, *, settled: bool) -> list[str]:
        return []  # going back wrote the file from before

    @property
    def _path(self) -> Path:
        return Path(read_status(self.session.folder).plan_file)


def _content(plan: Plan) -> bytes:
    return to_json(to_dict(plan)).encode()


def _without_restart(step: PublicationStep) -> PublicationStep:
    """Counts and places change between two batches."""
    return replace(step, executors={}, workers_restarted=0)


def _of_running(topology: Topology, places: Places) -> Topology:
    """The topology with as many instances as run."""
    components = tuple(
        replace(c, instances=len(places[c.name])) for c in topology.components if c.name in places
    )
    return replace(topology, components=components)


# -- what telemetry says ---------------------------------------------------------------------------


def _newest(batches: tuple[BatchStatus, ...], window_s: float) -> list[BatchStatus]:
    """Those that ended in the last so many seconds before the newest did, and that at least."""
    last = batches[-1].ended_s if batches else nan
    return [b for b in batches if b.ended_s > last - window_s]


def _under_way(snapshot: Snapshot, status: RunStatus) -> str:
    """What the run is at, or has to notice yet: the master knows sooner that a worker is gone."""
    used = {machine for places in status.places.values() for machine, _, _ in places}
    gone = sorted(used - {*snapshot.cluster.machine_index})
    return status.doing or (f"the run goes on without {', '.join(gone)} soon" if gone else "")


def _topology(status: RunStatus, batches: list[BatchStatus], doing: str) -> TopologyReading:
    if not batches:
        return TopologyReading(unsettled=doing or "no batch has ended yet")
    seconds = sum(b.seconds for b in batches)
    late = [b.latency_s if b.latency_s is not None else b.seconds for b in batches]
    return TopologyReading(
        offered_per_s=_offered(status.batches, batches),
        processed_per_s=sum(b.rows for b in batches) / seconds if seconds else nan,
        backlog=_waiting(batches[-1]),
        latency_s=max(late),
        unsettled=doing,
    )


def _offered(known: tuple[BatchStatus, ...], batches: list[BatchStatus]) -> float:
    """Rows/s that came, from the end of the batch before the first of these to the last's."""
    before = [b for b in known if b.number < batches[0].number]
    first, last = (before or batches)[-1 if before else 0], batches[-1]
    took_s = last.ended_s - first.ended_s
    if first.offered is None or last.offered is None or took_s <= 0:
        return nan
    return (last.offered - first.offered) / took_s


def _waiting(batch: BatchStatus) -> float:
    """What waits longer than for its turn: all that came during a batch waits for its end."""
    if batch.backlog is None:
        return nan
    return max(0.0, batch.backlog - batch.rows)


def _machine_points(lines: list[dict[str, Any]], batches: list[BatchStatus]) -> dict[str, float]:
    """CPU of whole worker processes; each says what it used since its last word."""
    seconds = sum(b.seconds for b in batches)
    used: dict[str, dict[tuple[str, int], float]] = {}
    for line in lines:
        if line.get("worker_cpu_points") is not None:
            point_s = line["worker_cpu_points"] * line["window_ms"] / 1e3
            used.setdefault(line["host"], {})[line["worker"], line["time_ms"]] = point_s
    return {host: sum(each.values()) / seconds for host, each in sorted(used.items()) if seconds}


def _instances(
    lines: list[dict[str, Any]], batches: list[BatchStatus], deployed: Deployed
) -> dict[tuple[str, str, int], InstanceReading]:
    """Of the newest deployment: those of batches before it are other instances."""
    tasks = [(name, n) for name, places in deployed.components for n in range(len(places))]
    where = [machine for _, places in deployed.components for machine, _ in places]
    seconds = sum(b.seconds for b in batches)
    taken, point_s = [0.0] * len(tasks), [0.0] * len(tasks)
    seen = set()
    for line in lines:
        task = line["task"]
        if task < len(tasks) and (line["component"], line["host"]) == (tasks[task][0], where[task]):
            seen.add(task)
            taken[task] += line.get("produced") or sum(i["tuples"] for i in line["inputs"])
            point_s[task] += (line.get("cpu_points") or 0.0) * line["window_ms"] / 1e3
    return {
        (deployed.topology, *tasks[task]): InstanceReading(
            where[task], taken[task] / seconds, cpu_points=point_s[task] / seconds
        )
        for task in sorted(seen)
        if seconds
    }


def _streams(
    lines: list[dict[str, Any]], batches: list[BatchStatus], topology: str
) -> dict[tuple[str, str, str, str], float]:
    seconds = sum(b.seconds for b in batches)
    tuples: dict[tuple[str, str, str, str], float] = {}
    for line in lines:
        for entry in line.get("inputs") or ():
            name = (topology, entry["component"], line["component"], entry["stream"])
            tuples[name] = tuples.get(name, 0.0) + entry["tuples"]
    return {name: number / seconds for name, number in sorted(tuples.items()) if seconds}

"""A shipped topology on a lab: Spark alone, costs measured, and the same under the plan."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from penstock.engines.base import ClosedLoopResult, LoopObservation, Say
from penstock.engines.lab import keeper
from penstock.engines.lab.lab import lab_of
from penstock.engines.lab.machines import LabMachine
from penstock.engines.spark.closed_loop_demo import ClosedLoop
from penstock.engines.spark.code import load_code, shipped_code
from penstock.engines.spark.observed import RunObservation
from penstock.engines.spark.standalone import start_lab
from penstock.errors import PenstockError, UsageError
from penstock.model.topology import Topology

#: A batch at the highest load takes so long.
_BATCH_S = 5.0


def closed_loop(
    topology: Topology, machines: Sequence[LabMachine], seconds: float, say: Say
) -> ClosedLoopResult:
    """Watch each run for so many seconds once it is warm."""
    if keeper.find("spark") is not None:
        raise PenstockError("a lab is up already and would compete: penstock lab down")
    path = shipped_code(topology.name)
    if path is None:
        raise UsageError(f"no code is shipped for {topology.name}")
    with tempfile.TemporaryDirectory(prefix="penstock-lab-demo-") as folder:
        points = ",".join(f"{machine.points:g}" for machine in machines)
        say(f"starting Spark on machines of {points} points of a core")
        with lab_of("demo", machines) as lab:
            for note in lab.notes:
                say(f"note: {note}")
            code = load_code(path, topology)
            loop = ClosedLoop(lab, start_lab(lab), topology, code, Path(folder), say)
            say(
                "Spark alone: equal partitions, one for each core; first without limits, to warm up"
            )
            with loop.alone() as spark:
                cost = loop.cpu_s_per_tuple(spark)
                source = loop.full_batch(cost, _BATCH_S)
                before = loop.observe("before", spark, loop.equal(loop.slots), source, seconds)
            say("measuring costs at three loads")
            profile, _other = loop.costs(cost)
            plan = loop.plan(profile)
            say("the same topology under the plan")
            with loop.under(plan) as (spark, deployment, places):
                after = loop.observe("after", spark, deployment, source, seconds, places=places)
    return ClosedLoopResult(
        plan, tuple(machines), source.rows_per_batch, _summary(before), _summary(after)
    )


def _summary(run: RunObservation) -> LoopObservation:
    return LoopObservation(run.rate_per_s, run.batch_s, run.machine_points)

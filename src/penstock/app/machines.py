"""What agents tell of machines, as a table, and as a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.app.inputs import Source, resolved
from penstock.app.problems import silent
from penstock.engines.base import Say
from penstock.errors import Finding, InputError, UsageError
from penstock.files.machine_records import USUAL_HOURS, read_machine_records
from penstock.files.schema import is_name
from penstock.model.cluster import Cluster
from penstock.model.machine_table import MachineTable, cluster_of, completed
from penstock.planning.numbers import counted


def machine_table(
    folders: Sequence[str | Path], *, hours: float = USUAL_HOURS, say: Say = silent
) -> MachineTable:
    """What agents told in the last hours before the newest record, from the folders they write."""
    found = read_machine_records(folders, hours)
    if found.unreadable:
        say(f"left out: {counted(found.unreadable, 'line')} that are no machine records")
    return MachineTable.of(found.records)


def import_machines(
    folders: Sequence[str | Path],
    cluster: Cluster | Source | None = None,
    name: str = "machines",
    *,
    hours: float = USUAL_HOURS,
    say: Say = silent,
) -> Cluster:
    """A cluster of the machines that agents tell of, or a given one with what they tell."""
    if not is_name(name):
        raise UsageError(f'--name must be a name without slashes, not "{name}"')
    table = machine_table(folders, hours=hours, say=say)
    if cluster is None:
        return cluster_of(table, name)
    findings: list[Finding] = []
    stated = resolved(cluster, Cluster, "cluster", findings)
    if stated is None:
        raise InputError(*findings)
    done = completed(stated, table)
    for remark in done.remarks:
        say(remark)
    return done.cluster

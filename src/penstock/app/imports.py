"""Other people's files, and clusters that run, in our own nouns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from penstock.app.clusters import silent, snapshot
from penstock.change.in_force import plan_in_force
from penstock.engines.base import Engine, Say
from penstock.errors import Finding, InputError, UsageError
from penstock.files.document import read_document
from penstock.files.flux import is_flux, topology_from_flux
from penstock.files.production import Executors, is_production_folder, load_production
from penstock.files.schema import as_mapping, is_name
from penstock.files.storm_yaml import cluster_from_storm_yaml
from penstock.model.cluster import Cluster
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Topology


@dataclass(frozen=True)
class ImportedCluster:
    """A running cluster: its machines and topologies, and who runs where as a plan."""

    snapshot: Snapshot
    #: ``None`` where no topology runs, or one does not say what its instances need.
    plan: Plan | None

    def to_dict(self) -> dict[str, object]:
        """What was seen besides machines, topologies and places."""
        running = self.snapshot
        return {
            "rates_per_s": {name: dict(rates) for name, rates in running.rates.items()},
            "scheduler_info": dict(running.statuses),
            "avoided": list(running.avoided),
            "left_out": dict(running.left_out),
        }


def import_running(target: Engine, *, say: Say = silent) -> ImportedCluster:
    """A running cluster: its machines, its topologies, and who runs where."""
    running = snapshot(target, say)
    components = [c for topology in running.topologies for c in topology.components]
    if any(component.cpu_points is None for component in components):
        say(f"{target.name} does not say what CPU instances need: who runs where is not written")
        return ImportedCluster(running, None)
    return ImportedCluster(running, plan_in_force(running) if components else None)


def import_flux(
    file: Path,
    properties: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Topology:
    """A Flux topology: structure, parallelism, groupings, requests.

    ``environ`` fills in ``${ENV-NAME}``; without it those stay as they are.
    """
    document = read_document(file)
    if not is_flux(as_mapping(document.value)):
        raise InputError(Finding("is not a Flux topology: no spouts, bolts or includes", str(file)))
    return topology_from_flux(document, dict(properties or {}), dict(environ or {}))


def import_storm_yaml(files: Sequence[Path], name: str = "storm", *, say: Say = silent) -> Cluster:
    """A cluster from the ``storm.yaml`` files of its supervisors."""
    if not is_name(name):
        raise UsageError(f'--name must be a name without slashes, not "{name}"')
    return cluster_from_storm_yaml(list(files), name, say)


def import_production(folder: Path, executors: str = "nimbus") -> Problem:
    """A recorded production cluster and its topologies.

    ``executors`` says who counts them: ``nimbus`` as Storm starts them, ``storm-test`` as its test.
    """
    if not is_production_folder(folder):
        message = "has no cluster.json and topologies.json"
        raise InputError(Finding(message, str(folder)))
    rules: dict[str, Executors] = {rule: rule for rule in get_args(Executors)}
    if executors not in rules:
        raise UsageError(f'--executors is nimbus or storm-test, not "{executors}"')
    return load_production(folder, rules[executors])

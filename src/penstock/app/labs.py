"""Topologies on the Storm lab that is up on this computer: submitted, fed, ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.engines.lab import keeper
from penstock.engines.lab.machines import parse_machines
from penstock.engines.storm.bridge import open_bridge
from penstock.engines.storm.lab_topology import SHAPES, LabTopology
from penstock.errors import InputError, UnknownNameError, UsageError
from penstock.files.examples import load_topology
from penstock.files.schema import is_name
from penstock.model.topology import Kind


def lab_submit(
    shape: str,
    name: str | None = None,
    *,
    rate_per_s: float = 50.0,
    executors: Mapping[str, int] | None = None,
    weighted: bool = False,
    traffic: bool = False,
    queued: bool = False,
) -> str:
    """Submit a topology that plans are tried on; what it is called.

    ``executors`` are one for each component that is not named; ``traffic`` counts tuples by the
    task they came from; what is offered waits for the spouts where it is ``queued``.
    """
    known = components_of(shape)
    called = name or shape
    if not is_name(called):
        raise UsageError(f'--name must be a name without slashes, not "{called}"')
    counts = dict.fromkeys(known, 1) | dict(executors or {})
    lab = _lab()
    topology = LabTopology(Path(lab.folder), shape, called)
    topology.feed(rate_per_s)
    with open_bridge(conf_dir=Path(lab.address).parent) as bridge:
        workers = len(parse_machines(lab.machines))
        topology.submit(bridge, counts, workers, weighted=weighted, traffic=traffic, queued=queued)
    return called


def lab_feed(name: str, rate_per_s: float) -> None:
    """Change the rate of a topology on the Storm lab, while it runs."""
    topology = LabTopology(Path(_lab().folder), "", name)
    if not topology.rate_file.exists():
        raise InputError(f'no topology "{name}" was submitted by penstock lab submit')
    topology.feed(rate_per_s)


def lab_end(name: str) -> None:
    """End a topology on the Storm lab."""
    with open_bridge(conf_dir=Path(_lab().address).parent) as bridge:
        bridge.ask("kill", name=name, wait_s=0)


def components_of(shape: str) -> list[str]:
    """The components of a topology for the Storm lab."""
    if shape not in SHAPES:
        raise UnknownNameError("topology for a Storm lab", shape, SHAPES)
    return [c.name for c in load_topology(shape).components if c.kind is not Kind.ACKER]


def _lab() -> keeper.LabFile:
    lab = keeper.find("storm")
    if lab is None or not lab.address:
        raise InputError("no Storm lab is up; penstock lab up --engine storm starts one")
    return lab

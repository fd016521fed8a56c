"""Topologies, clusters and profiles of the papers, and a few of our own, shipped and known by name.

Each is a file in one of our formats; its ``description`` says where the numbers are from and which
are assumed. Topologies and clusters are free to mix: :func:`profile_for` knows which profile, if
any, has the costs of that pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TypeVar

from penstock.errors import UnknownNameError
from penstock.files.document import read_document
from penstock.files.schema import as_mapping
from penstock.model.cluster import Cluster
from penstock.model.profile import Profile
from penstock.model.topology import Topology

_FOLDERS = {"topology": "topologies", "cluster": "clusters", "profile": "profiles"}

#: The cluster on which the topology's own paper runs it.
_DEFAULT_CLUSTERS = {
    "diamond": "nasiri-testbed",
    "exclamation": "thesis",
    "linear": "nasiri-testbed",
    "pageload": "rstorm-12",
    "processing": "rstorm-12",
    "rollingcount": "storm-benchmark",
    "star": "nasiri-testbed",
    "topn": "lcstream",
    "uniquevisitor": "storm-benchmark",
    "wordcount": "thesis",
}

#: Where several profiles would do: measured before published, derived and assumed.
_PROFILE_ORDER = (
    "lab",
    "nasiri",
    "storm-benchmark",
    "rstorm",
    "thesis",
    "lcstream",
    "storm-3",
    "office",
)

_T = TypeVar("_T", Topology, Cluster, Profile)


@dataclass(frozen=True, slots=True)
class Example:
    """One shipped file, as a listing shows it. ``kind`` is topology, cluster or profile."""

    kind: str
    name: str
    description: str


def topology_names() -> tuple[str, ...]:
    """The example topologies, sorted."""
    return _names("topology")


def cluster_names() -> tuple[str, ...]:
    """The example clusters, sorted."""
    return _names("cluster")


def profile_names() -> tuple[str, ...]:
    """The example profiles, sorted."""
    return _names("profile")


def load_topology(name: str) -> Topology:
    """The example topology of that name."""
    return _load("topology", name, Topology)


def load_cluster(name: str) -> Cluster:
    """The example cluster of that name."""
    return _load("cluster", name, Cluster)


def load_profile(name: str) -> Profile:
    """The example profile of that name."""
    return _load("profile", name, Profile)


def default_cluster(topology_name: str) -> str:
    """The name of the cluster that an example topology is at home on."""
    if topology_name not in _DEFAULT_CLUSTERS:
        raise UnknownNameError("example topology", topology_name, topology_names())
    return _DEFAULT_CLUSTERS[topology_name]


def profile_for(topologies: Topology | Sequence[Topology], cluster: Cluster) -> Profile | None:
    """The first example profile that has every cost of these topologies on this cluster."""
    given = (topologies,) if isinstance(topologies, Topology) else tuple(topologies)
    rows = {component.cost_row for topology in given for component in topology.components}
    types = {machine.type for machine in cluster.machines}
    profiles = map(load_profile, _PROFILE_ORDER)
    return next((profile for profile in profiles if profile.covers(rows, types)), None)


def describe(kind: str, name: str) -> Example:
    """What an example is, from its file's ``description``."""
    with _file(kind, name) as path:
        fields = as_mapping(read_document(path).value)
    return Example(kind, name, str(fields.get("description", "")))


def descriptions() -> list[Example]:
    """All examples: topologies, clusters, profiles, each by name."""
    return [describe(kind, name) for kind in _FOLDERS for name in _names(kind)]


def text(kind: str, name: str) -> str:
    """An example's file as it is shipped, comments and all."""
    with _file(kind, name) as path:
        return path.read_text(encoding="utf-8")


def _names(kind: str) -> tuple[str, ...]:
    folder = resources.files(__name__).joinpath(_FOLDERS[kind])
    files = (Path(entry.name) for entry in folder.iterdir())
    return tuple(sorted(file.stem for file in files if file.suffix == ".yaml"))


def _load(kind: str, name: str, expected: type[_T]) -> _T:
    from penstock.files.store import load  # slow to load, with every format

    with _file(kind, name) as path:
        loaded = load(path)
    assert isinstance(loaded, expected), f"{path} holds no {kind}"
    return loaded


@contextmanager
def _file(kind: str, name: str) -> Iterator[Path]:
    if kind not in _FOLDERS:
        raise UnknownNameError("kind of example", kind, _FOLDERS)
    known = _names(kind)
    if name not in known:
        raise UnknownNameError(f"example {kind}", name, known)
    resource = resources.files(__name__).joinpath(_FOLDERS[kind], f"{name}.yaml")
    with resources.as_file(resource) as path:
        yield path

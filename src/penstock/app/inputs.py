"""What people hand over, as values: a value itself, a file, a dict or the name of an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from penstock.errors import Finding, InputError, UnknownNameError
from penstock.files import examples
from penstock.files.store import load
from penstock.model.cluster import Cluster
from penstock.model.profile import Profile
from penstock.model.terms import Terms
from penstock.model.topology import Topology

Source: TypeAlias = str | Path | Mapping[str, Any]

_T = TypeVar("_T", Topology, Cluster, Profile)


def resolved(
    given: Topology | Cluster | Profile | Source,
    wanted: type[_T],
    what: str,
    findings: list[Finding],
) -> _T | None:
    """A value as it is, a shipped example by name, or a file; errors are gathered."""
    try:
        value = _by_name_or_file(given, what)
    except InputError as error:
        findings.extend(error.findings)
        return None
    if isinstance(value, wanted):
        return value
    kind = type(value).__name__.lower()
    findings.append(Finding(f"is a {kind}, not a {what}", str(given)[:200]))
    return None


def _by_name_or_file(given: Any, what: str) -> Any:
    if not isinstance(given, (str, Path, Mapping)):
        return given
    if isinstance(given, Mapping) or _looks_like_path(given):
        return load(given)
    loaders = {
        "topology": (examples.topology_names, examples.load_topology),
        "cluster": (examples.cluster_names, examples.load_cluster),
        "profile": (examples.profile_names, examples.load_profile),
    }
    names, by_name = loaders[what]
    known = names()
    if str(given) in known:
        return by_name(str(given))
    unknown = UnknownNameError(f"file or example {what}", str(given), known)
    raise InputError(*unknown.findings)


def terms_from(given: Terms | Source) -> Terms:
    """Terms as they are, or from a file or dict."""
    value = given if isinstance(given, Terms) else load(given)
    if not isinstance(value, Terms):
        kind = type(value).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not terms", str(given)[:200]))
    return value


def is_folder(given: object) -> bool:
    return isinstance(given, (str, Path)) and _is_there(Path(given)) and Path(given).is_dir()


def is_file(given: str | Path) -> bool:
    return _is_there(Path(given)) and Path(given).is_file()


def natural_cluster(topologies: Sequence[object]) -> str:
    names = examples.topology_names()
    for given in topologies:
        if isinstance(given, str) and given in names:
            return examples.default_cluster(given)
    raise InputError("name a cluster file, or a shipped one (penstock examples), with --cluster")


def _looks_like_path(given: str | Path) -> bool:
    if isinstance(given, Path):
        return True
    return (
        "/" in given or Path(given).suffix in (".yaml", ".yml", ".json") or _is_there(Path(given))
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for the file system
        return False

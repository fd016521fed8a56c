"""Load anything we know from a path; save anything we make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from penstock.errors import Finding, InputError, UnknownNameError, close_match
from penstock.files import flux, production
from penstock.files.answer_formats import ANSWER_FORMATS
from penstock.files.certificate_file import CertificateFile
from penstock.files.cluster_file import ClusterFile, cluster_from, cluster_to_dict
from penstock.files.document import ParsedFile, document_of, read_document, shortened
from penstock.files.hooks_file import HooksFile, hooks_from
from penstock.files.plan_file import PlanFile, plan_from, plan_to_dict
from penstock.files.profile_file import ProfileFile, profile_from, profile_to_dict
from penstock.files.receipt_file import ReceiptFile
from penstock.files.sample_schema import sample_json_schema
from penstock.files.scenario_file import ScenarioFile, scenario_from
from penstock.files.schema import FileModel, seen_as
from penstock.files.simulation_file import Simulation, SimulationFile, simulation_from
from penstock.files.sweep_file import Sweep, SweepFile, sweep_from
from penstock.files.terms_file import TermsFile, terms_from, terms_to_dict
from penstock.files.topology_file import TopologyFile, topology_from, topology_to_dict
from penstock.files.watch_file import WatchFile, watch_from
from penstock.files.writer import to_json, to_yaml, write_text
from penstock.model.cluster import Cluster
from penstock.model.hooks import Hooks
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.profile import Profile
from penstock.model.terms import Terms
from penstock.model.topology import Topology
from penstock.model.watch_rules import WatchSetting
from penstock.simulate.scenario import Scenario

Loaded: TypeAlias = (
    Topology
    | Cluster
    | Profile
    | Terms
    | Scenario
    | Sweep
    | Plan
    | Problem
    | Simulation
    | WatchSetting
    | Hooks
)

#: The models of all files that are read, and who reads them.
_READERS: dict[type[FileModel], Callable[[ParsedFile], Loaded]] = {
    TopologyFile: topology_from,
    ClusterFile: cluster_from,
    ProfileFile: profile_from,
    TermsFile: terms_from,
    ScenarioFile: scenario_from,
    SweepFile: sweep_from,
    PlanFile: plan_from,
    SimulationFile: simulation_from,
    WatchFile: watch_from,
    HooksFile: hooks_from,
}
_READER_OF = {model.FORMAT.name: read for model, read in _READERS.items()}
#: Those with a schema by name; a simulation's result is nobody's to write.
_SCHEMAS = {
    model.FORMAT.name.removeprefix("penstock/"): model
    for model in _READERS
    if model is not SimulationFile
}
#: Formats of files people write.
FORMATS = tuple(_SCHEMAS)
#: The telemetry record, which engines write line by line.
SAMPLE = "sample"
#: What applying a plan did, as ``penstock apply`` writes it.
RECEIPT = "receipt"
#: A proof of what no plan can exceed, as ``penstock certify`` writes it.
CERTIFICATE = "certificate"
#: Formats that nobody writes by hand.
WRITTEN = (SAMPLE, RECEIPT, CERTIFICATE)
_FILES: tuple[type[FileModel], ...] = (*_READERS, ReceiptFile, CertificateFile)
#: Every format of a file that Penstock reads, and every one that it only writes.
FILE_FORMATS = tuple(model.FORMAT for model in _FILES)
ALL_FORMATS = (*FILE_FORMATS, *ANSWER_FORMATS.values())


def load(source: str | Path | Mapping[str, Any]) -> Loaded:
    """A file in one of our formats, a Flux topology, a production cluster's folder, or a dict."""
    if isinstance(source, Mapping):
        return _from_document(document_of(dict(source), "input"))
    path = Path(source)
    if production.is_production_folder(path):
        return production.load_production(path)
    return _from_document(read_document(path))


def _from_document(document: ParsedFile) -> Loaded:
    if document.value is None:
        raise InputError(document.finding((), "is empty"))
    if not isinstance(document.value, dict):
        message = f"must be a mapping of fields to values, not {seen_as(document.value)}"
        raise InputError(document.finding((), message))
    if flux.is_flux(document.value):
        return flux.topology_from_flux(document)
    kind = document.value.get("format")
    if kind is None:
        known = ", ".join(_READER_OF)
        raise InputError(document.finding((), f"has no format field; say which: {known}"))
    reader = _READER_OF.get(kind) if isinstance(kind, str) else None
    if reader is None:
        close = close_match(shortened(kind), list(_READER_OF))
        hint = f'did you mean "{close}"?' if close else f"known: {', '.join(_READER_OF)}"
        raise InputError(document.finding(("format",), f"no format {seen_as(kind)}; {hint}"))
    return reader(document)


def to_dict(value: Topology | Cluster | Profile | Terms | Plan) -> dict[str, object]:
    """A value as its file says it."""
    if isinstance(value, Topology):
        return topology_to_dict(value)
    if isinstance(value, Cluster):
        return cluster_to_dict(value)
    if isinstance(value, Profile):
        return profile_to_dict(value)
    if isinstance(value, Terms):
        return terms_to_dict(value)
    return plan_to_dict(value)


def dumps(value: Topology | Cluster | Profile | Terms | Plan, *, json: bool = True) -> str:
    """A value as the text of its file."""
    return to_json(to_dict(value)) if json else to_yaml(to_dict(value))


def save(value: Topology | Cluster | Profile | Terms | Plan, path: str | Path) -> None:
    """Write a value; the suffix says whether as JSON or YAML."""
    path = Path(path)
    try:
        write_text(path, dumps(value, json=path.suffix.lower() == ".json"))
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise InputError(Finding(message, str(path))) from None


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a format's current version."""
    if name not in (*FORMATS, *WRITTEN):
        raise UnknownNameError("format", name, (*FORMATS, *WRITTEN))
    models: dict[str, type[FileModel]] = {
        **_SCHEMAS,
        RECEIPT: ReceiptFile,
        CERTIFICATE: CertificateFile,
    }
    schema = sample_json_schema() if name == SAMPLE else models[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema


def schema_version(name: str) -> int:
    """The version of a format that its JSON Schema is of."""
    return int(json_schema(name)["properties"]["version"]["const"])

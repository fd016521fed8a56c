"""One function per verb, with a typed result: what the command line and notebooks call.

>>> import penstock
>>> problem = penstock.problem("linear", "nasiri-large")
>>> result = penstock.plan(problem, scheduler="hetero")
>>> result.facts.gap

A running cluster is planned for, measured and told through an engine:

>>> storm = penstock.engine("storm", nimbus="storm-master")
>>> cluster = penstock.running(storm, profile="profile.json")
>>> plan = cluster.stamped(penstock.plan(cluster.problem, same_counts=True).plan)
>>> penstock.apply(plan, storm)

The tables of a store are read for pandas, DuckDB or Spark by their newest commit, each row once:

>>> penstock.read_table("tables", "traffic").to_pandas()
>>> duckdb.read_parquet(penstock.table_files("tables", "traffic"))

``import penstock`` exposes these names. They print nothing and read no options; what they have to
say on the way goes to ``say`` or ``progress``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.app.answers import Comparison as Comparison
    from penstock.app.answers import PlanAnswer as PlanAnswer
    from penstock.app.applying import PreparedPlan as PreparedPlan
    from penstock.app.applying import apply as apply
    from penstock.app.applying import prepared as prepared
    from penstock.app.calibrations import cluster_with_type as cluster_with_type
    from penstock.app.calibrations import fingerprint as fingerprint
    from penstock.app.calibrations import with_fingerprint as with_fingerprint
    from penstock.app.certificates import CheckedCertificate as CheckedCertificate
    from penstock.app.certificates import certify as certify
    from penstock.app.certificates import check as check
    from penstock.app.clusters import RunningCluster as RunningCluster
    from penstock.app.clusters import diff_running as diff_running
    from penstock.app.clusters import engine as engine
    from penstock.app.clusters import running as running
    from penstock.app.clusters import snapshot as snapshot
    from penstock.app.explanations import ComponentExplanation as ComponentExplanation
    from penstock.app.explanations import MachineExplanation as MachineExplanation
    from penstock.app.explanations import explain as explain
    from penstock.app.histories import JournalRows as JournalRows
    from penstock.app.histories import PlanHistory as PlanHistory
    from penstock.app.histories import history as history
    from penstock.app.histories import loop_journal as loop_journal
    from penstock.app.histories import measure_history as measure_history
    from penstock.app.imports import ImportedCluster as ImportedCluster
    from penstock.app.imports import import_flux as import_flux
    from penstock.app.imports import import_production as import_production
    from penstock.app.imports import import_running as import_running
    from penstock.app.imports import import_storm_yaml as import_storm_yaml
    from penstock.app.labs import lab_end as lab_end
    from penstock.app.labs import lab_feed as lab_feed
    from penstock.app.labs import lab_submit as lab_submit
    from penstock.app.loads import OfferedLoad as OfferedLoad
    from penstock.app.loads import offered_load as offered_load
    from penstock.app.machines import import_machines as import_machines
    from penstock.app.machines import machine_table as machine_table
    from penstock.app.measuring import MeasuringOptions as MeasuringOptions
    from penstock.app.measuring import follow as follow
    from penstock.app.measuring import live_profile as live_profile
    from penstock.app.measuring import measure as measure
    from penstock.app.measuring import measure_running as measure_running
    from penstock.app.plans import compare as compare
    from penstock.app.plans import kinds_of_losses as kinds_of_losses
    from penstock.app.plans import plan as plan
    from penstock.app.power import sleep as sleep
    from penstock.app.power import wake as wake
    from penstock.app.problems import problem as problem
    from penstock.app.problems import profile as profile
    from penstock.app.rehearsal import Rehearsal as Rehearsal
    from penstock.app.rehearsal import RehearsalOptions as RehearsalOptions
    from penstock.app.rehearsal import rehearse as rehearse
    from penstock.app.rehearsal import watch_setting as watch_setting
    from penstock.app.report_options import ReportOptions as ReportOptions
    from penstock.app.reports import report_on_plan as report_on_plan
    from penstock.app.reports import report_on_problem as report_on_problem
    from penstock.app.runs import RunInput as RunInput
    from penstock.app.runs import RunResult as RunResult
    from penstock.app.runs import run as run
    from penstock.app.simulations import load_curve as load_curve
    from penstock.app.simulations import scenario_for as scenario_for
    from penstock.app.simulations import simulate as simulate
    from penstock.app.simulations import simulate_each as simulate_each
    from penstock.app.stores import CompactionResult as CompactionResult
    from penstock.app.stores import ExpiryResult as ExpiryResult
    from penstock.app.stores import MigrationResult as MigrationResult
    from penstock.app.stores import StoreReader as StoreReader
    from penstock.app.stores import StoreSummary as StoreSummary
    from penstock.app.stores import compact_store as compact_store
    from penstock.app.stores import expire_store as expire_store
    from penstock.app.stores import export_table as export_table
    from penstock.app.stores import migrate_store as migrate_store
    from penstock.app.stores import open_store as open_store
    from penstock.app.stores import read_table as read_table
    from penstock.app.stores import store_summary as store_summary
    from penstock.app.stores import table_files as table_files
    from penstock.app.sweeps import SweepResult as SweepResult
    from penstock.app.sweeps import sweep as sweep
    from penstock.app.telemetry import SparkOptions as SparkOptions
    from penstock.app.telemetry import TelemetrySelection as TelemetrySelection
    from penstock.app.telemetry import telemetry_of as telemetry_of
    from penstock.app.topology_calibration import CalibrationOptions as CalibrationOptions
    from penstock.app.topology_calibration import CalibrationResult as CalibrationResult
    from penstock.app.topology_calibration import calibrate as calibrate
    from penstock.app.validation import ValidFile as ValidFile
    from penstock.app.validation import validate as validate
    from penstock.app.watching.options import Act as Act
    from penstock.app.watching.options import WatchOptions as WatchOptions
    from penstock.app.watching.watch import watch as watch
    from penstock.change.diff import diff as diff
    from penstock.control.rehearsed_engine import FaultPlan as FaultPlan
    from penstock.control.rehearsed_engine import SlowPlan as SlowPlan
    from penstock.files.store import dumps as dumps
    from penstock.files.store import load as load
    from penstock.files.store import save as save
    from penstock.planning.advice import advise as advise

#: Where each name is: it is loaded when it is first asked for, with what it needs.
_NAMES = {
    "penstock.app.answers": ("Comparison", "PlanAnswer"),
    "penstock.app.applying": ("PreparedPlan", "apply", "prepared"),
    "penstock.app.calibrations": ("cluster_with_type", "fingerprint", "with_fingerprint"),
    "penstock.app.certificates": ("CheckedCertificate", "certify", "check"),
    "penstock.app.clusters": ("RunningCluster", "diff_running", "engine", "running", "snapshot"),
    "penstock.app.explanations": ("ComponentExplanation", "MachineExplanation", "explain"),
    "penstock.app.histories": (
        "JournalRows",
        "PlanHistory",
        "history",
        "loop_journal",
        "measure_history",
    ),
    "penstock.app.imports": (
        "ImportedCluster",
        "import_flux",
        "import_production",
        "import_running",
        "import_storm_yaml",
    ),
    "penstock.app.labs": ("lab_end", "lab_feed", "lab_submit"),
    "penstock.app.loads": ("OfferedLoad", "offered_load"),
    "penstock.app.machines": ("import_machines", "machine_table"),
    "penstock.app.measuring": (
        "MeasuringOptions",
        "follow",
        "live_profile",
        "measure",
        "measure_running",
    ),
    "penstock.app.plans": ("compare", "kinds_of_losses", "plan"),
    "penstock.app.power": ("sleep", "wake"),
    "penstock.app.problems": ("problem", "profile"),
    "penstock.app.rehearsal": ("Rehearsal", "RehearsalOptions", "rehearse", "watch_setting"),
    "penstock.app.report_options": ("ReportOptions",),
    "penstock.app.reports": ("report_on_plan", "report_on_problem"),
    "penstock.app.runs": ("RunInput", "RunResult", "run"),
    "penstock.app.simulations": ("load_curve", "scenario_for", "simulate", "simulate_each"),
    "penstock.app.stores": (
        "CompactionResult",
        "ExpiryResult",
        "MigrationResult",
        "StoreReader",
        "StoreSummary",
        "compact_store",
        "expire_store",
        "export_table",
        "migrate_store",
        "open_store",
        "read_table",
        "store_summary",
        "table_files",
    ),
    "penstock.app.sweeps": ("SweepResult", "sweep"),
    "penstock.app.telemetry": ("SparkOptions", "TelemetrySelection", "telemetry_of"),
    "penstock.app.topology_calibration": ("CalibrationOptions", "CalibrationResult", "calibrate"),
    "penstock.app.validation": ("ValidFile", "validate"),
    "penstock.app.watching.options": ("Act", "WatchOptions"),
    "penstock.app.watching.watch": ("watch",),
    "penstock.change.diff": ("diff",),
    "penstock.control.rehearsed_engine": ("FaultPlan", "SlowPlan"),
    "penstock.files.store": ("dumps", "load", "save"),
    "penstock.planning.advice": ("advise",),
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names}

NAMES = tuple(sorted(_PLACES))
if not TYPE_CHECKING:  # a checker reads the imports above, and cannot work this out
    __all__ = list(NAMES)


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *NAMES]

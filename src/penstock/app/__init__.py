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

from penstock.app.answers import Comparison, PlanAnswer
from penstock.app.applying import PreparedPlan, apply, prepared
from penstock.app.clusters import RunningCluster, diff_running, engine, running, snapshot
from penstock.app.explanations import (
    ComponentExplanation,
    MachineExplanation,
    explain,
)
from penstock.app.histories import PlanHistory, history, measure_history
from penstock.app.imports import (
    ImportedCluster,
    import_flux,
    import_production,
    import_running,
    import_storm_yaml,
)
from penstock.app.labs import lab_end, lab_feed, lab_submit
from penstock.app.loads import OfferedLoad, offered_load
from penstock.app.measuring import (
    MeasuringOptions,
    follow,
    live_profile,
    measure,
    measure_running,
)
from penstock.app.plans import compare, kinds_of_losses, plan
from penstock.app.problems import problem, profile
from penstock.app.rehearsal import Rehearsal, RehearsalOptions, rehearse, watch_setting
from penstock.app.reports import ReportOptions, report_on_plan, report_on_problem
from penstock.app.runs import RunInput, RunResult, run
from penstock.app.simulations import load_curve, scenario_for, simulate, simulate_each
from penstock.app.stores import (
    CompactionResult,
    ExpiryResult,
    MigrationResult,
    StoreReader,
    StoreSummary,
    compact_store,
    expire_store,
    export_table,
    migrate_store,
    open_store,
    read_table,
    store_summary,
    table_files,
)
from penstock.app.sweeps import SweepResult, sweep
from penstock.app.telemetry import SparkOptions, TelemetrySelection, telemetry_of
from penstock.app.validation import ValidFile, validate
from penstock.change.diff import diff
from penstock.files.store import load
from penstock.planning.advice import advise

__all__ = [
    "CompactionResult",
    "Comparison",
    "ComponentExplanation",
    "ExpiryResult",
    "ImportedCluster",
    "MachineExplanation",
    "MeasuringOptions",
    "MigrationResult",
    "OfferedLoad",
    "PlanAnswer",
    "PlanHistory",
    "PreparedPlan",
    "Rehearsal",
    "RehearsalOptions",
    "ReportOptions",
    "RunInput",
    "RunResult",
    "RunningCluster",
    "SparkOptions",
    "StoreReader",
    "StoreSummary",
    "SweepResult",
    "TelemetrySelection",
    "ValidFile",
    "advise",
    "apply",
    "compact_store",
    "compare",
    "diff",
    "diff_running",
    "engine",
    "expire_store",
    "explain",
    "export_table",
    "follow",
    "history",
    "import_flux",
    "import_production",
    "import_running",
    "import_storm_yaml",
    "kinds_of_losses",
    "lab_end",
    "lab_feed",
    "lab_submit",
    "live_profile",
    "load",
    "load_curve",
    "measure",
    "measure_history",
    "measure_running",
    "migrate_store",
    "offered_load",
    "open_store",
    "plan",
    "prepared",
    "problem",
    "profile",
    "read_table",
    "rehearse",
    "report_on_plan",
    "report_on_problem",
    "run",
    "running",
    "scenario_for",
    "simulate",
    "simulate_each",
    "snapshot",
    "store_summary",
    "sweep",
    "table_files",
    "telemetry_of",
    "validate",
    "watch_setting",
]

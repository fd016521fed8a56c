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
from penstock.app.sweeps import SweepResult, sweep
from penstock.app.telemetry import SparkOptions, TelemetrySelection, telemetry_of
from penstock.app.validation import ValidFile, validate
from penstock.change.diff import diff
from penstock.files.store import load
from penstock.planning.advice import advise

__all__ = [
    "Comparison",
    "ComponentExplanation",
    "ImportedCluster",
    "MachineExplanation",
    "MeasuringOptions",
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
    "SweepResult",
    "TelemetrySelection",
    "ValidFile",
    "advise",
    "apply",
    "compare",
    "diff",
    "diff_running",
    "engine",
    "explain",
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
    "offered_load",
    "plan",
    "prepared",
    "problem",
    "profile",
    "rehearse",
    "report_on_plan",
    "report_on_problem",
    "run",
    "running",
    "scenario_for",
    "simulate",
    "simulate_each",
    "snapshot",
    "sweep",
    "telemetry_of",
    "validate",
    "watch_setting",
]

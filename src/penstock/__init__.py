"""Penstock plans how many instances of each streaming component run on which machine.

What is exposed here is the Python interface: one function per verb, with a typed result. See
:mod:`penstock.app`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from penstock.app import (
        Comparison,
        ComponentExplanation,
        ImportedCluster,
        MachineExplanation,
        MeasuringOptions,
        OfferedLoad,
        PlanAnswer,
        PlanHistory,
        PreparedPlan,
        ReportOptions,
        RunInput,
        RunningCluster,
        RunResult,
        SparkOptions,
        SweepResult,
        TelemetrySelection,
        ValidFile,
        advise,
        apply,
        compare,
        diff,
        diff_running,
        engine,
        explain,
        follow,
        history,
        import_flux,
        import_production,
        import_running,
        import_storm_yaml,
        kinds_of_losses,
        lab_end,
        lab_feed,
        lab_submit,
        live_profile,
        load,
        load_curve,
        measure,
        measure_history,
        measure_running,
        offered_load,
        plan,
        prepared,
        problem,
        profile,
        report_on_plan,
        report_on_problem,
        run,
        running,
        scenario_for,
        simulate,
        simulate_each,
        snapshot,
        sweep,
        telemetry_of,
        validate,
    )

#: Loaded from ``penstock.app`` on first use, so that ``import penstock`` costs nothing.
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
    "ReportOptions",
    "RunInput",
    "RunResult",
    "RunningCluster",
    "SparkOptions",
    "SweepResult",
    "TelemetrySelection",
    "ValidFile",
    "__version__",
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
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    app = import_module("penstock.app")
    # All of them at once: loading it has made ``simulate`` the name of a package of ours, too.
    globals().update({each: getattr(app, each) for each in app.__all__})
    return globals()[name]

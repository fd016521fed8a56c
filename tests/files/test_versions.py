"""Each format has versions of its own: older files are migrated, newer ones are refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.bases import base

import penstock
from penstock.errors import InputError, UnknownNameError
from penstock.files.answer_formats import answer_head
from penstock.files.document import document_of
from penstock.files.store import ALL_FORMATS, FORMATS, json_schema, load, schema_version
from penstock.files.versions import FormatVersion, OldFormatWarning

SOURCES = Path(penstock.__file__).parent


# -- the chain of migrations -------------------------------------------------------------------

#: Version 2 renamed a field, version 3 counts in another unit.
FLOWS = FormatVersion(
    "penstock/flow",
    3,
    {
        1: lambda fields: {("rate" if k == "speed" else k): v for k, v in fields.items()},
        2: lambda fields: {**fields, "rate": fields["rate"] * 60},
    },
)


def flow(version: object, **fields: object) -> Any:
    return document_of({"format": "penstock/flow", "version": version, **fields}, "flow.yaml")


@pytest.mark.parametrize(("version", "fields"), [(1, {"speed": 2}), (2, {"rate": 2})])
def test_a_file_of_an_older_version_goes_through_every_step_since(version, fields):
    said = rf"flow\.yaml: is version {version} of penstock/flow, read as version 3"
    with pytest.warns(OldFormatWarning, match=said):
        document = FLOWS.as_current(flow(version, **fields))
    assert document.value == {"format": "penstock/flow", "version": 3, "rate": 120}


def test_what_was_read_stays_as_it_was():
    old = flow(1, speed=2)
    with pytest.warns(OldFormatWarning):
        FLOWS.as_current(old)
    assert old.value == {"format": "penstock/flow", "version": 1, "speed": 2}


def test_a_file_of_a_newer_version_is_refused_with_what_is_known():
    message = "version: 4 is newer than this Penstock, which knows versions 1 to 3; upgrade"
    with pytest.raises(InputError, match=message):
        FLOWS.as_current(flow(4))


@pytest.mark.parametrize("version", [3, 0, -1, "1", 1.0, True, None])
def test_what_needs_no_migration_or_is_no_version_is_left_to_the_check(version):
    document = flow(version)
    assert FLOWS.as_current(document) is document


# -- a version 2 of one format -----------------------------------------------------------------

#: All that it takes: the field ``avoid`` of the terms becomes ``without``.
TERMS_OF_TOMORROW = (
    ("version: Version[Literal[1]]", "version: Version[Literal[2]]\n    MIGRATIONS = {1: _from_1}"),
    ("    avoid: list[Name]", "    without: list[Name]"),
    ("file.avoid", "file.without"),
    ('"avoid":', '"without":'),
    (
        "class TermsFile(",
        """def _from_1(fields: dict) -> dict:
    return {("without" if k == "avoid" else k): v for k, v in fields.items()}


class TermsFile(""",
    ),
)


@pytest.fixture(scope="module")
def tomorrow(tmp_path_factory):
    """A folder with tomorrow's Penstock: today's, with one file changed."""
    folder = tmp_path_factory.mktemp("tomorrow")
    leave_out = shutil.ignore_patterns("__pycache__", "jars")
    shutil.copytree(SOURCES, folder / "penstock", ignore=leave_out)
    file = folder / "penstock" / "files" / "terms_file.py"
    text = file.read_text(encoding="utf-8")
    for old, new in TERMS_OF_TOMORROW:
        assert text.count(old) == 1
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return folder


def run_in(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *arguments], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_version_2_is_a_change_of_the_formats_own_file_alone(tomorrow, run):
    """What today wrote, tomorrow reads with a note; what tomorrow writes, today refuses."""
    today = {"format": "penstock/terms", "version": 1, "avoid": ["M1-1"]}
    (tomorrow / "terms.json").write_text(json.dumps(today))
    plan = ("plan", "-e", "linear", "-c", "nasiri-small", "--no-if-lost")
    code, _, said = run_in(tomorrow, *plan, "--terms", "terms.json", "-o", "plan.json")
    assert code == 0
    assert "note: terms.json: is version 1 of penstock/terms, read as version 2" in said
    written = json.loads((tomorrow / "plan.json").read_text())
    terms = written["inputs"]["terms"]
    assert (written["version"], terms["version"], terms["without"]) == (1, 2, ["M1-1"])
    # The plan is a version 1 still, with terms of version 2 inside, which are not known today.
    code, _, said = run(f"show {tomorrow / 'plan.json'}")
    assert code == 1
    assert "version: 2 is newer than this Penstock, which knows version 1; upgrade" in said


@pytest.mark.slow
def test_a_plan_from_before_a_version_2_of_its_terms_is_read_as_ever(tomorrow, run):
    plan = tomorrow / "before.json"
    run(f"plan -e linear -c nasiri-small --no-if-lost --avoid M1-1 -o {plan}")
    code, _, said = run_in(tomorrow, "show", "before.json")
    assert code == 0
    assert "note: before.json inputs.terms: is version 1 of penstock/terms, read as" in said


@pytest.mark.slow
def test_the_schema_of_a_version_2_says_so_and_other_formats_stay_as_they_are(tomorrow):
    terms = json.loads(run_in(tomorrow, "schema", "terms")[1])
    assert terms["properties"]["version"]["const"] == 2
    assert json.loads(run_in(tomorrow, "schema", "topology")[1]) == json_schema("topology")


# -- today's formats ---------------------------------------------------------------------------


@pytest.mark.parametrize("known", ALL_FORMATS, ids=lambda known: known.name)
def test_every_older_version_has_a_way_to_the_next(known):
    assert sorted(known.migrations) == list(range(known.oldest, known.current))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_refuses_a_newer_version_of_its_own(name):
    message = f"version: {schema_version(name) + 1} is newer than this Penstock"
    with pytest.raises(InputError, match=message):
        load({**base(name), "version": schema_version(name) + 1})


def test_no_two_formats_have_one_name():
    names = [known.name for known in ALL_FORMATS]
    assert len(names) == len(set(names))


def test_an_answer_begins_with_its_format_and_version():
    assert answer_head("changes") == {"format": "penstock/changes", "version": 1}
    with pytest.raises(UnknownNameError, match='did you mean "changes"'):
        answer_head("chnages")


def test_versions_are_said_in_one_place():
    """Elsewhere a document begins with the head of its format, never with a number of its own."""
    literal = re.compile(r'"version": *\d|"format": *f?"penstock/')
    told = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if literal.search(path.read_text(encoding="utf-8"))
    }
    # A page may be of a format of others: the harness has one.
    assert told == {"report/page/json_view.py"}

"""Two writers of one folder: the second is told at once, and a dead one holds nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.app import histories, measuring
from penstock.cli.main import main
from penstock.errors import InputError
from penstock.telemetry.writer_lock import LOCK_FILE, StoreBusyError, writing_to

_WRITER = """
import sys
from penstock.telemetry.writer_lock import writing_to
with writing_to(sys.argv[1]):
    print("writing", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def writer(store: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to the store."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _WRITER, str(store)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_the_second_writer_is_told_who_the_first_is(store, writer):
    told = rf"another run \(process {writer.pid}\) writes to {store}; run this one again when"
    with pytest.raises(StoreBusyError, match=told), writing_to(store):
        pass


def test_a_writer_that_was_killed_leaves_no_lock(store, writer):
    writer.send_signal(signal.SIGKILL)
    writer.wait(60)
    with writing_to(store):
        pass


def test_one_writer_after_the_other_is_fine(store):
    for _ in range(2):
        with writing_to(store):
            pass


def test_two_stores_have_a_writer_each(store, writer, tmp_path):
    with writing_to(tmp_path / "other"):
        pass


def test_a_store_that_is_no_folder_of_this_machine_has_no_lock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with writing_to("s3a://bucket/store"), writing_to("s3a://bucket/store"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_is_an_error_of_the_user(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written to"), writing_to(tmp_path / "file"):
        pass


def test_a_link_in_place_of_the_lock_is_not_followed(store, tmp_path):
    """Put there by somebody else who may write to the store's folder."""
    store.mkdir()
    precious = tmp_path / "precious"
    precious.write_text("keep")
    (store / LOCK_FILE).symlink_to(precious)
    told = r"store: cannot be written to: \.penstock-writer is a symbolic link"
    with pytest.raises(InputError, match=told), writing_to(store):
        pass
    assert precious.read_text() == "keep"


@pytest.mark.parametrize("more", [[], ["--follow"]], ids=["once", "followed"])
def test_the_second_of_two_profiles_ends_before_spark_starts(
    store, writer, more, tmp_path, monkeypatch, capsys
):
    def started(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(measuring, "spark_session", started)
    assert _run("profile", str(tmp_path), "--store", str(store), *more) == 1
    assert f"error: another run (process {writer.pid}) writes to {store}" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--follow"]], ids=["once", "followed"])
def test_a_profile_is_the_one_writer_before_spark_has_started(store, more, tmp_path, monkeypatch):
    looked = []

    @contextmanager
    def starting(*_: Any, **__: Any) -> Iterator[None]:
        with pytest.raises(StoreBusyError), writing_to(store):
            pass
        looked.append(True)
        raise InputError("that will do")
        yield

    monkeypatch.setattr(measuring, "spark_session", starting)
    assert _run("profile", str(tmp_path), "--store", str(store), *more) == 1
    assert looked == [True]
    with writing_to(store):
        pass


def test_only_one_run_measures_a_history(store, writer, monkeypatch, capsys, tmp_path):
    def started(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(histories, "spark_session", started)
    monkeypatch.setattr(histories, "types_of_hosts", lambda _: {})
    applied = SimpleNamespace(plan=SimpleNamespace(problem=SimpleNamespace(cluster=None)))
    monkeypatch.setattr(histories, "read_receipts", lambda _: ([(applied, "")], []))
    (store / "tables").mkdir()
    telemetry = ("--telemetry", str(tmp_path))
    assert _run("history", "measure", *telemetry, "--history", str(store), "--rebuild") == 1
    assert f"writes to {store}" in capsys.readouterr().err
    assert (store / "tables").is_dir()

"""Runs documented commands in this process, in a copy of the folder that their page has in mind."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path

import pytest
from tests.docs import scenes
from tests.engines.storm.fake_storm import FakeStorm

from penstock.cli.main import main
from penstock.engines.lab import keeper
from penstock.engines.storm import engine as storm_engine
from penstock.engines.storm.from_nimbus import read_nimbus


class Scenes:
    """Folders as :mod:`tests.docs.scenes` makes them: made once, copied for each command."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def copy(self, name: str, target: Path) -> None:
        """Put the files of a scene into ``target``."""
        original = self._root / name
        if not original.exists():
            original.mkdir()
            with pytest.MonkeyPatch.context() as patch:
                enter(original, patch)
                getattr(scenes, name)(_printed)
        shutil.copytree(original, target, dirs_exist_ok=True)


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run commands in this folder; a Storm that they ask is one of dictionaries, without a lab."""
    storm = FakeStorm(folder / "plan-of-nimbus.json", name=scenes.STORM_TOPOLOGY)
    patch.chdir(folder)
    patch.setenv("PENSTOCK_HISTORY", "history")
    patch.setenv("SHELL", "/bin/bash")
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        patch.setenv(name, str(folder))
    patch.setattr(storm_engine, "open_bridge", storm.opened)
    patch.setattr(storm_engine, "read_ui", lambda *_: read_nimbus(storm))
    patch.setattr(keeper, "find", lambda engine: None)


def _printed(command: str) -> str:
    code, out, err = run_here(command.split())
    assert code == 0, f"{command}: {err}"
    return out


def run_here(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as left:
            return int(left.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("main returned")


@pytest.fixture(scope="session")
def all_scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return Scenes(tmp_path_factory.mktemp("scenes"))

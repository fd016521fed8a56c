"""What is kept of a run: one small file for each finished setting.

A file is named by everything that decides its figures: the setting, the topologies, cluster and
profile it is made of, the code that plans and simulates, and the machine. So figures are used again
when all of that is the same, and never otherwise; whoever stops a run loses the settings at work.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from functools import cache
from pathlib import Path

from penstock.errors import Finding, InputError
from penstock.files.plan_file import problem_to_dict
from penstock.files.replacement import remove_leftovers, replace_file
from penstock_bench.reproduce.figures import FiguresByName
from penstock_bench.reproduce.paper_fields import PaperSetting
from penstock_bench.reproduce.setting import problem_of

_ROOT = Path(__file__).resolve().parents[2]
#: The code that decides a figure; what judges and shows it does not.
_DECIDES = (
    "penstock/model/**/*.py",
    "penstock/evaluate/**/*.py",
    "penstock/schedulers/**/*.py",
    "penstock/simulate/**/*.py",
    "penstock/planning/**/*.py",
    "penstock_bench/reproduce/figures.py",
    "penstock_bench/reproduce/clusters.py",
    "penstock_bench/reproduce/setting.py",
    "penstock_bench/reproduce/cpu_readings.py",
    "penstock_bench/reproduce/count_pairs.py",
)


class FigureStore:
    """A folder of finished settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be made: {error.strerror or error}"
            raise InputError(Finding(message, str(folder))) from None
        remove_leftovers(folder)

    def read(self, key: str) -> FiguresByName | None:
        """The figures of a setting, or nothing; a file that cannot be read counts as none."""
        try:
            content = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        figures: FiguresByName | None = (
            content.get("figures") if isinstance(content, dict) else None
        )
        return figures

    def keep(self, key: str, name: str, figures: FiguresByName) -> None:
        content = {"format": "penstock/figures", "version": 1, "setting": name, "figures": figures}
        text = json.dumps(content, indent=1) + "\n"
        replace_file(self.folder / f"{key}.json", text.encode())


def key_of(paper: str, name: str, setting: PaperSetting) -> str:
    """Names a setting by all that decides its figures."""
    inputs = problem_to_dict(problem_of(setting))
    inputs_and_code = [asdict(setting), inputs, _code(), platform.node(), platform.machine()]
    digest = hashlib.sha256(json.dumps(inputs_and_code, sort_keys=True, default=str).encode())
    return f"{paper}-{name}-{digest.hexdigest()[:16]}"


@cache
def _code() -> str:
    """A hash of the code that decides figures."""
    digest = hashlib.sha256()
    for pattern in _DECIDES:
        for path in sorted(_ROOT.glob(pattern)):
            digest.update(path.relative_to(_ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()

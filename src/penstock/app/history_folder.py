"""Where the plans that were applied are remembered."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: Names the folder where no option does.
VARIABLE = "PENSTOCK_HISTORY"


def history_folder(folder: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """The history's folder: as given, as the environment says, or below the user's data."""
    if folder is not None:
        return folder
    if named := environ.get(VARIABLE):
        return Path(named)
    data = environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "penstock" / "history"

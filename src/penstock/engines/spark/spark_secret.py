"""The shared secret of a Spark cluster that was started on this computer.

Everything of Spark listens on loopback there, where every local user gets in, and what Spark's
daemons and drivers are sent, they run. So all parts of such a cluster authenticate each other by a
random secret. It lies in the cluster's own folder, which only this user can read, and goes with it;
it is never on a command line.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.system.private_folder import PrivateFolder, scratch_folder

SECRET = "spark.authenticate.secret"
_FILE = "spark-secret.json"
_BYTES = 32


@dataclass(frozen=True)
class PageKey:
    """What opens the page of a master of ours, and where that is."""

    address: str
    secret: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """As Spark's settings have it."""
        return base64.urlsafe_b64encode(self.secret).decode()


def new_secret(folder: Path, master: str, page: PageKey) -> str:
    """Make the secret of the cluster that has this folder, for all who are to connect to it."""
    secret = secrets.token_hex(_BYTES)
    content = json.dumps(
        {"master": master, "secret": secret, "page": page.address, "page_key": page.text}
    )
    PrivateFolder(folder).write(_FILE, content.encode())
    return secret


def authentication(master: str) -> Mapping[str, str]:
    """Settings with which a driver gets into a cluster of ours; none for those of others."""
    if master.startswith("local"):
        return {"spark.authenticate": "true"}  # Spark then makes a secret by itself
    entry = _entry(master)
    return {"spark.authenticate": "true", SECRET: entry["secret"]} if entry else {}


def page_key(master: str) -> PageKey | None:
    """What opens the page of a master of ours; nothing for those of others."""
    entry = _entry(master)
    if entry is None:
        return None
    return PageKey(entry["page"], base64.urlsafe_b64decode(entry["page_key"]))


def _entry(master: str) -> dict[str, Any] | None:
    if not master.startswith("spark://127."):
        return None
    for folder in scratch_folder().folders():
        try:
            entry: dict[str, Any] = json.loads(PrivateFolder(folder).read(_FILE) or b"{}")
        except ValueError:
            continue
        if entry.get("master") == master:
            return entry
    return None

"""The shared secret of a Spark cluster that was started on this computer.

Everything of Spark listens on loopback there, where every local user gets in, and what Spark's
daemons and drivers are sent, they run. So all parts of such a cluster authenticate each other by a
random secret. It lies in the cluster's own folder, which only this user can read, and goes with it;
it is never on a command line.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from penstock.system.private_folder import PrivateFolder, scratch_folder

SECRET = "spark.authenticate.secret"
_FILE = "spark-secret.json"
_BYTES = 32


def new_secret(folder: Path, master: str) -> str:
    """Make the secret of the cluster that has this folder, for all who are to connect to it."""
    secret = secrets.token_hex(_BYTES)
    content = json.dumps({"master": master, "secret": secret})
    PrivateFolder(folder).write(_FILE, content.encode())
    return secret


def authentication(master: str) -> Mapping[str, str]:
    """Settings with which a driver gets into a cluster of ours; none for those of others."""
    if master.startswith("local"):
        return {"spark.authenticate": "true"}  # Spark then makes a secret by itself
    if not master.startswith("spark://127."):
        return {}
    for folder in scratch_folder().folders():
        try:
            entry = json.loads(PrivateFolder(folder).read(_FILE) or b"{}")
        except ValueError:
            continue
        if entry.get("master") == master:
            return {"spark.authenticate": "true", SECRET: entry["secret"]}
    return {}

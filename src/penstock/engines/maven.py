"""Jars from Maven Central, for engines that are on no registry as a whole."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import PenstockError

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_RESOLVES_WITHIN_S = 900.0


def find_maven(environ: Mapping[str, str]) -> str | None:
    return shutil.which("mvn", path=environ.get("PATH", ""))


def copy_jars(
    maven: str,
    pom: Path,
    into: Path,
    environ: Mapping[str, str],
    *,
    what: str,
    error: type[PenstockError],
) -> None:
    """Fill a folder with the jars that a POM names, or raise with what Maven said."""
    command = [maven, "-B", "-q", "-f", str(pom), _COPY, f"-DoutputDirectory={into}"]
    try:
        done = subprocess.run(
            [*command, "-DincludeScope=runtime"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_RESOLVES_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise error(f"Maven did not resolve {what}: {failure}") from None
    if done.returncode != 0 or not any(into.glob("*.jar")):
        output = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise error(f"Maven did not resolve {what}: " + " ".join(output[:3]))

"""Spark's Java, started before PySpark is loaded: both take a while, and neither needs the other.

PySpark's own start loads everything first and then waits for Java. Here Java is started as PySpark
does it (``spark-submit`` with a file into which Java writes its port and secret), and PySpark is
told both, as to a Java that somebody else has started.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_LOOKS_EVERY_S = 0.01
#: For the small Java that puts Spark's command together.
_LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class JavaDidNotStart(Exception):
    """Java ended before it had told its port."""


@dataclass(frozen=True)
class StartingJava:
    """A Java that is on its way up."""

    process: subprocess.Popen[bytes]
    #: Only we can look into it.
    folder: Path

    @classmethod
    def begin(cls, home: Path, settings: Mapping[str, str], output: IO[bytes]) -> StartingJava:
        """Start Spark's Java with settings that everybody on this computer may read."""
        folder = Path(tempfile.mkdtemp())
        options = [
            part for name, value in settings.items() for part in ("--conf", f"{name}={value}")
        ]
        arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        environment = {
            "SPARK_LAUNCHER_OPTS": _LAUNCHER_OPTIONS,
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "gateway"),
        }
        try:
            # In a session of its own: a signal to our group is for us to act on, and Java ends
            # when its standard input closes, however this process ends.
            process = subprocess.Popen(
                [home / "bin" / "spark-submit", *options, *arguments],
                stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(process, folder)

    def connect(self) -> Any:
        """PySpark's gateway to this Java, once it answers."""
        try:
            port, secret = self._told()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        from pyspark.java_gateway import launch_gateway

        os.environ |= {_PORT: str(port), _SECRET: secret}
        try:
            gateway = launch_gateway()
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        gateway.proc = self.process
        return gateway

    def _told(self) -> tuple[int, str]:
        file = self.folder / "gateway"
        while not file.exists():
            if self.process.poll() is not None:
                raise JavaDidNotStart
            time.sleep(_LOOKS_EVERY_S)
        # Java writes it under another name first. Two numbers and a text, as DataOutputStream does.
        content = file.read_bytes()
        return int.from_bytes(content[:4], "big"), content[8:].decode()

    def give_up(self) -> None:
        """End a Java that nobody will talk to."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def spark_home() -> Path | None:
    """Where Spark is: as the environment says, or in PySpark's package; ``None`` if not there."""
    if given := os.environ.get("SPARK_HOME"):
        return Path(given)
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    homes = (package / "spark-distribution", package)
    return next((home for home in homes if (home / "bin" / "spark-submit").is_file()), None)


def has_gateway() -> bool:
    """Whether somebody started Java for this process, as ``spark-submit`` of a program does."""
    return _PORT in os.environ

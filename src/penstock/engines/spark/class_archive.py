"""Spark's classes in one file that Java maps into its memory (class data sharing).

Without it Java reads, checks and links some fifteen thousand classes each time Spark starts, which
is a good part of a short run. The first session on this computer leaves the archive for those after
it, in a folder that only this user can write to. Java looks itself whether the archive fits its
version and Spark's jars, and goes without where it does not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.system.private_folder import NotPrivate, PrivateFolder

#: Below the folder of the ``java`` that Spark is started with.
_FOLDER = "classes"
#: What does not fit is no failure, and not worth a line for each class.
_SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
_ABLE_TO_LEAVE_ONE = (
    "-XX:+RecordDynamicDumpInfo",
    # Who talks to Java from outside may call only what is exported.
    "--add-exports=java.management/com.sun.jmx.mbeanserver=ALL-UNNAMED",
)


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one Java and one installation of Spark."""

    folder: PrivateFolder
    name: str

    @classmethod
    def of(cls, java_home: Path, spark_home: Path) -> ClassArchive:
        jars = spark_home / "jars"
        stamp = jars.stat().st_mtime_ns if jars.is_dir() else 0
        digest = hashlib.sha256(f"{jars} {stamp}".encode()).hexdigest()[:12]
        return cls(PrivateFolder(java_home / _FOLDER), f"spark-{digest}.jsa")

    @property
    def path(self) -> Path:
        return self.folder.path / self.name

    def is_there(self) -> bool:
        """Whether there is one that nobody else can have changed."""
        try:
            return self.folder.holds(self.name)
        except NotPrivate:
            return False

    def options(self) -> Sequence[str]:
        """What Java is started with: to use the archive, or to be able to leave one."""
        if self.is_there():
            return (
                f'"-XX:SharedArchiveFile={self.path}"',
                "-Xlog:cds=off",
                "-Xlog:cds+dynamic=off",
            )
        return _ABLE_TO_LEAVE_ONE

    def write_from(self, gateway: Any) -> None:
        """Have a Java that runs leave the classes that it has loaded; nothing, if it cannot."""
        if self.is_there():
            return
        draft = f".{self.name}.{os.getpid()}"
        with suppress(Exception):
            path = self.folder.require() / draft
            try:
                _ask_for_archive(gateway, path)
                path.chmod(0o600)
                path.replace(self.path)
            finally:
                path.unlink(missing_ok=True)


def _ask_for_archive(gateway: Any, path: Path) -> None:
    """As ``jcmd PID VM.cds dynamic_dump FILE`` does."""
    jvm = gateway.jvm
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    name = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    words = gateway.new_array(jvm.java.lang.String, 2)
    words[0], words[1] = "dynamic_dump", str(path)
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = words
    types = gateway.new_array(jvm.java.lang.String, 1)
    types[0] = "[Ljava.lang.String;"
    server.invoke(name, "vmCds", arguments, types)

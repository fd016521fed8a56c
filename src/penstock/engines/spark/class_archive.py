"""Spark's classes in one file that Java maps into its memory (class data sharing).

Without it Java reads, checks and links some fifteen thousand classes each time Spark starts, which
is a good part of a short run. To make it costs more than one start saves: so the second session on
this computer leaves the archive for those after it, in a folder that only this user can write to.
Java looks itself whether the archive fits its version and Spark's jars, and goes without where it
does not.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.system.private_folder import NotPrivate, PrivateFolder

#: Below the folder of the ``java`` that Spark is started with.
_FOLDER = "classes"
#: Beside the archive: one session came before; this Java cannot leave one.
_USED_ONCE, _CANNOT = ".used-once", ".cannot"
#: What does not fit is no failure, and not worth a line for each class.
_SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
_ABLE_TO_LEAVE_ONE = (
    "-XX:+RecordDynamicDumpInfo",
    # Who talks to Java from outside may call only what is exported.
    "--add-exports=java.management/com.sun.jmx.mbeanserver=ALL-UNNAMED",
)


@dataclass
class ClassArchive:
    """The archive of one Java and one installation of Spark."""

    folder: PrivateFolder
    name: str
    #: Whether the Java of this session is to leave one.
    is_recording: bool = False

    @classmethod
    def of(cls, java_home: Path, spark_home: Path) -> ClassArchive:
        jars = spark_home / "jars"
        stamp = jars.stat().st_mtime_ns if jars.is_dir() else 0
        digest = hashlib.sha256(f"{jars} {stamp}".encode()).hexdigest()[:12]
        return cls(PrivateFolder(java_home / _FOLDER), f"spark-{digest}.jsa")

    @property
    def path(self) -> Path:
        return self.folder.path / self.name

    def options_to_use(self) -> tuple[str, ...]:
        """What Java is started with to use the archive; nothing where there is none."""
        try:
            # Nobody else can have changed it: it is run.
            is_there = self.folder.holds(self.name)
        except NotPrivate:
            return ()
        return (f'"-XX:SharedArchiveFile={self.path}"', *_SILENT) if is_there else ()

    def options(self) -> tuple[str, ...]:
        """The same, or for the second session what lets it leave an archive."""
        if use := self.options_to_use():
            return use
        with suppress(NotPrivate, OSError):
            self.is_recording = self._is_second()
        return (*_ABLE_TO_LEAVE_ONE, *_SILENT) if self.is_recording else ()

    def _is_second(self) -> bool:
        """Whether one session came before, and no other than this one was told so."""
        folder = self.folder.require()
        if (folder / f"{self.name}{_CANNOT}").exists():
            return False
        before = folder / f"{self.name}{_USED_ONCE}"
        try:
            before.unlink()
        except FileNotFoundError:
            before.touch(mode=0o600)
            return False
        return True

    def write_from(self, gateway: Any) -> None:
        """Have a Java that records leave the classes that it has loaded."""
        if not self.is_recording:
            return
        draft = self.folder.path / f".{self.name}.{os.getpid()}"
        try:
            _ask_for_archive(gateway, draft)
            draft.chmod(0o600)
            draft.replace(self.path)
        except Exception:  # whatever Java or the disk has against it: Spark works as well without
            with suppress(OSError):
                (self.folder.path / f"{self.name}{_CANNOT}").touch(mode=0o600)
        finally:
            draft.unlink(missing_ok=True)


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

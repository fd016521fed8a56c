"""Spark's Kafka connector: the one that the user names, or a cache that Maven fills once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from penstock.engines.maven import copy_jars, find_maven
from penstock.errors import PenstockError
from penstock.system import private_folder
from penstock.telemetry.kafka import PREFIX

#: Of ``files/kafka-connector.xml``.
CONNECTOR_VERSION = "4.2.0"
_JARS = "spark.jars"
_JAR_PATTERN = "spark-sql-kafka-*.jar"
#: Settings by which jars come onto Spark's class path.
_CLASS_PATH = (
    _JARS, "spark.jars.packages", "spark.driver.extraClassPath", "spark.executor.extraClassPath"
)  # fmt: skip


class ConnectorMissing(PenstockError):
    """Spark cannot read Kafka here; the message says how to change that."""


def with_connector(
    source: str | None,
    config: Mapping[str, str],
    environ: Mapping[str, str],
    say: Callable[[str], None],
) -> dict[str, str]:
    """Settings of Spark's, with the connector on its class path where the source needs it."""
    if source is None or not source.startswith(PREFIX):
        return dict(config)
    if any("kafka" in config.get(name, "") for name in _CLASS_PATH) or _is_in_spark(environ):
        return dict(config)
    jars = connector_jars(environ, say)
    named = config[_JARS].split(",") if config.get(_JARS) else []
    return {**config, _JARS: ",".join([*named, *map(str, jars)])}


def connector_jars(environ: Mapping[str, str], say: Callable[[str], None]) -> list[Path]:
    """The four jars, resolved by Maven if they are not there yet."""
    folder = connector_folder(environ)
    if not environ.get("PENSTOCK_CACHE") and (risk := private_folder.tampering_risk(folder)):
        raise ConnectorMissing(f"the cache of jars is not used: {risk}; set PENSTOCK_CACHE")
    if not folder.is_dir():
        _resolve(folder, environ, say)
    return sorted(folder.glob("*.jar"))


def connector_folder(environ: Mapping[str, str]) -> Path:
    given = environ.get("PENSTOCK_CACHE")
    cache = Path(given) if given else private_folder.cache_folder(environ)
    return cache / f"spark-kafka-{CONNECTOR_VERSION}"


def _is_in_spark(environ: Mapping[str, str]) -> bool:
    """Whether an installation of Spark brings the connector itself."""
    spec = find_spec("pyspark")
    homes = [environ.get("SPARK_HOME"), *(spec.submodule_search_locations or [] if spec else [])]
    return any(any((Path(home) / "jars").glob(_JAR_PATTERN)) for home in homes if home)


def _resolve(folder: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    maven = find_maven(environ)
    if maven is None:
        raise ConnectorMissing(
            "Spark's Kafka connector is missing: install Maven (mvn) to have it resolved from "
            "Maven Central, or name its jars: --config spark.jars=…"
        )
    say(f"resolving Spark's Kafka connector with Maven into {folder} (12 MB, once)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside its final place, so that a second process never sees half of it.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".spark-kafka-") as scratch:
        jars = Path(scratch) / "jars"
        with as_file(files("penstock.engines.spark") / "files" / "kafka-connector.xml") as pom:
            copy_jars(
                maven, pom, jars, environ, what="Spark's Kafka connector", error=ConnectorMissing
            )
        if not folder.is_dir():
            shutil.move(jars, folder)

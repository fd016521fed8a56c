"""One Spark session for all tests of a process."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.telemetry.session import spark_session

#: Tests run hundreds of small jobs once: plain compilation and few tasks halve the CPU they need.
QUICK = {
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


def pytest_configure(config: pytest.Config) -> None:
    """The mark that keeps all tests with Spark in one process; known without xdist too."""
    config.addinivalue_line("markers", "xdist_group(name): tests that run in one process")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", driver_memory="1g", config=QUICK) as session:
        yield session

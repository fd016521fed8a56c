"""Settings for all tests: property tests draw the same examples every time.

``pytest --hypothesis-profile=explore`` looks for new counterexamples instead; ``make quick`` is
content with the first few examples.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "steady",
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile(
    "explore", max_examples=2000, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=20)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """Thousands of collected tests live to the end: no use in looking whether they are garbage."""
    gc.collect()
    gc.freeze()


#: Tests run hundreds of small jobs once: few tasks each.
_SMALL_JOBS = {"spark.sql.shuffle.partitions": "2"}


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """One Spark session for all tests of a process; commands run inside it too."""
    from penstock.engines.spark.session import spark_session

    with spark_session("local[2]", driver_memory="1g", config=_SMALL_JOBS) as session:
        yield session


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder of its own: its exit code, stdout and stderr."""
    from penstock.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HISTORY", str(tmp_path / "history"))

    def run(command: str, *more: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([*command.split(), *more])
        streams = capsys.readouterr()
        return int(left.value.code or 0), streams.out, streams.err

    return run


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """Here and in processes started here, also where the tests are a job in the background.

    A shell starts such a job with SIGINT ignored, and what is ignored stays so in every child; what
    is handled is the default again in a child.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A skip is a failure where ``PENSTOCK_REQUIRE`` names what the test needs (its marker)."""
    outcome = yield
    report = outcome.get_result()
    required = {name.strip() for name in os.environ.get("PENSTOCK_REQUIRE", "").split(",")}
    needed = sorted(required & {marker.name for marker in item.iter_markers()})
    if report.skipped and needed and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"PENSTOCK_REQUIRE names {', '.join(needed)}, but: {reason}"

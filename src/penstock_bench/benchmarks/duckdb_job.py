"""The pipeline's whole job in DuckDB: the same tables, the same fits, on one machine.

Records of Parquet files, of the record's own types and counted by window, are read once, some hours
at a time: checked, cleared of repeats by the same rule, and turned into rates, streams, traffic,
places, workers and utilisation, which are written as Parquet. Costs of components and workers come
from the same estimators. It keeps no store that can be added to, follows nothing and survives no
kill.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from penstock.errors import InputError
from penstock.model.telemetry import Counters
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.extrapolate import Estimate
from penstock.telemetry.reasons import EARLIEST_MS, LATEST_MS
from penstock.telemetry.settings import USUAL_WARM_UP_S, fitting_warm_up_s
from penstock_bench.benchmarks import duckdb_fits, duckdb_tables
from penstock_bench.benchmarks.duckdb_checks import is_sound

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Records that are held at once, about; whole hours.
_CHUNK_RECORDS = 2_000_000
_HOUR_MS = 3_600_000
_IN_TIME = f"coalesce(time_ms between {EARLIEST_MS} and {LATEST_MS}, false)"
#: Tables of one chunk: what each is selected with.
_PER_CHUNK = {
    "rates": duckdb_tables.RATES_SQL,
    "streams": duckdb_tables.STREAMS_SQL,
    "traffic": duckdb_tables.TRAFFIC_SQL,
    "workers": duckdb_tables.WORKERS_SQL,
    "quarantine": "from quarantine",
}


@dataclass(frozen=True)
class WholeJob:
    """What DuckDB found."""

    fits: list[CostFit]
    #: Points per tuple/s that enters or leaves a worker, by machine type.
    crossing: dict[str, Estimate]
    workers: list[CostFit]
    #: Streams towards everyone who takes them.
    streams: int
    #: Seconds of each step.
    timings: dict[str, float] = field(default_factory=dict)


def do_whole_job(
    folder: Path,
    tables: Path,
    *,
    threads: int = 2,
    memory_gb: float = 4.0,
    now_ms: int | None = None,
) -> WholeJob:
    """Tables of the Parquet files in a folder, as Parquet in another, and the costs."""
    if not list(folder.rglob("*.parquet")):
        raise InputError(f"{folder}: no Parquet files, and the peer reads no others")
    now = int(time.time() * 1000) if now_ms is None else now_ms
    with (
        TemporaryDirectory(prefix="penstock-duckdb-") as scratch,
        _connection(scratch, threads, memory_gb) as database,
    ):
        return _Job(database, folder, tables, now, threads).run()


@contextmanager
def _connection(scratch: str, threads: int, memory_gb: float) -> Iterator[DuckDBPyConnection]:
    try:
        import duckdb
    except ImportError:
        raise InputError("this benchmark's peer is DuckDB: pip install duckdb") from None
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": threads,
        "memory_limit": f"{memory_gb}GB",
        "temp_directory": scratch,
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=settings) as database:
        yield database


@dataclass
class _Job:
    database: DuckDBPyConnection
    folder: Path
    tables: Path
    now_ms: int
    threads: int
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return f"read_parquet('{self.folder}/**/*.parquet', filename = true)"

    def written(self, table: str) -> str:
        return f"read_parquet('{self.tables}/{table}/*.parquet')"

    def run(self) -> WholeJob:
        for table in (*_PER_CHUNK, "places", "utilisation"):
            (self.tables / table).mkdir(parents=True)
        with self._timed("look over"):
            chunks, warm_up_s = self._chunks(), self._warm_up_s()
        for number, where in enumerate(chunks):
            self._chunk(number, where, warm_up_s)
        with self._timed("places, utilisation"):
            places = duckdb_tables.places_sql(self.written("traffic"))
            self._write("places", places, 0)
            self._write("utilisation", duckdb_tables.utilisation_sql(self.written("workers")), 0)
        with self._timed("points"):
            names = ("rates", "traffic", "workers")
            for statement in duckdb_fits.views(*(self.written(name) for name in names)):
                self.database.execute(statement)
        with self._timed("fits"):
            fits = duckdb_fits.component_fits(self.database, self.threads)
            crossing, workers = duckdb_fits.worker_fits(self.database)
            _, edges = duckdb_fits.stream_figures(
                self.database, self.written("streams"), self.written("traffic")
            )
        return WholeJob(fits, crossing, workers, len(edges), self.timings)

    def _chunks(self) -> list[str]:
        """Conditions of some whole hours each; records out of all time come last."""
        rows = self.database.execute(
            f"""select time_ms // {_HOUR_MS} as hour, count(*) from {self.source}
                where {_IN_TIME} group by all order by hour"""
        ).fetchall()
        spans: list[list[int]] = []
        held = _CHUNK_RECORDS
        for hour, records in rows:
            if held + records > _CHUNK_RECORDS:
                spans.append([hour, hour])
                held = 0
            spans[-1][1] = hour
            held += records
        within = [
            f"time_ms between {first * _HOUR_MS} and {(last + 1) * _HOUR_MS - 1}"
            for first, last in spans
        ]
        strays = self.database.execute(
            f"select count(*) from {self.source} where not {_IN_TIME}"
        ).fetchone()
        return [*within, f"not {_IN_TIME}"] if strays and strays[0] else within

    def _warm_up_s(self) -> float:
        """A minute, or what fits a shorter run."""
        span = f"select min(uptime_s), max(uptime_s) from {self.source}"
        seen = self.database.execute(span).fetchone()
        if seen and seen[1] is not None and not seen[1] >= 2 * USUAL_WARM_UP_S:
            sound = f"{span} where {is_sound(self.now_ms)}"
            seen = self.database.execute(sound).fetchone()
        return fitting_warm_up_s(*(seen or (None, None)))

    def _chunk(self, number: int, where: str, warm_up_s: float) -> None:
        with self._timed("take in"):
            self.database.execute(
                duckdb_tables.take_chunk(self.source, where, warm_up_s, self.now_ms)
            )
            self._refuse_totals()
        with self._timed("set aside"):
            for statement in duckdb_tables.SET_ASIDE:
                self.database.execute(statement)
        for table, query in _PER_CHUNK.items():
            with self._timed(table):
                self._write(table, query, number)

    def _refuse_totals(self) -> None:
        is_total = f"counters = '{Counters.TOTAL.value}'"
        if self.database.execute(f"from chunk select 1 where {is_total} limit 1").fetchone():
            raise InputError("the peer takes counts by window only, not totals since the start")

    def _write(self, table: str, query: str, number: int) -> None:
        path = self.tables / table / f"part-{number:05d}.parquet"
        self.database.execute(f"copy ({query}) to '{path}' (format parquet)")

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.timings[step] = self.timings.get(step, 0.0) + time.monotonic() - began

"""Are the pipeline's rows those that DuckDB computes on its own from the same files?

Rows are matched by all that is no measured number (names, tasks, moments), and their numbers held
against each other to a part in 10⁹, hour by hour, so that ten million rows need little memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.telemetry.findings import CostFit
from penstock.telemetry.store_export import export_table
from penstock.telemetry.store_reader import RATES_VIEW, StoreReader, open_store
from penstock_bench.benchmarks.duckdb_job import do_whole_job
from penstock_bench.benchmarks.duckdb_tables import FIELDS, FILLED
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.pipeline import run_profile
from penstock_bench.benchmarks.pipeline_speed import MEMORY
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.benchmarks.volumes import VolumeSize, volume

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLES = ("rates", "streams", "traffic", "places", "workers", "utilisation", "quarantine")
#: Of what was set aside; its text, and the name of its file, are the engine's own.
_OF_QUARANTINE = ("reason", "field", "hour")
#: Numbers that differ by more, as a part of the larger, are not equal.
_PART = 1e-9


@dataclass(frozen=True)
class TableComparison:
    """One table of the pipeline beside DuckDB's."""

    rows: int
    #: Rows without a partner, or with one whose numbers are others.
    differ: int


@dataclass(frozen=True)
class Agreement:
    """All tables, and the fits."""

    tables: dict[str, TableComparison]
    #: Costs that both know, and how many of them have the same form.
    fits: int
    forms_alike: int
    #: Where forms are alike, how far ``e`` and ``met`` are apart, in standard errors.
    apart: list[float]


@made_once
def compared(size: VolumeSize) -> Agreement:
    """Both do the whole job on the same files."""
    with tempfile.TemporaryDirectory(prefix="penstock-rows-") as place:
        folder, store, tables = volume(size), Path(place) / "store", Path(place) / "tables"
        run_profile(folder, "--store", str(store), "--partial", *MEMORY)
        say("the pipeline is done; DuckDB's turn")
        job = do_whole_job(folder, tables)
        with open_store(store) as reader, _database(place) as database:
            found = {"samples": _samples(database, folder, reader)}
            for table in _TABLES:
                found[table] = _table(database, table, _files(reader, table, place), tables)
                say(f"{table}: {found[table].differ:,} of {found[table].rows:,} rows differ")
            return _with_fits(found, reader.read("profile").to_pylist(), job.fits)


def _database(place: str) -> DuckDBPyConnection:
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": "4GB", "temp_directory": f"{place}/spill", "threads": 2,
        "preserve_insertion_order": False,
    }  # fmt: skip
    return duckdb.connect(config=settings)


def _files(reader: StoreReader, table: str, place: str) -> str:
    """How DuckDB reads a table of the store."""
    if table == RATES_VIEW:
        target = Path(place) / "rates.parquet"
        export_table(reader, table, target, lambda _done, _total: None)
        return f"read_parquet('{target}')"
    names = ", ".join(f"'{path}'" for path in reader.files(table)) if _has(reader, table) else ""
    return f"read_parquet([{names}], hive_partitioning = true, union_by_name = true)"


def _has(reader: StoreReader, table: str) -> bool:
    return table in reader.tables


def _table(database: DuckDBPyConnection, table: str, ours: str, peer: Path) -> TableComparison:
    theirs = f"read_parquet('{peer / table}/*.parquet')"
    if "[]" in ours:  # the store has no such rows
        return TableComparison(0, _count(database, f"from {theirs}"))
    kinds = _kinds(database, theirs)
    if table == "quarantine":
        kinds = {name: kinds[name] for name in _OF_QUARANTINE}
    numbers = [name for name, kind in kinds.items() if kind == "DOUBLE"]
    names = [name for name in kinds if name not in numbers]
    hours = database.execute(
        f"select distinct hour from {theirs} union select distinct hour from {ours}"
    ).fetchall()
    differ = sum(
        _count(database, different(_of_hour(ours, hour), _of_hour(theirs, hour), names, numbers))
        for (hour,) in sorted(hours)
    )
    return TableComparison(_count(database, f"from {ours}"), differ)


def _of_hour(source: str, hour: str) -> str:
    return f"(select * from {source} where hour = '{hour}')"


def different(ours: str, theirs: str, names: Sequence[str], numbers: Sequence[str]) -> str:
    """SQL for the rows of either side that have no equal on the other, equally often."""
    keys = ", ".join(names)
    order = ", ".join(["1", *numbers])

    def numbered(source: str, prefix: str) -> str:
        measured = "".join(f", {name} as {prefix}{name}" for name in numbers)
        nth = f"row_number() over (partition by {keys} order by {order})"
        return f"select {keys}, {nth} as nth, true as {prefix}here{measured} from {source}"

    matched = " and ".join(f"o.{name} is not distinct from t.{name}" for name in (*names, "nth"))
    apart = [
        f"""(our_{name} is null) <> (their_{name} is null)
            or (our_{name} is not null
                and abs(our_{name} - their_{name})
                    > {_PART} * greatest(abs(our_{name}), abs(their_{name})))"""
        for name in numbers
    ]
    wrong = " or ".join(["our_here is null", "their_here is null", *apart])
    return f"""
        with o as ({numbered(ours, "our_")}), t as ({numbered(theirs, "their_")})
        select 1 from o full outer join t on {matched} where {wrong}
    """


def _samples(database: DuckDBPyConnection, folder: Path, reader: StoreReader) -> TableComparison:
    """What was taken in is what lay there, but for what was set aside on the way in."""
    row = ", ".join(f"{FILLED.get(name, name)}" for name in FIELDS)

    def counted(source: str) -> str:
        return f"select hash({row}) as content, count(*) as times from {source} group by all"

    theirs, ours = f"read_parquet('{folder}/*.parquet')", _files(reader, "samples", "")
    aside = "select count(*) from {} where hour = 'aside'"
    refused = 0
    if _has(reader, "quarantine"):
        refused = _number(database, aside.format(_files(reader, "quarantine", "")))
    differ = _number(
        database,
        f"""select coalesce(sum(abs(coalesce(o.times, 0) - coalesce(t.times, 0))), 0)
            from ({counted(ours)}) o full outer join ({counted(theirs)}) t using (content)""",
    )
    return TableComparison(_count(database, f"from {ours}"), abs(differ - refused))


def _kinds(database: DuckDBPyConnection, source: str) -> dict[str, str]:
    described = database.execute(f"describe select * from {source}").fetchall()
    return {name: kind for name, kind, *_ in described}


def _count(database: DuckDBPyConnection, query: str) -> int:
    return _number(database, f"select count(*) from ({query})")


def _number(database: DuckDBPyConnection, query: str) -> int:
    row = database.execute(query).fetchone()
    return int(row[0]) if row else 0


def _with_fits(
    tables: dict[str, TableComparison], profile: list[dict[str, Any]], fits: list[CostFit]
) -> Agreement:
    known = {(f.topology, f.component, f.machine_type): f for f in fits if not f.not_ready}
    both = [
        (row, known[key])
        for row in profile
        if row["e"] is not None
        and (key := (row["topology"], row["component"], row["machine_type"])) in known
    ]
    alike = [(row, fit) for row, fit in both if (row["form"] or "") == fit.form]
    apart = [
        max(
            abs(row[name] - getattr(fit, name)) / max(row[f"{name}_error"], 1e-12)
            for name in ("e", "met")
        )
        for row, fit in alike
    ]
    return Agreement(tables, len(both), len(alike), apart)


# -- figures ---------------------------------------------------------------------------------------


def rows_that_differ(
    records: int, components: int, types: int, repeats: int = 1
) -> Iterator[float]:
    """Rows of all tables that DuckDB does not have, or the pipeline does not."""
    for _ in range(repeats):
        found = compared(VolumeSize(records, components, types))
        yield float(sum(table.differ for table in found.tables.values()))


def forms_alike(records: int, components: int, types: int, repeats: int = 1) -> Iterator[float]:
    """Share of costs that both fit with the same form."""
    for _ in range(repeats):
        found = compared(VolumeSize(records, components, types))
        yield found.forms_alike / max(found.fits, 1)


def estimates_apart(records: int, components: int, types: int, repeats: int = 1) -> Iterator[float]:
    """The largest distance between two estimates of one cost, in standard errors."""
    for _ in range(repeats):
        yield max(compared(VolumeSize(records, components, types)).apart, default=float("inf"))


def row_table(records: int, components: int, types: int) -> FigureTable:
    """Table by table."""
    found = compared(VolumeSize(records, components, types))
    rows = [[name, f"{table.rows:,}", f"{table.differ:,}"] for name, table in found.tables.items()]
    return FigureTable(
        f"The pipeline's rows beside DuckDB's, {records:,} samples",
        ["table", "rows", "differ by more than 1e-9"],
        rows,
    )

"""Several small tables in one file, one Arrow stream after the other.

Only the pipeline reads them. A Parquet file for each would take longer to open than to read.
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Mapping

import pyarrow as pa
import pyarrow.ipc as ipc

from penstock.telemetry.slots.files import open_file_system

_NAME = b"table"
_OPTIONS = ipc.IpcWriteOptions(compression="lz4")


def write_bundle(root: str, folder: str, name: str, tables: Mapping[str, pa.Table]) -> str:
    """Write tables below a folder of the store; the file's path below the store."""
    system, base = open_file_system(root)
    path = f"{folder}/{name}-{uuid.uuid4().hex[:12]}.arrows"
    system.create_dir(f"{base}/{folder}", recursive=True)
    with system.open_output_stream(f"{base}/{path}") as sink:
        for table_name, table in tables.items():
            whole = table.unify_dictionaries().combine_chunks()
            schema = whole.schema.with_metadata({_NAME: table_name.encode()})
            with ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
                writer.write_table(whole.cast(schema))
    return path


def read_bundle(root: str, path: str, wanted: Container[str] | None = None) -> dict[str, pa.Table]:
    """The tables of a file, or some of them."""
    system, base = open_file_system(root)
    tables = {}
    with system.open_input_file(f"{base}/{path}") as source:
        data = source.read_buffer()
    reader = pa.BufferReader(data)
    while reader.tell() < len(data):
        stream = ipc.open_stream(reader)
        name = stream.schema.metadata[_NAME].decode()
        table = stream.read_all()
        if wanted is None or name in wanted:
            tables[name] = table.replace_schema_metadata(None)
    return tables

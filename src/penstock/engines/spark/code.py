"""What components do: plain Python functions over batches, in a file next to the topology's.

A function has its component's name (``rolling-count`` is ``rolling_count``) and turns a batch of
rows into a batch of rows, as pandas frames or, if it says so in its annotation, as Arrow record
batches. The file says what comes out, as Spark writes schemas::

    streams = {"split": "word string", "count": "word string, count bigint"}
    state = {"count": "word string, count bigint"}

    def split(rows):
        return rows["sentence"].str.split().explode().to_frame("word")

    def count(rows, state):   # state: what it returned last time; its first column is the key
        total = pd.concat([state, rows.groupby("word").size().reset_index(name="count")])
        total = total.groupby("word", as_index=False)["count"].sum()
        return total[total["word"].isin(rows["word"])], total

A component with several streams returns a mapping of stream to rows and declares one schema each. A
component without a function passes rows on as they are.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.errors import Finding, InputError, close_match
from penstock.model.topology import DEFAULT_STREAM, Kind, Topology

#: What a function is called with and gives back; pandas or Arrow.
Function = Callable[..., Any]


@dataclass(frozen=True)
class ComponentWork:
    """One component's function and the schemas of what it puts out and remembers."""

    component: str
    function: Function | None
    #: Schema of each stream, as Spark writes it.
    streams: Mapping[str, str]
    state: str | None = None

    @property
    def takes_arrow(self) -> bool:
        """Whether the function wants Arrow record batches in place of pandas frames."""
        if self.function is None:
            return False
        first = next(iter(inspect.signature(self.function).parameters.values()), None)
        note = "" if first is None else str(first.annotation)
        return "RecordBatch" in note or "pyarrow" in note


@dataclass(frozen=True)
class Code:
    """The work of every component of a topology, and the file it is from."""

    works: Mapping[str, ComponentWork]
    file: Path

    @property
    def stateful(self) -> list[str]:
        return [name for name, work in self.works.items() if work.state is not None]


def load_code(path: Path, topology: Topology) -> Code:
    """The code of a topology, or an error with everything that does not fit."""
    module = _import(path)
    streams, state = _table(module, "streams", path), _table(module, "state", path)
    components = [c for c in topology.components if c.kind is not Kind.ACKER]
    names = {c.name for c in components}
    findings = [
        Finding(_no_such(name, names), str(path), field=table)
        for table, entries in (("streams", streams), ("state", state))
        for name in entries
        if name not in names
    ]
    works = {}
    for component in components:
        function = getattr(module, re.sub(r"\W", "_", component.name), None)
        declared = streams.get(component.name)
        # What passes on what comes in needs no schema; a spout gets rows of any source.
        is_open = function is None and component.kind is not Kind.SPOUT
        if declared is None and not is_open and not _is_sink(topology, component.name, names):
            message = f'say what {component.name} puts out: streams = {{"{component.name}": "…"}}'
            findings.append(Finding(message, str(path), field="streams"))
        schemas = declared if isinstance(declared, Mapping) else {DEFAULT_STREAM: declared or ""}
        works[component.name] = ComponentWork(
            component.name, function, dict(schemas), state.get(component.name)
        )
    if findings:
        raise InputError(*findings)
    return Code(works, path)


def code_beside(topology_file: Path) -> Path:
    """The file with a topology's code: the same name, ending in .py."""
    return topology_file.with_suffix(".py")


def shipped_code(name: str) -> Path | None:
    """The code of a shipped example, if there is any."""
    path = Path(__file__).parent / "shipped" / f"{name}.py"
    return path if path.is_file() else None


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        message = "no such file; write one function per component there (docs/spark.md)"
        raise InputError(Finding(message, str(path)))
    name = f"penstock_code_{re.sub(r'[^0-9a-zA-Z]', '_', path.stem)}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(Finding("is not a Python file", str(path)))
    module = module_from_spec(spec)
    # By value: executors have no such module. cloudpickle does that for what is not importable.
    sys.modules.pop(name, None)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a user's file does
        line = error.lineno if isinstance(error, SyntaxError) else None
        raise InputError(Finding(f"{type(error).__name__}: {error}", str(path), line)) from None
    return module


def _table(module: ModuleType, name: str, path: Path) -> dict[str, Any]:
    table = getattr(module, name, {})
    if not isinstance(table, dict):
        raise InputError(Finding("must map components to schemas", str(path), field=name))
    return table


def _is_sink(topology: Topology, component: str, running: set[str]) -> bool:
    return not any(s.source == component and s.target in running for s in topology.streams)


def _no_such(name: str, known: set[str]) -> str:
    close = close_match(name, sorted(known))
    hint = f'; did you mean "{close}"?' if close else ""
    return f'no component "{name}"{hint}'

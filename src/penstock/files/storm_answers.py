"""Answers of Storm's UI (``/api/v1/topology/…``): the fields telemetry needs, checked.

Latencies and capacities come as text, and what was never measured as null. The CPU and memory in
these answers (``assignedCpu``, ``requestedMemOnHeap``) are requests, not measurements, and are
left out on purpose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

from penstock.errors import InputError
from penstock.files.document import LONGEST_NAME, ParsedFile
from penstock.files.schema import check

_MOST = 1e18
# Looser than the names in our own files: what runs in Storm has the name it has.
_Text = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Tuples = Annotated[float, Field(ge=0, le=_MOST, allow_inf_nan=False)]
_Ms = Annotated[float, Field(ge=0, le=_MOST, allow_inf_nan=False)]
_Seconds = Annotated[int, Field(ge=0, le=10**10)]
_TASKS = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})\]")
_ALL_TIME = ":all-time"


def _task_range(text: str) -> str:
    match = _TASKS.fullmatch(text)
    if not match or int(match[1]) > int(match[2]):
        raise ValueError("must be a range of tasks such as [6-7]")
    return text


def _window(text: str) -> str:
    if text != _ALL_TIME and not re.fullmatch(r"[1-9][0-9]{0,9}", text):
        raise ValueError(f"must be {_ALL_TIME} or a number of seconds")
    return text


_TaskRange = Annotated[str, AfterValidator(_task_range)]
_Window = Annotated[str, AfterValidator(_window)]
# Plain dataclasses, so that no pydantic model leaves this room; pydantic reads them all the same.
_CAMEL = ConfigDict(alias_generator=to_camel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """One entry of ``executorStats``: counts of all its streams together."""

    __pydantic_config__ = _CAMEL
    id: _TaskRange
    host: _Text
    port: Annotated[int, Field(ge=0, le=65535)]
    uptime_seconds: _Seconds | None = None
    executed: _Tuples | None = None
    emitted: _Tuples | None = None
    acked: _Tuples | None = None
    execute_latency: _Ms | None = None
    process_latency: _Ms | None = None
    complete_latency: _Ms | None = None

    @property
    def first_task(self) -> int:
        return int(self.id[1:].split("-")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class InputStats:
    """Tuples all executors of a component took from one stream."""

    __pydantic_config__ = _CAMEL
    component: _Text
    stream: _Text
    executed: _Tuples | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputStats:
    """Tuples all executors of a component put on one stream."""

    __pydantic_config__ = _CAMEL
    stream: _Text
    emitted: _Tuples | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentAnswer:
    """``/topology/<id>/component/<component>``."""

    __pydantic_config__ = _CAMEL
    id: _Text
    name: _Text
    topology_id: _Text
    window: _Window
    component_type: _Text = "bolt"
    executor_stats: tuple[Executor, ...]
    input_stats: tuple[InputStats, ...] = ()
    output_stats: tuple[OutputStats, ...] = ()

    @property
    def window_s(self) -> int | None:
        """``None`` for all time."""
        return None if self.window == _ALL_TIME else int(self.window)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One entry of a topology's ``workers``."""

    __pydantic_config__ = _CAMEL
    host: _Text
    port: int
    uptime_seconds: _Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    sample_rate: Annotated[
        float | None, Field(alias="topology.stats.sample.rate", gt=0, le=1, allow_inf_nan=False)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyAnswer:
    """``/topology/<id>``."""

    __pydantic_config__ = _CAMEL
    id: _Text
    name: _Text
    uptime_seconds: _Seconds
    workers: tuple[Worker, ...] = ()
    configuration: Configuration = Configuration()


class _ComponentRoot(RootModel[ComponentAnswer]):
    pass


class _TopologyRoot(RootModel[TopologyAnswer]):
    pass


def component_answer(document: ParsedFile) -> ComponentAnswer:
    """The answer about one component, or everything that is wrong with it."""
    model, findings = check(document, _ComponentRoot)
    if model is None:
        raise InputError(*findings)
    return model.root


def topology_answer(document: ParsedFile) -> TopologyAnswer:
    """The answer about one topology, or everything that is wrong with it."""
    model, findings = check(document, _TopologyRoot)
    if model is None:
        raise InputError(*findings)
    return model.root

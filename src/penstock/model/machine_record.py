"""The machine record: what one machine is and does, as its agent tells it once per window.

Whoever watches a machine writes these records as JSON lines. Like the telemetry record of tasks
(:mod:`penstock.model.telemetry`), they are defined once, in the tables below; a record is a plain
mapping of these fields, and what is not known is absent, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.model.telemetry import FieldType, SampleField

MACHINE_RECORD_VERSION = 1
#: Stands in every record, which so is none of a task.
KIND = "machine"

_T, _W, _N = FieldType.TEXT, FieldType.WHOLE, FieldType.NUMBER


def _required(name: str, kind: FieldType, meaning: str, unit: str = "") -> SampleField:
    return SampleField(name, kind, meaning, unit, required=True)


#: Those that :class:`~penstock.model.cluster.MachineType` has too, under the same names.
HARDWARE_FIELDS: tuple[SampleField, ...] = (
    SampleField("sockets", _W, "processors"),
    SampleField("cores", _W, "cores of one processor"),
    SampleField("ghz", _N, "nominal clock, or the highest, or that of now", "GHz"),
    SampleField("flops_per_cycle", _N, "double-precision operations of a core, by its flags"),
    SampleField("ram_mb", _N, "memory built in", "MB"),
    SampleField("nic_mbps", _N, "speed of the link that leads out", "Mb/s"),
)

#: Of a fingerprint (:mod:`penstock.calibration.fingerprint`): the kind of work, ``_per_s``.
FINGERPRINT_KINDS = ("integer", "floating_point", "memory", "hashing", "serialising")

MACHINE_FIELDS: tuple[SampleField, ...] = (
    _required("record", _T, f"always {KIND}"),
    _required("version", _W, f"version of this record's format: {MACHINE_RECORD_VERSION}"),
    _required("time_ms", _W, "end of the window, by the machine's clock", "ms since 1970, UTC"),
    _required("window_ms", _W, "length of the window", "ms"),
    _required("machine", _T, "name of the machine"),
    _required("host", _T, "what the machine calls itself"),
    SampleField("machine_type", _T, "type of the machine, where somebody said it"),
    SampleField("region", _T, "region, where somebody said it"),
    SampleField("rack", _T, "rack, where somebody said it"),
    *HARDWARE_FIELDS,
    SampleField("threads", _W, "processors that the system counts; 100 points each"),
    SampleField("interface", _T, "the link that leads out"),
    SampleField("busy_points", _N, "CPU in use on the whole machine", "points, 100 = one core"),
    SampleField("other_points", _N, "CPU in use by others than the engine's workers", "points"),
    SampleField("steal_points", _N, "CPU that the hypervisor gave to others", "points"),
    SampleField("agent_points", _N, "CPU that the agent itself used", "points"),
    SampleField("agent_bytes", _N, "sent and received for probes, headers included", "bytes"),
    *(
        SampleField(f"{kind}_per_s", _N, f"{kind.replace('_', ' ')} work of a core", "per s of CPU")
        for kind in FINGERPRINT_KINDS
    ),
    SampleField("cores_worth", _N, "all cores at once, in cores that are alone"),
)

#: Entries of ``round_trips``: one for each machine that was probed in the window.
ROUND_TRIP_FIELDS: tuple[SampleField, ...] = (
    _required("machine", _T, "the other machine"),
    _required("sent", _W, "probes sent"),
    _required("lost", _W, "probes without an answer in time"),
    SampleField("least_ms", _N, "shortest round trip", "ms"),
    SampleField("median_ms", _N, "median round trip", "ms"),
)


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Probes of one machine by another in one window."""

    machine: str
    sent: int
    lost: int
    least_ms: float | None = None
    median_ms: float | None = None


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """One record. ``facts`` holds the optional fields that are known, by name."""

    machine: str
    host: str
    time_ms: int
    window_ms: int
    facts: Mapping[str, Any]
    round_trips: tuple[RoundTrip, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """As its JSON line says it."""
        trips = [_known({f.name: getattr(t, f.name) for f in ROUND_TRIP_FIELDS}) for t in
                 self.round_trips]  # fmt: skip
        own = {
            "record": KIND,
            "version": MACHINE_RECORD_VERSION,
            "time_ms": self.time_ms,
            "window_ms": self.window_ms,
            "machine": self.machine,
            "host": self.host,
        }
        optional = {f.name: self.facts.get(f.name) for f in MACHINE_FIELDS if not f.required}
        return own | _known(optional) | ({"round_trips": trips} if trips else {})


def _known(values: Mapping[str, Any]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}

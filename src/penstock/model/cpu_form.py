"""How the CPU of an instance depends on its rate, as measured.

Plans compute with straight lines (docs/concepts.md). What was measured may bend; a form keeps the
bend, so that predictions can use it and a plan can say how far its straight line is off.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from penstock.model.arrays import FloatVector


class FormKind(StrEnum):
    LINEAR = "linear"
    #: An idle executor burns CPU while it waits, and gives it back under load.
    SPINNING = "spinning"
    #: Near full load the reading bends towards a ceiling.
    SATURATING = "saturating"
    #: A tuple costs more the more executors there are.
    CROWDING = "crowding"


@dataclass(frozen=True, slots=True)
class CpuForm:
    """CPU points against tuples/s of one instance."""

    kind: FormKind
    e: float
    met: float
    #: Points an idle instance burns while it waits (spinning).
    spin: float = 0.0
    #: The rate at which spinning ends, the ceiling in points, or the exponent of crowding.
    shape: float = 0.0
    #: The number of executors at which ``e`` holds (crowding).
    instances: float = 1.0

    def cpu_points(self, rate: FloatVector, instances: FloatVector | float = 1.0) -> FloatVector:
        return form_cpu_points(
            self.kind, np.asarray(rate), np.asarray(instances), e=self.e, met=self.met,
            spin=self.spin, shape=self.shape, reference=self.instances,
        )  # fmt: skip


def form_cpu_points(
    kind: FormKind,
    rate: FloatVector,
    instances: FloatVector,
    *,
    e: FloatVector | float,
    met: FloatVector | float,
    spin: FloatVector | float,
    shape: FloatVector | float,
    reference: FloatVector | float,
) -> FloatVector:
    """Of forms of one kind, element by element: fits try thousands of them at once."""
    load = e * rate + met
    match kind:
        case FormKind.SPINNING:
            return np.asarray(load + spin * np.maximum(0.0, 1.0 - rate / shape))
        case FormKind.SATURATING:
            return np.asarray(shape * (1 - np.exp(-load / shape)))
        case FormKind.CROWDING:
            crowd = (instances / reference) ** shape
            return np.asarray(e * rate * crowd + met)
        case FormKind.LINEAR:
            return np.asarray(load)

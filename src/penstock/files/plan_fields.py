"""The parts of a plan file, as pydantic checks them."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from penstock.files.contingency_fields import ContingencyFields, Slot
from penstock.files.deployed_fields import DeployedFields
from penstock.files.schema import Count, Name, Strict
from penstock.model.plan import MachineLoad


def _scalar(value: object) -> object:
    """One message in place of one for each type it might have been."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError("must be text, a finite number, true or false")


#: What was computed may be as small as rounding leaves it.
Figure = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ParameterValue = Annotated[str | int | float | bool | None, BeforeValidator(_scalar)]


class InstanceFields(Strict):
    """One instance of a component."""

    machine: str
    slot: Slot = 0
    share: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Part of the component's input; divided evenly if absent."
    )


class PlacedTopology(Strict):
    name: Name
    components: dict[Name, list[InstanceFields]]


class SchedulerFields(Strict):
    name: Name
    parameters: dict[str, ParameterValue] = Field(default_factory=dict)
    seed: int = 0


class MadeFrom(Strict):
    """SHA-256 of each input's canonical form."""

    topologies: dict[str, str]
    cluster: str
    profile: str | None = None


class Inputs(Strict):
    """The inputs themselves, each in its own format."""

    topologies: Annotated[list[dict[str, Any]], Field(min_length=1)]
    cluster: dict[str, Any]
    profile: dict[str, Any] | None = None
    weighted: bool = False
    given_counts: list[Count] | None = None
    terms: dict[str, Any] | None = Field(None, description="In the format penstock/terms.")


class KeptInputs(Strict):
    """Of the inputs of a kept plan, what is read on the cluster."""

    topologies: list[dict[str, Any]]
    cluster: dict[str, Any]


class KeptFields(Strict):
    """What a plan from before says of other topologies, which still holds."""

    topologies: list[PlacedTopology]
    if_lost: list[ContingencyFields] = Field(default_factory=list)
    deployed: list[DeployedFields] = Field(default_factory=list)
    inputs: KeptInputs


class MachineLoadFields(Strict):
    machine: str
    instances: Count
    cpu_points: Figure
    usable_cpu_points: Figure
    memory_mb: Figure | None = None
    resources: dict[str, Figure] = Field(
        default_factory=dict, description="What is used of resources beside CPU and memory."
    )

    def value(self) -> MachineLoad:
        fields = self.model_dump() | {"resources": tuple(self.resources.items())}
        return MachineLoad(**fields)


class PredictedFields(Strict):
    """What the cost model says of the plan, at its sustainable rate."""

    rate_per_s: dict[str, Figure] = Field(default_factory=dict)
    scale: Figure | None = Field(None, description="Common factor on the demands.")
    throughput_per_s: Figure | None = None
    limited_by: str = ""
    bound_scale: Figure | None = Field(None, description="No plan can exceed this scale.")
    bound_kind: str = ""
    gap: Figure | None = Field(None, description="Fraction of the bound not reached.")
    proven_optimal: bool = False
    machines: list[MachineLoadFields] = Field(default_factory=list)
    violations: list[str] = Field(default_factory=list)

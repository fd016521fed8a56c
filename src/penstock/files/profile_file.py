"""The profile format: costs per row (kind of work) and machine type, and measured streams."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import InputError
from penstock.files.document import ParsedFile
from penstock.files.schema import (
    MANY_FINDINGS,
    Count,
    FileModel,
    Name,
    NotNegative,
    Positive,
    Strict,
    Version,
    check_file,
    first_findings,
)
from penstock.files.topology_file import given
from penstock.files.traffic_fields import (
    InstanceTrafficFields,
    instance_traffic_from,
    instance_traffic_to_dict,
    traffic_findings,
)
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.model.profile import (
    Cost,
    Origin,
    Profile,
    SpeedBasis,
    SpeedEstimate,
    StreamMeasure,
    WorkerCost,
)
from penstock.model.topology import DEFAULT_STREAM


class FormFields(Strict):
    """What was measured, where it is not a straight line."""

    kind: Annotated[FormKind, Field(strict=False)]
    e: NotNegative
    met: NotNegative
    spin: NotNegative = Field(0.0, description="Points an idle instance burns (spinning).")
    shape: NotNegative = Field(
        0.0, description="Rate where spinning ends, ceiling in points, or exponent of crowding."
    )
    instances: NotNegative = Field(1.0, description="Executors at which e holds (crowding).")


class EstimateFields(Strict):
    """A cost measured on another machine type, divided by how much faster this one is."""

    measured_on: Name
    speed: Positive = Field(description="Of a core, relative to the type measured.")
    basis: Annotated[SpeedBasis, Field(strict=False)] = Field(
        description="Speeds stated in the cluster, clocks, or clocks alone."
    )


class CostFields(Strict):
    """CPU points on one machine type."""

    e: NotNegative = Field(description="Points per tuple/s.")
    met: NotNegative = Field(description="Points per instance, whatever the rate.")
    e_remote: NotNegative = Field(0.0, description="Extra per tuple/s crossing the process.")
    e_error: NotNegative | None = Field(None, description="Standard error of e.")
    met_error: NotNegative | None = Field(None, description="Standard error of met.")
    samples: Count | None = None
    extrapolated: bool = Field(False, description="Estimated from other types.")
    estimate: EstimateFields | None = Field(
        None, description="How it was estimated, if by speed; see `penstock plan --estimate-from`."
    )
    form: FormFields | None = Field(None, description="The measured form, if not a line.")
    linear_error: NotNegative | None = Field(
        None, description="Largest relative difference between form and line."
    )
    rate_most: NotNegative | None = Field(None, description="Highest rate measured, tuples/s.")


class RowFields(Strict):
    """One kind of work; components name it with profile."""

    memory_mb: NotNegative | None = Field(None, description="Memory of one instance.")
    on: Annotated[dict[Name, CostFields], Field(min_length=1)] = Field(
        description="Costs by machine type."
    )


class WorkerFields(Strict):
    """What a worker process uses beside its tasks."""

    cpu_points: NotNegative
    error: NotNegative | None = Field(None, description="Standard error.")
    e: NotNegative = Field(0.0, description="Points per tuple/s that its instances take in.")
    e_error: NotNegative | None = Field(None, description="Standard error of `e`.")
    e_remote: NotNegative = Field(0.0, description="Extra per tuple/s that enters or leaves it.")
    e_remote_error: NotNegative | None = Field(None, description="Standard error of `e_remote`.")


class StreamMeasureFields(Strict):
    """A measured stream; replaces what the topology declares."""

    source: Name
    target: Name
    stream: Name = DEFAULT_STREAM
    topology: str = Field("", description="Only for this topology; for all if absent.")
    selectivity: NotNegative | None = None
    selectivity_error: NotNegative | None = None
    tuple_bytes: NotNegative | None = None
    tuples_per_s: NotNegative | None = Field(None, description="Traffic seen on the stream.")


class ProfileFile(FileModel):
    """What a tuple and an idle instance cost."""

    format: Literal["penstock/profile"]
    version: Version[Literal[1]]
    name: Name
    description: str = ""
    origin: Annotated[Origin, Field(strict=False)] = Field(
        description="Where the numbers come from."
    )
    source: str = Field("", description="The paper, run or assumption behind them.")
    rows: Annotated[dict[Name, RowFields], Field(min_length=1)]
    streams: list[StreamMeasureFields] = Field(default_factory=list)
    workers: dict[Name, WorkerFields] = Field(
        default_factory=dict, description="By machine type; replaces what the cluster declares."
    )
    traffic: list[InstanceTrafficFields] = Field(
        default_factory=list,
        description="Between instances, for schedulers that group them by traffic.",
    )


def profile_from(document: ParsedFile) -> Profile:
    """The profile in a document, or an error with everything that is wrong with it."""
    document, file, findings = check_file(document, ProfileFile)
    if len(findings) < MANY_FINDINGS:
        findings += first_findings(document, traffic_findings(document))
    if file is None or findings:
        raise InputError(*findings)
    return Profile(
        name=file.name,
        costs=tuple(
            _cost(row, kind, cost)
            for row, fields in file.rows.items()
            for kind, cost in fields.on.items()
        ),
        memory_mb=tuple(
            (row, fields.memory_mb)
            for row, fields in file.rows.items()
            if fields.memory_mb is not None
        ),
        streams=tuple(
            StreamMeasure(
                m.source,
                m.target,
                m.stream,
                m.topology,
                m.selectivity,
                m.selectivity_error,
                m.tuple_bytes,
                m.tuples_per_s,
            )
            for m in file.streams
        ),
        workers=tuple(
            WorkerCost(kind, **fields.model_dump()) for kind, fields in file.workers.items()
        ),
        origin=file.origin,
        source=file.source,
        traffic=tuple(instance_traffic_from(fields) for fields in file.traffic),
    )


def _cost(row: str, kind: str, fields: CostFields) -> Cost:
    values = fields.model_dump(exclude={"form", "estimate"})
    form = CpuForm(**fields.form.model_dump()) if fields.form else None
    estimate = SpeedEstimate(**fields.estimate.model_dump()) if fields.estimate else None
    return Cost(row, kind, **values, form=form, estimate=estimate)


def profile_to_dict(profile: Profile) -> dict[str, object]:
    """The profile as its file says it; what equals the default is left out."""
    memory = dict(profile.memory_mb)
    rows: dict[str, object] = {
        row: given({"memory_mb": memory.get(row)})
        | {"on": {c.machine_type: _cost_dict(c) for c in profile.costs if c.row == row}}
        for row in profile.rows
    }
    head: dict[str, object] = {
        **ProfileFile.FORMAT.head,
        "name": profile.name,
        "origin": profile.origin.value,
    }
    streams = [_measure_dict(measure) for measure in profile.streams]
    return head | given(
        {
            "source": profile.source or None,
            "rows": rows,
            "streams": streams or None,
            "workers": {w.machine_type: _worker_dict(w) for w in profile.workers} or None,
            "traffic": [instance_traffic_to_dict(t) for t in profile.traffic] or None,
        }
    )


def _cost_dict(cost: Cost) -> dict[str, object]:
    return {"e": cost.e, "met": cost.met} | given(
        {
            "e_remote": cost.e_remote or None,
            "e_error": cost.e_error,
            "met_error": cost.met_error,
            "samples": cost.samples,
            "extrapolated": cost.extrapolated or None,
            "estimate": _estimate_dict(cost.estimate) if cost.estimate else None,
            "form": _form_dict(cost.form) if cost.form else None,
            "linear_error": cost.linear_error,
            "rate_most": cost.rate_most,
        }
    )


def _estimate_dict(estimate: SpeedEstimate) -> dict[str, object]:
    return {
        "measured_on": estimate.measured_on,
        "speed": estimate.speed,
        "basis": estimate.basis.value,
    }


def _form_dict(form: CpuForm) -> dict[str, object]:
    return {"kind": form.kind.value, "e": form.e, "met": form.met} | given(
        {
            "spin": form.spin or None,
            "shape": form.shape or None,
            "instances": form.instances if form.instances != 1.0 else None,
        }
    )


def _worker_dict(worker: WorkerCost) -> dict[str, object]:
    optional = {
        "error": worker.error,
        "e": worker.e or None,
        "e_error": worker.e_error,
        "e_remote": worker.e_remote or None,
        "e_remote_error": worker.e_remote_error,
    }
    return {"cpu_points": worker.cpu_points} | given(optional)


def _measure_dict(measure: StreamMeasure) -> dict[str, object]:
    return {"source": measure.source, "target": measure.target} | given(
        {
            "stream": measure.name if measure.name != DEFAULT_STREAM else None,
            "topology": measure.topology or None,
            "selectivity": measure.selectivity,
            "selectivity_error": measure.selectivity_error,
            "tuple_bytes": measure.tuple_bytes,
            "tuples_per_s": measure.tuples_per_s,
        }
    )

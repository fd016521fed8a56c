"""The certificate format: a proof of what no plan can exceed, with the plan it was made for inside.

The proof is a list of steps, so that no reader needs depth. A step that splits the box of counts it
is about names a component and a count; counts up to that are the next step, those above it the step
at ``above``. Any other step says why no plan with counts in its box carries more than the bound.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from penstock.errors import InputError
from penstock.files.document import document_of, read_document
from penstock.files.plan_file import plan_from, plan_to_dict
from penstock.files.schema import FileModel, Positive, Strict, Version, check_file
from penstock.files.writer import to_json
from penstock.model.certificate import Certificate, ProofStep, Refutation

_MOST_STEPS, _MOST_PRICES = 1_000_000, 20_000
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ProofStepFields(Strict):
    """A box of instance counts: split in two, or refuted."""

    component: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Split at a count of this component, by its position in the problem."
    )
    at: Annotated[int, Field(ge=0)] = Field(0, description="Counts up to this are the next step.")
    above: Annotated[int, Field(ge=0)] = Field(0, description="The step for counts above that.")
    by: Literal["fillings", "points", "alike", "packing"] | None = Field(
        None, description="Refuted, and how."
    )
    prices: Annotated[list[Price], Field(max_length=_MOST_PRICES)] = Field(
        default_factory=list,
        description="Price of a tuple/s of each component; `points`: and of an instance of each.",
    )

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.component is None) == (self.by is None):
            raise ValueError("must either split at a component or say by what it is refuted")
        return self

    def value(self) -> ProofStep:
        by = None if self.by is None else Refutation(self.by)
        return ProofStep(self.component, self.at, self.above, by, tuple(self.prices))


class CertificateFile(FileModel):
    """That no plan for a problem carries more than so much, and why."""

    format: Literal["penstock/certificate"]
    version: Version[Literal[1]]
    bound_scale: Positive = Field(description="No plan carries more, in units of the demands.")
    steps: Annotated[list[ProofStepFields], Field(min_length=1, max_length=_MOST_STEPS)]
    plan: dict[str, Any] = Field(description="The plan it was made for, as its file says it.")


def certificate_to_dict(certificate: Certificate) -> dict[str, object]:
    """A certificate as its file says it."""
    return {
        **CertificateFile.FORMAT.head,
        "bound_scale": certificate.bound_scale,
        "steps": [_step_dict(step) for step in certificate.steps],
        "plan": plan_to_dict(certificate.plan),
    }


def certificate_text(certificate: Certificate) -> str:
    return to_json(certificate_to_dict(certificate))


def read_certificate(path: Path) -> Certificate:
    """The certificate in a file, with its plan."""
    document, file, findings = check_file(read_document(path), CertificateFile)
    if file is None:
        raise InputError(*findings)
    return Certificate(
        plan=plan_from(document_of(file.plan, f"{document.name} plan")),
        bound_scale=file.bound_scale,
        steps=tuple(step.value() for step in file.steps),
    )


def _step_dict(step: ProofStep) -> dict[str, object]:
    if step.by is None:
        return {"component": step.component, "at": step.at, "above": step.above}
    return {"by": step.by.value, "prices": list(step.prices)}

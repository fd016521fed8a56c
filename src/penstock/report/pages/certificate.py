"""What a certificate says, in words that can be repeated to a colleague."""

from __future__ import annotations

from penstock.evaluate.predict import OPTIMAL_WITHIN
from penstock.files.answer_formats import answer_head
from penstock.model.certificate import Certificate, ProofStep
from penstock.model.plan import Plan
from penstock.planning.numbers import counted, percent, rate
from penstock.report.page import Document, Section, paragraph

#: Of the search for a plan, where the proof came across a better one.
_MORE_EFFORT = 10000


def certificate_page(
    certificate: Certificate, scale: float, boxes: int, *, better: float = 0.0, checked: bool
) -> Document:
    """The claim, what it covers and rests on, and how it is known."""
    lines = [
        _claim(certificate, scale),
        *_better(certificate, scale, better),
        *_lower_claim(certificate),
        covers(certificate.plan),
        _how(boxes, checked=checked),
    ]
    return Document("", (Section("", tuple(paragraph(line) for line in lines)),))


def _claim(certificate: Certificate, scale: float) -> str:
    plan = certificate.plan
    demand = float(plan.problem.demand.sum())
    most, carried = rate(certificate.bound_scale * demand), rate(scale * demand)
    gap = max(0.0, 1.0 - scale / certificate.bound_scale)
    if gap <= OPTIMAL_WITHIN:
        return (
            f"This plan carries {carried} tuples/s, and no plan for {plan.problem.title} on these "
            f"{machines(plan)} carries more: it is proven optimal."
        )
    return (
        f"No plan for {plan.problem.title} on these {machines(plan)} carries more than {most} "
        f"tuples/s. This plan carries {carried}, {percent(gap)} less: at most that is left to find."
    )


def _better(certificate: Certificate, scale: float, better: float) -> list[str]:
    if better <= scale * (1.0 + OPTIMAL_WITHIN):
        return []
    carried = rate(better * float(certificate.plan.problem.demand.sum()))
    found = f"A plan that carries {carried} tuples/s was found on the way"
    return [f"{found}; penstock plan --set effort={_MORE_EFFORT} looks for it."]


def _lower_claim(certificate: Certificate) -> list[str]:
    """What the plan file says beyond the certificate, by another proof."""
    claimed, kind = certificate.plan.predicted.bound_scale, certificate.plan.predicted.bound_kind
    if claimed is None or claimed >= certificate.bound_scale * (1.0 - OPTIMAL_WITHIN):
        return []
    most = rate(claimed * float(certificate.plan.problem.demand.sum()))
    return [f"The plan's own bound is lower, {most} tuples/s ({kind}); it is not part of this."]


def machines(plan: Plan) -> str:
    return counted(len(plan.problem.cluster.machines), "machine")


def covers(plan: Plan) -> str:
    """What a certificate holds for, and what it rests on."""
    division = (
        "whatever shares its instances get"
        if plan.problem.weighted
        else "with streams divided as their groupings say"
    )
    counts = "these instance counts" if plan.problem.given_counts else "any number of instances"
    return (
        f"That covers every plan: {counts} of each component, in any places, {division}. It rests "
        "on the costs of the profile and on the CPU, threads, memory, slots and other resources "
        "of the machines; what crosses the network can only make plans carry less than it says."
    )


def _how(boxes: int, *, checked: bool) -> str:
    ranges = counted(boxes, "range")
    if checked:
        return (
            f"Checked: the proof goes through all instance counts in {ranges}, leaves none out, "
            "and every one of them holds; no solver was asked."
        )
    return (
        f"The proof goes through all instance counts in {ranges}; penstock check goes through it "
        "again, with other code and no solver."
    )


def certificate_dict(certificate: Certificate, scale: float, *, checked: bool) -> dict[str, object]:
    """The same as facts."""
    demand = float(certificate.plan.problem.demand.sum())
    gap = max(0.0, 1.0 - scale / certificate.bound_scale)
    return {
        **answer_head("certified"),
        "rate_per_s": scale * demand,
        "bound_per_s": certificate.bound_scale * demand,
        "gap": gap,
        "proven_optimal": gap <= OPTIMAL_WITHIN,
        "ranges": refuted(certificate.steps),
        "checked": checked,
    }


def refuted(steps: tuple[ProofStep, ...]) -> int:
    return sum(step.by is not None for step in steps)

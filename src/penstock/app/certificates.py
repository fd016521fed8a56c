"""Certificates: what no plan can exceed, proven, written down and checked by other code."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InputError
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.model.certificate import Certificate
from penstock.model.plan import Plan
from penstock.planning.certificates import EFFORT
from penstock.planning.certificates.check import check as check_steps
from penstock.planning.certificates.make import Certification
from penstock.planning.certificates.make import certify as make_certificate
from penstock.schedulers.base import Budget


@dataclass(frozen=True)
class CheckedCertificate:
    """A certificate whose every step was gone through, and what its plan carries."""

    certificate: Certificate
    #: By the cost model, worked out anew.
    scale: float
    #: Boxes of instance counts that the proof refutes one by one.
    boxes: int

    @property
    def gap(self) -> float:
        """Part of the bound that the plan leaves."""
        return max(0.0, 1.0 - self.scale / self.certificate.bound_scale)


def certify(plan: Plan, effort: float = EFFORT, budget: Budget | None = None) -> Certification:
    """Prove what no plan for this plan's problem can exceed."""
    if not effort > 0:
        raise InputError(f"effort must be positive, not {effort:g}")
    return make_certificate(plan, effort, budget or Budget())


def check(certificate: Certificate) -> CheckedCertificate:
    """Go through a certificate; an error says which step proves nothing."""
    plan = certificate.plan
    broken = violations(plan.problem, plan.placement)
    if broken:
        raise InputError(f"the plan in the certificate breaks a limit: {broken[0]}")
    boxes = check_steps(certificate)
    return CheckedCertificate(certificate, capacity(plan.problem, plan.placement).scale, boxes)

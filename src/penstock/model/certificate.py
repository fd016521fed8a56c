"""A proof that no plan carries more than so much, as a value that others can check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.model.plan import Plan


class Refutation(StrEnum):
    """Why no plan with counts in a box carries more than the certificate says."""

    #: With these prices for input, the best fillings of all machines are worth less than all input.
    FILLINGS = "fillings"
    #: The same where machines are points of CPU, with prices for instances, too.
    POINTS = "points"
    #: Two components that are alike: the counts with their names exchanged are in another box.
    ALIKE = "alike"
    #: No way of dealing these very counts over the machines fits.
    PACKING = "packing"


@dataclass(frozen=True, slots=True)
class ProofStep:
    """A box of instance counts: split in two at a count of a component, or refuted."""

    #: Split: counts of this component up to ``at`` are the next step, those above are ``above``.
    component: int | None = None
    at: int = 0
    above: int = 0
    #: Refuted: how, and with which prices.
    by: Refutation | None = None
    prices: tuple[float, ...] = ()


@dataclass(frozen=True)
class Certificate:
    """That no plan for the problem of this plan carries more than ``bound_scale``."""

    plan: Plan
    bound_scale: float
    #: The first one is the box of all counts.
    steps: tuple[ProofStep, ...]

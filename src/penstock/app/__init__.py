"""One function per verb, with a typed result: what the command line and notebooks call.

>>> import penstock
>>> problem = penstock.problem("linear", "nasiri-large")
>>> result = penstock.plan(problem, scheduler="hetero")
>>> result.facts.gap

``import penstock`` exposes these names.
"""

from penstock.app.answers import Comparison, Planned
from penstock.app.plans import compare, plan
from penstock.app.problems import problem, profile
from penstock.app.simulations import load_curve, simulate
from penstock.files.store import load

__all__ = [
    "Comparison",
    "Planned",
    "compare",
    "load",
    "load_curve",
    "plan",
    "problem",
    "profile",
    "simulate",
]

"""The answer first: what the plan carries, how good that is, what limits it, what to do next."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.bound import hottest_key_in_words
from penstock.evaluate.predict import RATE_ASKED_FOR
from penstock.model.profile import Origin
from penstock.planning.contingencies.losses import loss_in_words, losses, without_room, worst_loss
from penstock.planning.cost_caveats import cost_caveats
from penstock.planning.numbers import counted
from penstock.report.page import (
    Block,
    Items,
    KeyFigure,
    KeyFigures,
    Note,
    Number,
    Paragraph,
    Section,
    Tone,
    paragraph,
    percent,
)
from penstock.report.story.findings import Findings

_RATE = "tuples/s"
#: A gap below this is not worth another search.
_SMALL_GAP = 0.01
#: Another scheduler's plan is worth naming from this gain on.
_WORTH_NAMING = 0.005


def answer(found: Findings) -> Section:
    plan = found.plan
    blocks: list[Block] = [_key_figures(found)]
    broken = plan.predicted.violations
    if broken:
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        blocks.append(Note(f"This plan breaks limits: {'; '.join(broken[:3])}{more}.", Tone.BAD))
    blocks += _sentences(found)
    steps = _next_steps(found)
    if steps:
        blocks += [paragraph("What to do next:"), Items(tuple(steps))]
    remarks = [*found.remarks, *_costs(found), *plan.notes, *cost_caveats(plan)]
    blocks += [Note(f"{text[:1].upper()}{text[1:]}.") for text in remarks]
    return Section("The answer", tuple(blocks))


def _costs(found: Findings) -> list[str]:
    """Rates are worked out here, but the costs behind them may be somebody else's."""
    profile = found.plan.problem.profile
    if profile is None or profile.origin is Origin.MEASURED:
        return []
    told = f"the costs per tuple are {profile.origin.value} ones (profile {profile.name})"
    return [f"{told}, not measured on these machines"]


def _key_figures(found: Findings) -> KeyFigures:
    plan, facts = found.plan, found.facts
    figures = []
    if found.rate_per_s is not None:
        names = ", ".join(name for name, _ in plan.predicted.rate_per_s[:3])
        figures.append(
            KeyFigure("It carries", Number(found.rate_per_s, _RATE), f"sustained input of {names}")
        )
    gap = plan.predicted.gap
    if gap is not None and plan.predicted.bound_kind != RATE_ASKED_FOR:
        proven = "proven optimal" if plan.predicted.proven_optimal else "of what no plan can exceed"
        figures.append(KeyFigure("How good", percent(1 - gap, found.certificate), proven))
    machines = len(plan.problem.cluster.machines)
    figures.append(KeyFigure("Machines in use", Number(facts.machines_used), f"of {machines:,}"))
    figures.append(
        KeyFigure("Instances", Number(facts.instances), f"in {counted(facts.workers, 'process')}")
    )
    worst = worst_loss(plan)
    if worst is not None and found.rate_per_s:
        left = min((worst.rate_left_per_s or 0.0) / found.rate_per_s, 1.0)
        figures.append(
            KeyFigure(
                "If one machine is lost",
                percent(left, found.contingencies),
                f"at least ({loss_in_words(plan, worst)})",
            )
        )
    elif losses(plan) and worst is None:
        cases = len(losses(plan))
        figures.append(
            KeyFigure(
                "If one machine is lost",
                Number(cases - len(without_room(plan))),
                f"of {cases:,} times all its instances have room elsewhere",
            )
        )
    if facts.watts is not None:
        figures.append(KeyFigure("Power", Number(facts.watts, "W"), "of the machines in use"))
    if facts.price_per_hour is not None:
        figures.append(KeyFigure("Price", Number(facts.price_per_hour, "per hour")))
    return KeyFigures(tuple(figures))


def _sentences(found: Findings) -> list[Paragraph]:
    plan, rate, bound = found.plan, found.rate_per_s, found.bound_per_s
    if rate is None:
        return [
            paragraph(
                "Costs per tuple are not known here, so instances were placed by what they "
                "request; there is no rate to promise. A profile gives one: penstock profile."
            )
        ]
    lines = [
        paragraph(
            f"The plan by {plan.scheduler} carries ",
            Number(rate, _RATE),
            f", sustained. It is limited by {plan.predicted.limited_by}.",
        )
    ]
    if bound is None:
        return lines
    if plan.predicted.bound_kind == RATE_ASKED_FOR:
        return [*lines, paragraph("That is the rate it was asked for.")]
    most = Number(bound, _RATE, found.certificate)
    if plan.predicted.gap is None:
        told = ". How far this one is from that is not said, because it breaks limits."
        return [*lines, paragraph("No plan that keeps the limits can exceed ", most, told)]
    leaves = percent(plan.predicted.gap, found.certificate)
    standing = ("No plan can exceed ", most, "; this one leaves ", leaves, " of that.")
    return [*lines, paragraph(*standing, *_proof(found, bound))]


def _proof(found: Findings, bound: float) -> tuple[str | Number, ...]:
    """Why the bound holds; beside a scheduler's own, the one worked out here."""
    told = f" The proof: {found.plan.predicted.bound_kind}."
    ours = found.standing.bound.scale * found.demand if found.standing else None
    if ours is not None and np.isfinite(ours) and bound < ours * (1 - 1e-9):
        told += (
            " A bound worked out here from dual prices alone, for any plan and any grouping, is "
        )
        return (told, Number(ours, _RATE), ".")
    return (told, " Its dual prices were checked here: it does not hang on the solver's rounding.")


def _next_steps(found: Findings) -> list[Paragraph]:
    if found.rate_per_s is None or found.standing is None:
        return []
    return [
        *_another_plan(found),
        *_another_machine(found),
        *_cheaper_component(found),
        paragraph("For all of this with a plan for each: penstock advise plan.json."),
    ]


def _another_plan(found: Findings) -> list[Paragraph]:
    rate, gap = found.rate_per_s or 0.0, found.plan.predicted.gap
    if found.plan.predicted.violations:
        return [paragraph("Do not apply this plan; plan again so that the limits are kept.")]
    able = [r for r in found.rivals if r.rates and not r.breaks_limits]
    best = max(able, key=lambda r: max(r.rates), default=None)
    if best is not None and rate > 0 and max(best.rates) > rate * (1 + _WORTH_NAMING):
        gain = percent(max(best.rates) / rate - 1)
        return [
            paragraph(
                f"Plan with {best.name}: its plan carries ", gain, " more on the same machines."
            )
        ]
    if gap is None or found.plan.predicted.bound_kind == RATE_ASKED_FOR:
        return []
    if gap <= _SMALL_GAP:
        return [
            paragraph(
                "Do not search for a better plan: at most ",
                percent(gap, found.certificate),
                " of the bound is left to find.",
            )
        ]
    return [
        paragraph(
            "Another plan on these machines can bring at most ",
            percent(gap / (1 - gap) if gap < 1 else None, found.certificate),
            " more.",
        )
    ]


def _another_machine(found: Findings) -> list[Paragraph]:
    assert found.standing is not None
    bound, cluster = found.standing.bound, found.plan.problem.cluster
    present = np.flatnonzero(cluster.machines_per_type > 0)
    if not len(present) or not 0 < bound.scale < np.inf:
        return []
    if bound.hottest_key is not None:
        words = hottest_key_in_words(found.plan.problem, bound.hottest_key)
        return [paragraph(f"{words[0].upper()}{words[1:]}.")]
    best = int(present[np.argmax(bound.added_by_one_machine[present])])
    gain = float(bound.added_by_one_machine[best]) * found.demand
    if gain <= 1e-9 * bound.scale * found.demand:
        return [paragraph("Adding a machine of any existing type would not help.")]
    return [
        paragraph(
            f"If more is needed, the machine type to add is {cluster.types[best].name}: one more "
            "can add up to ",
            Number(gain, _RATE),
            ".",
        )
    ]


def _cheaper_component(found: Findings) -> list[Paragraph]:
    assert found.standing is not None
    dearest = max(found.standing.components, key=lambda c: c.weight)
    if dearest.weight <= 0:
        return []
    label = found.plan.problem.labels[dearest.component]
    return [
        paragraph(
            f"If code can be made faster, begin with {label}: one percent off its cost per tuple "
            "is worth ",
            Number(dearest.weight, "%"),
            " of what the cluster can carry.",
        )
    ]

"""The answer first: what the plan carries, how good that is, what limits it, what to do next."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.hot_keys import hottest_key_in_words
from penstock.evaluate.pattern_bound import KIND as KIND_WHOLE
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
from penstock.report.plan_report.facts import PlanReport

_RATE = "tuples/s"
#: A gap below this is not worth another search.
_SMALL_GAP = 0.01
#: Another scheduler's plan is worth naming from this gain on.
_WORTH_NAMING = 0.005


def answer(report: PlanReport) -> Section:
    plan = report.plan
    blocks: list[Block] = [_key_figures(report)]
    broken = plan.predicted.violations
    if broken:
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        blocks.append(Note(f"This plan breaks limits: {'; '.join(broken[:3])}{more}.", Tone.BAD))
    blocks += _sentences(report)
    steps = _next_steps(report)
    if steps:
        blocks += [paragraph("What to do next:"), Items(tuple(steps))]
    remarks = [*report.remarks, *_costs(report), *plan.notes, *cost_caveats(plan)]
    blocks += [Note(f"{text[:1].upper()}{text[1:]}.") for text in remarks]
    return Section("The answer", tuple(blocks))


def _costs(report: PlanReport) -> list[str]:
    """Rates are worked out here, but the costs behind them may be somebody else's."""
    profile = report.plan.problem.profile
    if profile is None or profile.origin is Origin.MEASURED:
        return []
    words = f"the costs per tuple are {profile.origin.value} ones (profile {profile.name})"
    return [f"{words}, not measured on these machines"]


def _key_figures(report: PlanReport) -> KeyFigures:
    plan, facts = report.plan, report.facts
    figures = []
    if report.rate_per_s is not None:
        names = ", ".join(name for name, _ in plan.predicted.rate_per_s[:3])
        figures.append(
            KeyFigure("It carries", Number(report.rate_per_s, _RATE), f"sustained input of {names}")
        )
    gap = plan.predicted.gap
    if gap is not None and plan.predicted.bound_kind != RATE_ASKED_FOR:
        proven = "proven optimal" if plan.predicted.proven_optimal else "of what no plan can exceed"
        figures.append(KeyFigure("How good", percent(1 - gap, report.certificate), proven))
    machines = len(plan.problem.cluster.machines)
    figures.append(KeyFigure("Machines in use", Number(facts.machines_used), f"of {machines:,}"))
    figures.append(
        KeyFigure("Instances", Number(facts.instances), f"in {counted(facts.workers, 'process')}")
    )
    worst = worst_loss(plan)
    if worst is not None and report.rate_per_s:
        left = min((worst.rate_left_per_s or 0.0) / report.rate_per_s, 1.0)
        figures.append(
            KeyFigure(
                "If one machine is lost",
                percent(left, report.contingencies),
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


def _sentences(report: PlanReport) -> list[Paragraph]:
    plan, rate, bound = report.plan, report.rate_per_s, report.bound_per_s
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
    most = Number(bound, _RATE, report.certificate)
    if plan.predicted.gap is None:
        words = ". How far this one is from that is not said, because it breaks limits."
        return [*lines, paragraph("No plan that keeps the limits can exceed ", most, words)]
    leaves = percent(plan.predicted.gap, report.certificate)
    standing = ("No plan can exceed ", most, "; this one leaves ", leaves, " of that.")
    return [*lines, paragraph(*standing, *_proof(report, bound))]


def _proof(report: PlanReport, bound: float) -> tuple[str | Number, ...]:
    """Why the bound holds; beside a scheduler's own, the one worked out here."""
    words = f" The proof: {report.plan.predicted.bound_kind}."
    if report.plan.predicted.bound_kind == KIND_WHOLE:
        words += " penstock certify writes it down, and penstock check goes through it again."
    ours = report.standing.bound.scale * report.demand if report.standing else None
    if ours is not None and np.isfinite(ours) and bound < ours * (1 - 1e-9):
        words += (
            " A bound worked out here from dual prices alone, for any plan and any grouping, is "
        )
        return (words, Number(ours, _RATE), ".")
    return (
        words,
        " Its dual prices were checked here: it does not depend on the solver's rounding.",
    )


def _next_steps(report: PlanReport) -> list[Paragraph]:
    if report.rate_per_s is None or report.standing is None:
        return []
    return [
        *_another_plan(report),
        *_another_machine(report),
        *_cheaper_component(report),
        paragraph("For all of this with a plan for each: penstock advise plan.json."),
    ]


def _another_plan(report: PlanReport) -> list[Paragraph]:
    rate, gap = report.rate_per_s or 0.0, report.plan.predicted.gap
    if report.plan.predicted.violations:
        return [paragraph("Do not apply this plan; plan again so that the limits are kept.")]
    able = [r for r in report.rivals if r.rates and not r.breaks_limits]
    best = max(able, key=lambda r: max(r.rates), default=None)
    if best is not None and rate > 0 and max(best.rates) > rate * (1 + _WORTH_NAMING):
        gain = percent(max(best.rates) / rate - 1)
        return [
            paragraph(
                f"Plan with {best.name}: its plan carries ", gain, " more on the same machines."
            )
        ]
    if gap is None or report.plan.predicted.bound_kind == RATE_ASKED_FOR:
        return []
    if gap <= _SMALL_GAP:
        return [
            paragraph(
                "Do not search for a better plan: at most ",
                percent(gap, report.certificate),
                " of the bound is left to find.",
            )
        ]
    return [
        paragraph(
            "Another plan on these machines can bring at most ",
            percent(gap / (1 - gap) if gap < 1 else None, report.certificate),
            " more.",
        )
    ]


def _another_machine(report: PlanReport) -> list[Paragraph]:
    assert report.standing is not None
    bound, cluster = report.standing.bound, report.plan.problem.cluster
    present = np.flatnonzero(cluster.machines_per_type > 0)
    if not len(present) or not 0 < bound.scale < np.inf:
        return []
    if bound.hottest_key is not None:
        words = hottest_key_in_words(report.plan.problem, bound.hottest_key)
        return [paragraph(f"{words[0].upper()}{words[1:]}.")]
    best = int(present[np.argmax(bound.added_by_one_machine[present])])
    gain = float(bound.added_by_one_machine[best]) * report.demand
    if gain <= 1e-9 * bound.scale * report.demand:
        return [paragraph("Adding a machine of any existing type would not help.")]
    return [
        paragraph(
            f"If more is needed, the machine type to add is {cluster.types[best].name}: one more "
            "can add up to ",
            Number(gain, _RATE),
            ".",
        )
    ]


def _cheaper_component(report: PlanReport) -> list[Paragraph]:
    assert report.standing is not None
    dearest = max(report.standing.components, key=lambda c: c.weight)
    if dearest.weight <= 0:
        return []
    label = report.plan.problem.labels[dearest.component]
    return [
        paragraph(
            f"If code can be made faster, begin with {label}: 1 % off its cost per tuple is worth ",
            Number(dearest.weight, "%"),
            " of what the cluster can carry.",
        )
    ]

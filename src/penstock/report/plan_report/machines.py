"""The machines as a heat map: CPU, memory and network, with the numbers beside the colours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.limits import memory_used
from penstock.evaluate.network import nic_bytes
from penstock.model.cluster import Cluster
from penstock.model.plan import Plan
from penstock.planning.machine_use import MachineUse, machine_size, machine_uses
from penstock.report.charts.heat import MOST_LINES, Gauge, HeatMachine, heat_svg
from penstock.report.name_ranges import idle_machines, name_ranges
from penstock.report.page import Block, Cell, Column, Figure, Number, Section, Table, paragraph
from penstock.report.plan_report.facts import PlanReport

_MOST_SLICES = 6


@dataclass(frozen=True)
class _Use:
    """What the machines use, one entry each; NaN where it is not known."""

    machines: tuple[MachineUse, ...]
    memory_mb: np.ndarray
    memory: np.ndarray
    #: Mb/s out of and into the machine, and the fuller direction's part of its card.
    out_mbps: np.ndarray
    in_mbps: np.ndarray
    network: np.ndarray

    @property
    def cpu(self) -> np.ndarray:
        return np.array([use.utilisation for use in self.machines])


def machines(report: PlanReport) -> Section:
    use = _use(report)
    problem = report.plan.problem
    blocks: list[Block] = [
        _figure(report, use),
        _by_type(use, problem.cluster),
        _all(use, problem.labels),
    ]
    idle = [one.name for one in use.machines if not one.slices]
    if idle:
        blocks.append(paragraph(f"{idle_machines(idle)}."))
    return Section("The machines", tuple(blocks))


def _use(report: PlanReport) -> _Use:
    plan = report.plan
    problem, placement = plan.problem, plan.placement
    cluster = problem.cluster
    unknown = np.full(len(cluster.machines), np.nan)
    used = np.bincount(placement.machine, minlength=len(cluster.machines)) > 0
    memory = unknown
    if not np.isnan(problem.memory_mb).all():
        memory = np.where(used, memory_used(problem, placement), 0.0)
    out, into = _traffic_mbps(report, plan)
    card = cluster.per_type("nic_mbps")[cluster.type_of]
    return _Use(
        machines=machine_uses(plan),
        memory_mb=memory,
        memory=memory / cluster.per_type("memory_mb")[cluster.type_of],
        out_mbps=out,
        in_mbps=into,
        network=np.maximum(out, into) / card,
    )


def _traffic_mbps(report: PlanReport, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Mb/s out of and into every machine at the plan's rate; NaN where sizes are not known."""
    scale, judged = plan.predicted.scale, report.judged
    sized = any(stream.tuple_bytes for stream in plan.problem.streams)
    if judged is None or scale is None or not sized:
        unknown = np.full(len(plan.problem.cluster.machines), np.nan)
        return unknown, unknown
    out, into = nic_bytes(plan.problem, plan.placement, judged.capacity.rates)
    return out * scale * 8e-6, into * scale * 8e-6


def _gauges(use: _Use) -> list[Gauge]:
    """Only what is known of some machine."""
    known = (("CPU", use.cpu), ("memory", use.memory), ("network", use.network))
    return [Gauge(name, parts.tolist()) for name, parts in known if not np.isnan(parts).all()]


def _figure(report: PlanReport, use: _Use) -> Figure:
    gauges = _gauges(use)
    kinds = report.plan.problem.cluster.types
    sizes = {kind.name: machine_size(kind) for kind in kinds}
    named = [HeatMachine(m.name, m.type, m.rack, not m.slices) for m in use.machines]
    lacking = {"CPU", "memory", "network"} - {gauge.name for gauge in gauges}
    when = "at the plan's rate" if report.standing is not None else "by what is requested"
    caption = (
        f"Part in use of every machine {when}, by machine type. Colours go from dark blue (idle, "
        "0 %) to yellow (full, 100 %); orange is more than the machine has."
    )
    if lacking:
        caption += f" Not known from the files: {' and '.join(sorted(lacking))}."
    alt = " ".join(_words(gauge, use.machines) for gauge in gauges)
    return Figure(caption, alt, lambda width: heat_svg(named, sizes, gauges, width))


def _words(gauge: Gauge, machines: tuple[MachineUse, ...]) -> str:
    parts = np.array(gauge.parts)
    known = parts[~np.isnan(parts)]
    fullest = machines[int(np.nanargmax(parts))].name
    return (
        f"{gauge.name}: {100 * known.min():.0f} to {100 * known.max():.0f} % in use, mean "
        f"{100 * known.mean():.0f} %, fullest {fullest}."
    )


def _by_type(use: _Use, cluster: Cluster) -> Table:
    members_of: dict[str, list[int]] = {}
    for m, machine in enumerate(use.machines):
        members_of.setdefault(machine.type, []).append(m)
    rows: list[tuple[Cell, ...]] = []
    for kind, members in members_of.items():
        own = cluster.types[cluster.type_names[kind]]
        cpu = 100 * use.cpu[members]
        busy = sum(bool(use.machines[m].slices) for m in members)
        rows.append(
            (
                kind,
                name_ranges({use.machines[m].rack for m in members}, most=4),
                float(own.cpu_points),
                own.memory_mb,
                len(members),
                busy,
                sum(s.instances for m in members for s in use.machines[m].slices),
                Number(float(cpu.mean()), "%", low=float(cpu.min()), high=float(cpu.max())),
                _mean(100 * use.memory[members]),
                _mean(100 * use.network[members]),
            )
        )
    columns = (
        Column("type"),
        Column("racks"),
        Column("CPU of each", "points"),
        Column("memory of each", "MB"),
        Column("machines"),
        Column("in use"),
        Column("instances"),
        Column("mean CPU (least to most)", "%"),
        Column("mean memory", "%"),
        Column("mean network", "%"),
    )
    return Table("Machines by type", columns, tuple(rows)).without_unknown()


def _mean(values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _all(use: _Use, labels: tuple[str, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for m, one in enumerate(use.machines):
        if not one.slices:
            continue
        runs = [f"{labels[s.component]} ×{s.instances}" for s in one.slices]
        more = [f"{len(runs) - _MOST_SLICES} more"] if len(runs) > _MOST_SLICES else []
        rows.append(
            (
                one.name,
                one.type,
                one.rack,
                100 * one.utilisation,
                one.cpu_points,
                _known(100 * use.memory[m]),
                _known(use.memory_mb[m]),
                _known(use.out_mbps[m]),
                _known(use.in_mbps[m]),
                ", ".join([*runs[:_MOST_SLICES], *more]),
            )
        )
    columns = (
        Column("machine"),
        Column("type"),
        Column("rack"),
        Column("CPU", "%"),
        Column("CPU", "points"),
        Column("memory", "%"),
        Column("memory", "MB"),
        Column("sends", "Mb/s"),
        Column("receives", "Mb/s"),
        Column("runs"),
    )
    folded = len(rows) > MOST_LINES // 2
    caption = "Every machine" if len(rows) == len(use.machines) else "Every machine in use"
    return Table(caption, columns, tuple(rows), folded).without_unknown()


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

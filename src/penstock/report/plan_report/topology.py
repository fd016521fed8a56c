"""The topology as a graph: rates on components and streams, and how full each component is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from penstock.evaluate.network import flow_tuples
from penstock.evaluate.rates import Flow
from penstock.model.cluster import LEAVES_MACHINE, Hop
from penstock.model.flat_stream import FlatStream
from penstock.model.problem import Problem
from penstock.planning.numbers import rate
from penstock.report.charts.graph import Edge, Node, graph_svg
from penstock.report.page import Block, Cell, Column, Figure, Note, Section, Table
from penstock.report.plan_report.facts import PlanReport

#: So many topologies are drawn; the tables have all.
_MOST_DRAWN = 6


@dataclass(frozen=True, slots=True)
class _StreamLoad:
    """A stream at the plan's rate."""

    stream: FlatStream
    tuples_per_s: float | None
    #: Part that leaves the machine.
    remote: float | None


def topologies(report: PlanReport) -> Section:
    problem = report.plan.problem
    counts = report.plan.placement.counts(len(problem.components)).tolist()
    streams = _streams(report)
    loads = _loads(report)
    drawn = _largest(problem, counts)
    blocks: list[Block] = [_figure(report, t, counts, streams, loads) for t in drawn]
    hidden = len(problem.topologies) - len(drawn)
    if hidden > 0:
        blocks.append(
            Note(
                f"Drawn are the {len(drawn)} with most instances; {hidden} more are in the tables."
            )
        )
    blocks += [_components(report, counts, loads), _stream_table(report, streams)]
    return Section("The topology", tuple(blocks))


def _largest(problem: Problem, counts: list[int]) -> list[int]:
    """The topologies with most instances, in their order."""
    instances = np.bincount(problem.topology_of, counts, len(problem.topologies))
    return sorted(np.argsort(-instances, kind="stable")[:_MOST_DRAWN].tolist())


def _loads(report: PlanReport) -> list[float | None]:
    """How full the fullest place of each component is at the plan's rate, by component."""
    parts: list[float | None] = [None] * len(report.plan.problem.components)
    scale = report.plan.predicted.scale
    if report.standing is None or scale is None:
        return parts
    for row in report.standing.components:
        finite = np.isfinite(row.full_at) and row.full_at > 0
        parts[row.component] = scale / row.full_at if finite else 0.0
    return parts


def _streams(report: PlanReport) -> list[_StreamLoad]:
    """Every stream of the problem, in its order."""
    problem, judged = report.plan.problem, report.judged
    if judged is None or report.plan.predicted.scale is None:
        return [_StreamLoad(stream, None, None) for stream in problem.streams]
    classes: dict[int, np.ndarray] = {}
    for flow in judged.capacity.rates.flows:
        classes[id(flow.stream)] = classes.get(id(flow.stream), 0.0) + _by_hop(report, flow)
    for local in judged.capacity.rates.local_flows:
        mine = classes.get(id(local.stream), np.zeros(len(Hop))).copy()
        mine[Hop.SAME_PROCESS] += local.tuples_per_s
        classes[id(local.stream)] = mine
    rows = []
    for stream in problem.streams:
        by_hop = classes.get(id(stream), np.zeros(len(Hop)))
        total = float(by_hop.sum())
        remote = float(by_hop[LEAVES_MACHINE].sum()) / total if total > 0 else None
        rows.append(_StreamLoad(stream, total * report.plan.predicted.scale, remote))
    return rows


def _by_hop(report: PlanReport, flow: Flow) -> np.ndarray:
    return flow_tuples(report.plan.problem, report.plan.placement, flow)


def _figure(
    report: PlanReport,
    number: int,
    counts: list[int],
    streams: list[_StreamLoad],
    loads: list[float | None],
) -> Figure:
    problem = report.plan.problem
    topology = problem.topologies[number]
    first = problem.first_component[number]
    members = range(first, first + len(topology.components))
    rates = _rates(report)
    nodes = [
        Node(problem.components[c].name, _lines(rates[c], counts[c], loads[c]), loads[c])
        for c in members
    ]
    edges = _edges([s for s in streams if s.stream.source in members], first)
    alt = "; ".join(": ".join((n.name, ", ".join(n.lines))) for n in nodes[:12])
    caption = f"{topology.name}: components with the number of their instances"
    if report.standing is not None:
        caption += (
            " and their input; streams are wider the more they carry. The bar of a component shows "
            "how full its fullest machine or thread is"
        )
    return Figure(
        f"{caption}.", f"{topology.name}. {alt}.", lambda width: graph_svg(nodes, edges, width)
    )


def _edges(mine: list[_StreamLoad], first: int) -> list[Edge]:
    """The streams of a topology whose first component has the number ``first``."""
    most = max((s.tuples_per_s or 0.0 for s in mine), default=0.0)
    return [
        Edge(
            s.stream.source - first,
            s.stream.target - first,
            f"{rate(s.tuples_per_s)}/s" if s.tuples_per_s is not None else "",
            (s.tuples_per_s or 0.0) / most if most > 0 else 0.0,
        )
        for s in _joined(mine)
    ]


def _joined(streams: list[_StreamLoad]) -> list[_StreamLoad]:
    """Streams between the same two components as one line."""
    total: Counter[tuple[int, int]] = Counter()
    for s in streams:
        total[s.stream.source, s.stream.target] += s.tuples_per_s or 0.0  # type: ignore[assignment]
    first = {(s.stream.source, s.stream.target): s for s in reversed(streams)}
    return [
        _StreamLoad(s.stream, None if s.tuples_per_s is None else total[ends], s.remote)
        for ends, s in sorted(first.items())
    ]


def _rates(report: PlanReport) -> list[float | None]:
    if report.judged is None or report.plan.predicted.scale is None:
        return [None] * len(report.plan.problem.components)
    return [float(r) for r in report.judged.component_rate_per_s]


def _lines(per_s: float | None, count: int, load: float | None) -> tuple[str, ...]:
    """Short enough for a box of the graph, and to be shown in full."""
    words = [f"{rate(per_s)}/s" if per_s is not None else "", f"×{count:,}"]
    return tuple(filter(None, [*words, f"{100 * load:.0f} % full" if load is not None else ""]))


def _components(report: PlanReport, counts: list[int], loads: list[float | None]) -> Table:
    problem, rates = report.plan.problem, _rates(report)
    by_component = (
        {row.component: row for row in report.standing.components} if report.standing else {}
    )
    rows: list[tuple[Cell, ...]] = []
    for c, label in enumerate(problem.labels):
        row = by_component.get(c)
        load = loads[c]
        rows.append(
            (
                label,
                str(problem.components[c].kind),
                counts[c],
                rates[c],
                row.cpu_points if row else None,
                100 * row.cpu_part if row else None,
                100 * load if load is not None else None,
            )
        )
    columns = (
        Column("component"),
        Column("kind"),
        Column("instances"),
        Column("input", "tuples/s"),
        Column("CPU", "points"),
        Column("of all CPU", "%"),
        Column("fullest place", "%"),
    )
    return Table("Components", columns, tuple(rows), folded=len(rows) > 40).without_unknown()


def _stream_table(report: PlanReport, streams: list[_StreamLoad]) -> Table:
    labels = report.plan.problem.labels
    rows: list[tuple[Cell, ...]] = []
    for s in streams:
        size = s.stream.tuple_bytes
        per_s = s.tuples_per_s
        rows.append(
            (
                labels[s.stream.source],
                labels[s.stream.target],
                s.stream.declared.name,
                str(s.stream.grouping),
                per_s,
                None if per_s is None or not size else per_s * size * 8e-6,
                None if s.remote is None else 100 * s.remote,
            )
        )
    columns = (
        Column("from"),
        Column("to"),
        Column("stream"),
        Column("grouping"),
        Column("rate", "tuples/s"),
        Column("traffic", "Mb/s"),
        Column("to other machines", "%"),
    )
    return Table("Streams", columns, tuple(rows), folded=len(rows) > 12).without_unknown()

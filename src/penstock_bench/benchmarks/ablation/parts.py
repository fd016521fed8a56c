"""The parts of the scheduler, each with what stands in its place when it is switched off."""

from __future__ import annotations

from typing import Any

from penstock_bench.benchmarks.ablation.switches import Switch


def _nothing(*_arguments: Any, **_options: Any) -> None:
    return None


def _no(*_arguments: Any, **_options: Any) -> bool:
    return False


def _empty(*_arguments: Any, **_options: Any) -> tuple[()]:
    return ()


def _second(_problem: Any, second: Any, *_rest: Any, **_options: Any) -> Any:
    return second


def _first(first: Any, *_rest: Any) -> Any:
    return first


def _no_steps(*_arguments: Any) -> int:
    return 0


def _unpolished(filled: Any, *_rest: Any, **_options: Any) -> tuple[Any, float]:
    return filled, 0.0


def _own_bound(aggregate: Any, _effort: Any) -> float:
    return float(aggregate.bound)


PARTS: tuple[Switch, ...] = (
    Switch("baselines", "scheduler:baseline_plans", _empty),
    Switch("listed patterns", "patterns:list_patterns", _nothing),
    Switch("sizes: steps from the best", "sizes:SizeSearch._walk", _nothing),
    Switch("sizes: climbs", "sizes:SizeSearch._climb", _nothing),
    Switch("columns", "columns:ColumnSearch.run", _nothing),
    Switch("columns: vary", "columns:ColumnSearch._vary", _nothing),
    Switch("columns: resize", "columns:ColumnSearch._resize", _no),
    Switch("columns: whole by programme", "columns:ColumnSearch._make_whole", _nothing),
    Switch("columns: remainder", "columns:ColumnSearch._pack_remainder", _nothing),
    Switch("plan and proof together", "scheduler:_PlanSearch._prove", _nothing),
    Switch("local search", "scheduler:_PlanSearch._local_search", _nothing),
    Switch("local search: perturbations", "local_search:perturb", _second),
    Switch("local search with shares", "scheduler:_PlanSearch._local_search_with_shares", _nothing),
    Switch("layout", "weighted:lay_out", _nothing),
    Switch("supports", "weighted:list_supports", _nothing),
    Switch("whole instances' bound", "weighted:bound_by_whole_instances", _own_bound),
    Switch("crossing shares", "crossing_shares:shares_for_crossings", _second),
    Switch("even division of weighed", "scheduler:_PlanSearch._divide_evenly", _nothing),
    Switch("many-core", "scheduler:_PlanSearch._search_many_core", _nothing),
    Switch("many-core: lift", "manycore.counts:CountSearch._lift", _nothing),
    Switch("many-core: vary counts", "manycore.counts:CountSearch._vary", _nothing),
    Switch("many-core: balance", "manycore.search:balance", _no_steps),
    Switch("many-core: exchange", "manycore.balance:_exchange", _no),
    Switch(
        "many-core: packing",
        "manycore.search:ManyCoreSearch._packed",
        lambda self, options, solution, scale: self._place(options, solution, scale),
    ),
    Switch("many-core: recount", "manycore.search:recounted", _first),
    Switch("many-core: refine", "manycore.search:ManyCoreSearch._refine", _nothing),
    Switch("many-core: parts", "manycore.parts:PartsProgramme.movement_binds", _no),
    Switch("many-core: one slot", "manycore.one_slot:has_one_slot_each", _no),
    Switch("many-core: shares", "manycore.search:fit_shares", _second),
    Switch(
        "requests: polish",
        "requests.search:polish",
        _unpolished,
    ),
    Switch("requests: more machines", "requests.search:_Search._orders_on_more_machines", _empty),
    Switch("requests: room kept", "requests.search:_Search._orders_with_reserves", _empty),
    Switch("terms: chosen machines", "terms.search:carry_with_least", _nothing),
    Switch("terms: take away", "terms.fewest:take_away", _second),
    Switch("terms: nearer", "terms.search:bring_nearer", _second),
)

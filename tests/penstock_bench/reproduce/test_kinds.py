"""Settings that are no comparison of plans: CPU readings and pairs of counts."""

from __future__ import annotations

import pytest

from penstock import app
from penstock.errors import InputError
from penstock_bench.reproduce.count_pairs import BEST_PAIR, pair_figures, with_counts_of
from penstock_bench.reproduce.cpu_readings import PROFILED, cpu_figures
from penstock_bench.reproduce.paper_fields import PaperSetting


def silent(_text):
    pass


def test_readings_find_the_cost_that_the_simulator_charges():
    pytest.importorskip("numba")
    setting = PaperSetting(
        ("linear",), "nasiri-small", kind="cpu-readings", watch="high", read_s=20.0
    )
    found = cpu_figures(setting, silent)
    # Table 3, highCompute on M2. High fills M2 at (100 - 1.5) / 0.3449 = 285.6 tuples/s.
    assert found["M2"]["most_per_s"] == pytest.approx(285.6, abs=0.1)
    assert found[PROFILED]["e.M2"] == pytest.approx(0.3449, rel=0.1)
    # From 8 tuples/s by steps of 20 to 80: at least 4 readings, at most 15.
    assert 4 <= found["M2"]["readings"] <= 15
    assert found == cpu_figures(setting, silent)


def test_a_component_that_is_not_there_cannot_be_watched():
    setting = PaperSetting(("linear",), "nasiri-small", kind="cpu-readings", watch="hub")
    with pytest.raises(InputError, match='no component "hub"'):
        cpu_figures(setting, silent)


def test_components_need_machines_of_their_own():
    setting = PaperSetting(("diamond",), "nasiri-testbed", kind="cpu-readings", watch="high")
    with pytest.raises(InputError, match="5 components need as many machines"):
        cpu_figures(setting, silent)


def test_the_best_pair_is_the_best_of_all_pairs_under_default():
    setting = PaperSetting(
        ("uniquevisitor",),
        "storm-benchmark",
        kind="count-pairs",
        most=2,
        schedulers=("hetero",),
    )
    found = pair_figures(setting, silent)
    problem = app.problem("uniquevisitor", "storm-benchmark")
    rates = {
        (x, y): app.plan(problem.with_counts((x, y)), "default").facts.throughput_per_s
        for x in (1, 2)
        for y in (1, 2)
    }
    best = max(rates, key=lambda pair: rates[pair])
    assert found[BEST_PAIR]["throughput_per_s"] == rates[best]
    counts = tuple(found[BEST_PAIR][f"instances.bolt-{i}"] for i in (1, 2))
    assert counts == best
    assert with_counts_of("hetero") in found


def test_pairs_need_two_components():
    with pytest.raises(InputError, match="pairs need two components, not 3"):
        pair_figures(PaperSetting(("linear",), "nasiri-testbed", kind="count-pairs"), silent)

"""A simulation says what is unfinished and what it is too short for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.report.reports import small_facts
from tests.simulate.runs import calm, simulated

from penstock.files.simulation_file import simulation_to_dict
from penstock.report.page import Figure, Items, KeyFigures
from penstock.report.pages.simulation import recorded
from penstock.report.pages.simulation_remarks import simulation_remarks
from penstock.report.plan_report import plan_report_page
from penstock.report.plan_report.over_time import latency_lines, over_time_figure
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Down, Offered, Scenario, ServiceTime


def run(scenario: Scenario, seed: int = 0) -> SimResult:
    """a sends to b, which carries 100 tuples/s."""
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=1.0, on=("M1",)))
    return simulated(problem, place(problem, "a M1-1", "b M1-2"), scenario, seed=seed)


def test_a_run_that_ends_before_the_time_out_says_so():
    result = run(calm(50, 40, changes=(Down(20.0, "M1-2", 30.0),)))
    waiting, too_short, *_ = simulation_remarks(result)
    assert waiting.startswith("500 tuples in flight lost a part on the way and can only time out")
    assert "the run ends at 40 s" in too_short
    assert "when M1-2 went down time out until 60 s" in too_short
    assert "--duration 70" in too_short


def test_lower_bounds_and_remarks_are_written_and_read_again():
    result = run(calm(50, 40, changes=(Down(20.0, "M1-2", 30.0),)))
    written, read = simulation_to_dict(result, simulation_remarks(result)), recorded(result)
    assert "topologies.t.latency_p99_ms" in written["at_least"]
    assert written["balance"]["awaiting_timeout"] == 500
    assert read.at_least == set(written["at_least"])
    assert list(read.remarks) == simulation_remarks(result)


def test_tuples_that_wait_for_a_time_out_are_not_called_a_backlog():
    result = run(calm(50, 40, changes=(Down(20.0, "M1-2", 30.0),)))
    assert not any("falls behind" in remark for remark in simulation_remarks(result))


def test_a_backlog_is_told_wherever_it_queues():
    [behind, *_] = simulation_remarks(run(calm(150, 60, queue_limit=None)))
    # 50/s more than b carries for 60 s, all in its queue, and one in its hands.
    assert behind.startswith("t falls behind: 3,001 tuples are queued at the end, 0 of them at the")


@pytest.mark.parametrize(
    ("tuples", "left_out"),
    [(900, "p99, which needs 1,000 tuples: 900 of t"), (3_000, "p99.9, which needs 10,000 tuples")],
)
def test_percentiles_left_out_are_named_with_what_they_need(tuples, left_out):
    [remark] = simulation_remarks(run(calm(50, tuples / 50)))
    assert f"too short for {left_out}" in remark


def test_a_run_long_enough_for_everything_says_nothing():
    assert simulation_remarks(run(calm(50, 250))) == []


def test_a_run_stopped_during_its_warm_up_says_so():
    result = run(calm(50, 100, warmup_s=80.0))
    cut = replace(result.runs[0], looks=result.runs[0].looks[:50], stopped=True)
    stopped = simulation_remarks(replace(result, runs=(cut,)))
    assert stopped[0].startswith("stopped early")
    assert "ended at 49 s, before its warm-up of 80 s was over" in stopped[1]


def test_a_run_that_has_not_settled_says_so():
    """M/M/1 at a load of 0.99 takes a quarter of an hour to fill; this minute is all growth."""
    offered = Offered(None, 99.0)
    scenario = calm(1, 60, warmup_s=None, service=ServiceTime(), queue_limit=None, offered=offered)
    remark, *_ = simulation_remarks(run(scenario, seed=7))
    assert remark.startswith("too short: the number of tuples in flight still grows after 60 s")


def simulation_section(scenario: Scenario):
    """The report's section about a run of that scenario."""
    result = run(scenario)
    findings = replace(small_facts(), simulation=recorded(result), load_curve=None)
    return next(s for s in plan_report_page(findings).sections if s.title == "Simulation")


def test_a_report_draws_over_time_only_what_changes():
    calm_one = simulation_section(calm(50, 30))
    assert not [block for block in calm_one.blocks if isinstance(block, Figure)]
    eventful = simulation_section(calm(50, 30, changes=(Down(10.0, "M1-2"),)))
    [figure] = [block for block in eventful.blocks if isinstance(block, Figure)]
    assert figure.data is not None


def test_a_report_says_what_is_unfinished_and_which_figures_are_lower_bounds():
    section = simulation_section(calm(50, 40, changes=(Down(20.0, "M1-2", 30.0),)))
    [figures] = [block for block in section.blocks if isinstance(block, KeyFigures)]
    about = {figure.name: figure.about for figure in figures.figures}
    assert "at least" in about["99 % within"]
    assert "at least" not in about["Half within"]
    assert "99.9 % within" not in about  # of 2,000 tuples
    [notes] = [block for block in section.blocks if isinstance(block, Items)]
    assert any("too short" in str(item).lower() for item in notes.items)


@pytest.mark.parametrize(
    ("per_s", "lines"), [(99.0, ["p50"]), (400.0, ["p50", "p90"]), (2000.0, ["p50", "p99"])]
)
def test_over_time_shows_the_percentile_that_a_sample_supports(per_s, lines):
    """A second of 99 tuples has a median; p90 takes 100, p99 1,000."""
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=0.01, on=("M1",)))
    placement = place(problem, "a M1-1", "b M1-2")
    one = recorded(simulated(problem, placement, calm(per_s, 5)))
    table = over_time_figure(one).data
    known = [
        column.name.removeprefix("latency ")
        for k, column in enumerate(table.columns)
        if column.name.startswith("latency") and table.rows[2][k] is not None
    ]
    assert [name for name, _ in latency_lines(one)] == lines
    assert set(lines) <= set(known)

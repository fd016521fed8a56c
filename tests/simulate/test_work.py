"""A simulation that would fill the memory or run for days is refused before it starts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.simulate.runs import calm, simulated

from penstock.errors import InputError
from penstock.simulate.patterns import Bursts, Steps, Wave, most_steps
from penstock.simulate.scenario import Offered
from penstock.simulate.variants import shortened
from penstock.simulate.work import SimulationWork


def chain(e: float = 1.0, *, selectivity: float = 1.0, grouping: str = "shuffle"):
    stream = {"selectivity": selectivity, "grouping": grouping}
    problem = build(topology("a>b", streams={"a>b": stream}), cluster(M1=2), profile(a=0.0, b=e))
    return problem, place(problem, "a M1-1", "b M1-2", "b M1-2")


def test_work_is_what_is_offered_at_every_component():
    """10/s for 10 s at a, and as many at b: 200 tuples, none of them waits."""
    work = SimulationWork.of(*chain(), calm(10.0, 10.0))
    assert work.tuples == pytest.approx(200.0)
    assert work.at_one_time == pytest.approx(2.0)


def test_work_of_a_pattern_follows_it():
    """5 s at 10/s and 5 s at 30/s, at a and at b: 400 tuples."""
    scenario = calm(10.0, 10.0)
    levels = Steps(((0.0, 1.0), (5.0, 3.0)))
    scenario = replace(scenario, offered=replace(scenario.offered, pattern=levels))
    assert SimulationWork.of(*chain(), scenario).tuples == pytest.approx(400.0)


def test_a_full_machine_handles_no_more_than_it_can():
    """b takes 1 point per tuple/s on 100 points, each of two at most 100/s: 200/s of 5,000/s."""
    assert SimulationWork.of(*chain(), calm(5000.0, 1.0)).tuples == pytest.approx(5200.0)


def test_what_comes_of_one_tuple_at_once_counts_as_there_at_one_time():
    """2,000 copies to each of two instances."""
    work = SimulationWork.of(*chain(selectivity=2000.0, grouping="all"), calm(1.0))
    assert work.at_one_time == pytest.approx(2 * 2000.0 * 2)


@pytest.mark.parametrize(
    ("case", "per_s", "words"),
    [
        (chain(selectivity=1e9), 1e-9, "2e+09 tuples would be in the simulator at once"),
        (chain(), 1e14, "1e+15 tuples to handle, at most 1e+09"),
        (chain(), 1e7, "1e+08 tuples to handle, at most 1e+07"),
    ],
    ids=["selectivity 1e9", "rate 1e14", "a limit of one's own"],
)
def test_too_much_is_refused_with_the_estimate_and_the_option(case, per_s, words):
    most = {"most_tuples": 1e7} if "1e+07" in words else {}
    with pytest.raises(InputError) as refused:
        simulated(*case, calm(per_s), **most)
    assert words in str(refused.value)
    assert "--max-tuples" in str(refused.value)


def test_the_option_lifts_the_limit():
    problem, placement = chain()
    with pytest.raises(InputError, match=r"--max-tuples 2e2"):
        simulated(problem, placement, calm(10.0), most_tuples=100)
    assert simulated(problem, placement, calm(10.0), most_tuples=1000).runs


def test_queues_that_grow_past_the_limit_end_the_run():
    """b handles 200/s of 1,000/s and its queue has no limit: 8,000 wait after 10 s."""
    problem, placement = chain()
    endless = calm(1000.0, queue_limit=None)
    with pytest.raises(InputError, match="would be in the simulator at once"):
        simulated(problem, placement, endless, most_tuples=1e6)
    assert simulated(problem, placement, endless, most_tuples=1e7).runs


def test_a_fluid_that_would_flow_for_ever_is_refused():
    with pytest.raises(InputError, match=r"2e\+13 steps, .*--max-tuples"):
        simulated(*chain(), calm(10.0, 1e12, sample_s=1e8), fluid=True)


def test_a_billion_runs_are_refused_before_a_seed_is_made():
    """10 samples each, of 4,500 bytes, 2 machines of 8 and 2 components of 90: 46,960 GB."""
    told = "1e+10 samples over time, of all runs together, would take some 46,960,000 MB"
    with pytest.raises(InputError, match=re.escape(told)) as refused:
        simulated(*chain(), calm(1e-9, 10.0), runs=10**9)
    # 250 tuples in all for each that is there at one time, which takes 125 bytes.
    assert "fewer --runs" in str(refused.value)
    assert "(--max-tuples 1e14)" in str(refused.value)


@pytest.mark.parametrize("fluid", [False, True])
def test_results_over_time_of_thousands_of_machines_are_refused(fluid):
    """20,000 samples of 10,000 machines: 8 bytes of each, 1.7 GB."""
    problem = build(topology("a>b"), cluster(M1=10_000), profile(a=0.0, b=1.0))
    placement = place(problem, "a M1-1", "b M1-2")
    with pytest.raises(InputError, match=r"2e\+04 samples over time, .* some 1,694 MB of memory"):
        simulated(problem, placement, calm(1e-9, 20_000.0), fluid=fluid)


@pytest.mark.parametrize("pattern", [Wave(0.001, 0.5), Bursts(1e-5, 1e-6, 2.0)], ids=str)
@pytest.mark.parametrize("fluid", [False, True])
def test_a_pattern_of_too_many_steps_is_refused(pattern, fluid):
    offered = Offered(of_sustainable=None, per_s=1.0, pattern=pattern)
    with pytest.raises(InputError, match=r"would change .* times, more than the 1,000,000"):
        simulated(*chain(), calm(1.0, 60.0, offered=offered), fluid=fluid)


def test_steps_are_counted_without_making_them():
    for pattern in (Wave(7.0, 0.5), Bursts(3.0, 1.0, 2.0), Steps(((0.0, 1.0), (5.0, 3.0)))):
        times, _ = pattern.steps(60.0)
        assert len(times) <= most_steps(pattern, 60.0) <= len(times) + 96


def test_a_longer_run_has_no_more_results_over_time_than_a_file_may_ask_for():
    longer = shortened(calm(1.0), 1e12)
    assert longer.duration_s / longer.sample_s == pytest.approx(20_000)

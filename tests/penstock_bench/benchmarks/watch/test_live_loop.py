"""What live runs of the loop are judged by, on runs that are written down here."""

import inspect
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.app.proposals import ChangeProposal, Status
from penstock.change.history import APPLIED
from penstock.errors import PenstockError
from penstock.files.document import read_document
from penstock_bench.benchmarks.watch import figures
from penstock_bench.benchmarks.watch.live_log import LiveLog, LoggedMoment
from penstock_bench.benchmarks.watch.loop_run import PolicyRun, changes_of
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad, jittered
from penstock_bench.benchmarks.watch.watcher_kills import applied_twice

SUITE = Path(str(files("penstock_bench.benchmarks"))) / "suites" / "watch.yaml"
#: 10 tuples/s for 300 s, then 20 for 100 s, then 5; a machine is lost at 500 s, and 170 s are left.
LOAD = SteppedLoad.of(10.0, (1, 2, 0.5), step_s=100.0, first_s=300.0)


def test_what_counts_begins_after_each_step_and_after_the_loss():
    assert LOAD.kill_at_s == 500.0
    assert LOAD.seconds == 670.0
    found = [(s.name, s.begin_s, s.end_s) for s in LOAD.stretches]
    assert found == [
        ("×1", 60.0, 300.0), ("×2", 360.0, 400.0), ("×0.5", 460.0, 500.0),
        ("×0.5, a machine lost", 620.0, 670.0),
    ]  # fmt: skip


def test_a_load_is_the_same_by_the_time_of_day_and_for_a_rehearsal():
    assert LOAD.from_time(1000.0) == [(1000, 10), (1300, 20), (1400, 5), (1670, 0)]
    recorded = LOAD.recorded()
    assert recorded.duration_s == 670.0
    assert [recorded.at(s) for s in (0, 299, 300, 400, 669)] == [10, 10, 20, 5, 5]


def test_jitter_stays_within_its_part_and_is_the_same_again():
    load = jittered(100.0, 0.15, 600.0, 10.0, seed=3)
    assert load == jittered(100.0, 0.15, 600.0, 10.0, seed=3)
    assert len(load.rates_per_s) == 60
    assert 85.0 <= min(load.rates_per_s) < 90.0 < 110.0 < max(load.rates_per_s) <= 115.0
    assert load.kill_at_s is None


def log(done_per_s, machines=2):
    """A run that does what is offered but for a rate of its own, looked at every 10 s."""
    moments, offered, done = [], 0.0, 0.0
    for at in range(0, 680, 10):
        used = frozenset(f"m{i}" for i in range(machines))
        moments.append(LoggedMoment(float(at), offered, done, used))
        offered += 10 * LOAD.recorded().at(at)
        done = min(offered, done + 10 * done_per_s)
    return LiveLog(LOAD, moments)


def test_what_is_carried_is_what_was_done_of_what_was_offered():
    everything = log(100.0)
    assert (everything.least_carried, everything.longest_wait_s) == (1.0, 0.0)
    # 15 of 20 tuples/s are done. After 100 s of it 500 wait, which are 25 s of the load.
    slow = log(15.0)
    assert [round(slow.carried(s), 2) for s in LOAD.stretches[:2]] == [1.0, 0.75]
    assert slow.waits_s(LOAD.stretches[1]) == 25.0
    assert slow.machine_s == 2 * 670.0


def test_a_stretch_that_nobody_looked_at_is_an_error():
    with pytest.raises(PenstockError, match="nobody looked"):
        LiveLog(LOAD, [LoggedMoment(0.0, 0, 0, frozenset())]).carried(LOAD.stretches[0])


def proposal(at, kind="wake", status=Status.APPLIED):
    return ChangeProposal(f"p{at}", 1000.0 + at, kind, "", 1, 2, 1.0, 2.0, 1.0, status, 1000.0 + at)


def test_changes_are_counted_by_step_and_those_after_the_loss_apart():
    made = [
        proposal(-30), proposal(310), proposal(330, "shares"), proposal(420), proposal(510),
        proposal(520), proposal(530, status=Status.NOT_APPLIED),
    ]  # fmt: skip
    run = PolicyRun("penstock", log(100.0), changes_of(made, 1000.0))
    assert run.restarts == [-30.0, 310.0, 420.0, 510.0, 520.0]
    assert run.most_restarts_per_step == 2


@pytest.mark.parametrize("quick", [False, True])
def test_the_suite_asks_its_measures_for_what_they_take(quick):
    suite = read_document(SUITE).value
    for entry in (*suite["tables"], *suite["benchmarks"]):
        given = entry["quick"] if quick else entry["with"]
        if given != "skip":
            inspect.signature(getattr(figures, entry["measure"])).bind(**given)


def receipt(number, plan, restarted=1, outcome=APPLIED):
    step = SimpleNamespace(workers_restarted=restarted)
    return SimpleNamespace(
        began_s=float(number), plan_id=plan, id=f"r{number}", outcome=outcome, steps=(step,)
    )


def test_a_plan_is_applied_twice_where_it_restarts_workers_twice_in_a_row():
    assert applied_twice([receipt(1, "a"), receipt(2, "b"), receipt(3, "a")]) == []
    # Written once more after a kill, with nothing to restart.
    assert applied_twice([receipt(1, "a"), receipt(2, "a", restarted=0)]) == []
    assert applied_twice([receipt(2, "a"), receipt(1, "a")]) == [
        "a was applied twice, as r1 and r2"
    ]

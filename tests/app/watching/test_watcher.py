"""The watcher on a toy cluster: what it may do, what persons answer, what survives."""

from __future__ import annotations

import json
import sqlite3
import stat
import sys
from dataclasses import replace

import pytest
from tests.app.watching.toy_watch import BEGAN_S, PROFILE, ToyWatch

from penstock.app.journal import Journal
from penstock.app.journal_reader import journal_rows
from penstock.app.proposals import (
    NotWaitingError,
    Pause,
    Status,
    answer,
    proposal_book,
)
from penstock.app.watching.hooks import load_hook
from penstock.app.watching.options import Act
from penstock.errors import InputError, PenstockError
from penstock.files.receipt_file import read_receipts
from penstock.files.store import dumps
from penstock.model.watch_rules import WatchRules, WatchSetting
from penstock.report.pages.journal import journal_sections
from penstock.system.file_lock import BusyError


@pytest.fixture
def toy(tmp_path):
    return ToyWatch(tmp_path)


def proposals(toy):
    with proposal_book(toy.journal) as book:
        return book.since(0.0)


def test_acting_now_puts_the_plan_in_force_once_with_a_receipt(toy):
    toy.watch(5)
    assert toy.machines == {"a", "b"}
    assert toy.cluster["moved"] == 1
    (proposal,) = proposals(toy)
    assert (proposal.status, proposal.plan) == (Status.APPLIED, None)
    receipts, _ = read_receipts(toy.options.history_path)
    assert [(r.id, r.outcome) for r, _ in receipts] == [(proposal.receipt, "applied")]


def test_advice_touches_nothing_and_is_told_once_an_hour(toy):
    toy.act = Act.ADVISE
    # hpa wants the second machine in every turn: 190 of 200 tuples/s are over 70 % of the CPU.
    toy.setting = WatchSetting("hpa")
    toy.change(offered_per_s=190.0)
    toy.watch(30)
    assert toy.machines == {"a"}
    assert "moved" not in toy.cluster
    (told,) = toy.told("decision")
    assert "advised" in told
    assert [p.status for p in proposals(toy)] == [Status.ADVISED]


def test_what_is_asked_for_waits_until_it_is_approved(toy):
    toy.act = Act.ASK
    toy.watch(3)
    assert toy.machines == {"a"}
    (waiting,) = proposals(toy)
    assert waiting.status is Status.WAITING
    answer(toy.journal, waiting.id[:4], approve=True, now_s=toy.now_s)
    toy.watch(2)
    assert toy.machines == {"a", "b"}
    assert toy.cluster["moved"] == 1
    (done,) = proposals(toy)
    assert done.status is Status.APPLIED
    assert done.who  # who approved it stays


def test_a_proposal_is_answered_once(toy):
    toy.act = Act.ASK
    toy.watch()
    (waiting,) = proposals(toy)
    answer(toy.journal, waiting.id, approve=False, now_s=toy.now_s, why="not on a Friday")
    with pytest.raises(NotWaitingError, match=f"{waiting.id} is rejected"):
        answer(toy.journal, waiting.id, approve=True, now_s=toy.now_s)
    toy.watch(2)
    assert toy.machines == {"a"}


def test_a_proposal_expires_with_what_it_was_made_for(toy):
    toy.act = Act.ASK
    toy.watch()
    (waiting,) = proposals(toy)
    answer(toy.journal, waiting.id, approve=True, now_s=toy.now_s)
    # Submitted again since.
    toy.change(run="flow-2")
    toy.watch()
    (expired,) = proposals(toy)
    assert expired.status is Status.EXPIRED
    assert "submitted again" in expired.why
    assert toy.machines == {"a"}


@pytest.mark.parametrize(
    ("later_s", "offered_per_s", "why"),
    [(700.0, 100.0, "700 s old"), (0.0, 126.0, "126 come")],
)
def test_a_proposal_expires_with_time_and_load(toy, later_s, offered_per_s, why):
    toy.act = Act.ASK
    toy.watch()
    toy.now_s = BEGAN_S + later_s
    toy.change(offered_per_s=offered_per_s)
    toy.watch()
    (expired,) = proposals(toy)
    assert (expired.status, why in expired.why) == (Status.EXPIRED, True)


def test_a_pause_lets_it_look_on_only(toy):
    with toy.watcher() as watcher:
        watcher.session.reading()
        toy.change(unsettled="starts")  # so that it does not decide in its first turn
        toy.turns(watcher)
        watcher.journal.proposals.set_pause(Pause(toy.now_s, "ann", "release"))
        toy.change(unsettled="")
        toy.turns(watcher, 3)
        assert toy.machines == {"a"}
        (refused,) = toy.told("refused")
        assert "penstock resume ends it (ann: release)" in refused
        watcher.journal.proposals.set_pause(None)
    assert sum(row["turns"] for row in journal_rows(toy.journal)) == 4


def test_a_cluster_that_does_not_follow_is_rolled_back_and_not_asked_again(toy):
    toy.setting = replace(toy.setting, policy="hpa", parameters={})
    toy.change(offered_per_s=190.0, obstinate=1)
    toy.watch(20)
    assert toy.machines == {"a"}
    statuses = [p.status for p in proposals(toy)]
    assert statuses == [Status.ROLLED_BACK]
    assert any("must_keep" in text for text in toy.told("refused"))


def test_two_watchers_of_one_cluster_do_not_meet(toy, tmp_path):
    with toy.watcher():
        with pytest.raises(BusyError, match=r"another watcher \(process \d+\)"), toy.watcher():
            pass
        # With another journal, too: the engine's lock is where plans are written.
        other = tmp_path / "other" / "journal.sqlite"
        with pytest.raises(BusyError, match="of this cluster"), toy.watcher(journal=other):
            pass


def test_what_it_remembers_survives_a_restart(toy):
    toy.act = Act.ADVISE
    toy.setting = WatchSetting("penstock")
    with toy.watcher() as watcher:
        toy.turns(watcher, 95)
        before = watcher.state
    with toy.watcher() as watcher:
        toy.turns(watcher)
        after = watcher.state
    # 950 s of a steady load are three bins of five minutes.
    assert before.memory.forecast.bins == after.memory.forecast.bins == 3
    assert after.memory.forecast.past == pytest.approx(before.memory.forecast.past)


def test_changes_count_after_a_restart(toy):
    toy.watch()
    with toy.watcher() as watcher:
        toy.turns(watcher)
        (change,) = watcher.state.changes
        judged = watcher.state.open_change
    assert (change.time_s, change.machines) == (BEGAN_S, 2)
    # It is still to be judged, and what ran before is known: both components on the first machine.
    assert judged.record == change
    assert judged.before.machine.tolist() == [0, 0]
    toy.now_s = BEGAN_S + 180.0  # the time to judge it has passed while nobody looked
    with toy.watcher() as watcher:
        toy.turns(watcher)
        assert watcher.state.open_change is None


def test_new_costs_are_taken_over_when_they_differ_for_sure(toy):
    exact = tuple(replace(c, e_error=0.001, met_error=0.0) for c in PROFILE.costs)
    path = toy.folder / "profile.json"

    def write(*costs):
        path.write_text(dumps(replace(PROFILE, costs=costs)))

    write(*exact)
    with toy.watcher(act=Act.ADVISE) as watcher:
        toy.turns(watcher)
        first = watcher.system
        write(exact[0], replace(exact[1], e=1.501))  # within what is worth a plan
        toy.turns(watcher)
        assert watcher.system is first
        write(exact[0], replace(exact[1], e=3.5))
        toy.turns(watcher)
        # Each machine now carries 400 / (0.5 + 3.5) = 100 tuples/s.
        assert watcher.system.planner.bound_per_s == pytest.approx(200.0)
        path.write_text("{")  # somebody is writing it
        toy.turns(watcher)
        assert watcher.system.planner.bound_per_s == pytest.approx(200.0)


def test_a_machine_that_joins_is_planned_for_and_one_that_leaves_stays_known(toy):
    machines = toy.cluster["cluster"]["machines"]
    more = [*machines, {"name": "c", "type": "box"}]
    with toy.watcher(act=Act.ADVISE) as watcher:
        toy.turns(watcher)
        toy.change(cluster=toy.cluster["cluster"] | {"machines": more})
        toy.turns(watcher)
        assert watcher.system.planner.bound_per_s == pytest.approx(600.0)
        toy.change(cluster=toy.cluster["cluster"] | {"machines": [machines[0]]})
        toy.turns(watcher)
        assert len(watcher.system.problem.cluster.machines) == 3
        toy.change(cluster=toy.cluster["cluster"] | {"machines": machines})
        toy.turns(watcher)
    # Machine by machine, as events in the journal.
    told = toy.told("detection")
    assert told == ["b is lost", "c is lost", "b is back"]


def test_a_hook_hears_of_refusals_only_from_a_file_of_the_operators(toy, tmp_path):
    heard = tmp_path / "heard"
    script = f"import sys; open({str(heard)!r}, 'a').write(sys.stdin.read())"
    hooks = tmp_path / "hooks.yaml"
    hooks.write_text(json.dumps({"page": [sys.executable, "-c", script]}))
    hooks.chmod(0o666)
    if not hooks.parent.stat().st_mode & stat.S_ISVTX:
        with pytest.raises(InputError, match="others may write to"):
            load_hook("page", hooks)
    hooks.chmod(0o600)
    hook = load_hook("page", hooks)
    with pytest.raises(PenstockError, match=r'"pager".*"page"'):
        load_hook("pager", hooks)
    toy.setting = replace(toy.setting, rules=WatchRules(most_machines=1))
    toy.watch(3, hook=hook)
    for process, _ in hook._running:
        process.wait(20)
    (event,) = map(json.loads, heard.read_text().splitlines())
    assert (event["kind"], event["rule"]) == ("refused", "machines")


def test_a_hook_without_a_whole_path_is_refused(tmp_path):
    hooks = tmp_path / "hooks.yaml"
    hooks.write_text("page: [mail, ann]\n")
    hooks.chmod(0o600)
    with pytest.raises(InputError, match=r"hooks.yaml:1 page: must begin with a whole path"):
        load_hook("page", hooks)


def test_the_history_says_what_became_of_each_decision(toy):
    toy.act = Act.ASK
    toy.watch()
    (waiting,) = proposals(toy)
    answer(toy.journal, waiting.id, approve=True, now_s=toy.now_s)
    toy.watch(2)
    rows = journal_rows(toy.journal)
    (told,) = [row["proposal"] for row in rows if row["proposal"]]
    assert (told["id"], told["status"]) == (waiting.id, "applied")
    (section, *_) = journal_sections(rows)
    (table, _) = section.blocks
    assert f"{waiting.id} applied by" in str(table)


def test_a_journal_of_the_version_before_is_brought_up_to_date(toy):
    toy.watch()
    with sqlite3.connect(toy.journal) as connection:
        connection.execute("DROP TABLE proposal")
        connection.execute("DROP TABLE pause")
        connection.execute("PRAGMA user_version = 1")
    assert [row["proposal"] for row in journal_rows(toy.journal)] == [None]  # read as it is
    with proposal_book(toy.journal) as book:
        assert book.since(0.0) == []


def test_a_turn_that_cannot_be_written_down_does_nothing_and_the_next_one_does(toy, monkeypatch):
    full = sqlite3.OperationalError("database or disk is full")
    with toy.watcher() as watcher:
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "turn", lambda *_, **__: (_ for _ in ()).throw(full))
            toy.turns(watcher, 3)
            assert toy.machines == {"a"}
        assert toy.told("failed") == ["this turn failed: database or disk is full"]
        toy.turns(watcher)
        assert toy.machines == {"a", "b"}

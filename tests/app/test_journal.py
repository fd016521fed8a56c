"""The journal: every turn is there, whatever kills its writer, and a week of calm is small."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock import app
from penstock.app.journal import Journal
from penstock.app.journal_reader import dump, journal_rows, read_journal, read_provenance
from penstock.control.decision import Decision, DecisionKind, Refusal
from penstock.control.detectors.detector import Detection
from penstock.control.journal import outcomes
from penstock.control.observation import Observation
from penstock.errors import InputError
from penstock.model.placement import Placement

PROBLEM = app.problem("diamond", "nasiri-testbed", weighted=True)
MACHINES, COMPONENTS = len(PROBLEM.cluster.machines), len(PROBLEM.components)
HERE = Placement.of(range(COMPONENTS), [0] * COMPONENTS)
THERE = Placement.of(range(COMPONENTS), [1] * COMPONENTS)


def seen(time_s: float, **differs) -> Observation:
    calm = Observation(
        time_s, (100.0,), (100.0,), (0.0,), (0.1,), HERE, np.ones(MACHINES, dtype=np.bool_),
        np.full(MACHINES, 0.5), stream_per_s=np.full(len(PROBLEM.streams), 40.0),
    )  # fmt: skip
    return replace(calm, **differs)


def nothing(time_s: float) -> Decision:
    return Decision(time_s, DecisionKind.NOTHING, "nothing to do")


WOKE = Decision(
    300.0, DecisionKind.WAKE, "demand is over what the plan carries", (("offered", 100.0),),
    THERE, 90.0, 130.0, -0.1, 0.2, 1, 1, 5, 12.0, 0.01,
    (Refusal("another", "cool_down_s", "too soon"),),
)  # fmt: skip
LOST = Detection(310.0, "machine lost", "m", 1.0, "m is lost")


def write(path: Path | None) -> Journal:
    """Five calm minutes, a change, a pause that is learned, ten calm minutes."""
    journal = Journal(PROBLEM, path)
    for i in range(30):
        journal.turn(seen(10.0 * i), nothing(10.0 * i), ())
    journal.turn(seen(300.0), WOKE, (LOST,))
    for i in range(31, 91):
        moved = seen(10.0 * i, placement=THERE, processed_per_s=(125.0,), paused_s=11.0)
        journal.turn(moved, nothing(10.0 * i), ())
    return journal


def test_what_is_written_is_read(tmp_path):
    write(tmp_path / "j.sqlite").close()
    entries = read_journal(tmp_path / "j.sqlite", PROBLEM)
    # 30 calm turns, the change, and twice 30 more: a stretch is five minutes at most.
    assert [e.turns for e in entries] == [30, 1, 30, 30]
    change = entries[1]
    assert repr(change.decision) == repr(WOKE)
    assert change.detections == (LOST,)
    assert entries[0].placement == HERE
    assert entries[0].cpu.tolist() == [0.5] * MACHINES
    (outcome,) = outcomes(entries)
    assert (outcome.paused_s, outcome.processed_per_s) == (11.0, 125.0)


def test_unknown_stays_unknown_and_is_not_folded_with_known(tmp_path):
    journal = Journal(PROBLEM, tmp_path / "j.sqlite")
    unknown = (float("nan"),)
    for i in range(3):
        blind = seen(10.0 * i, offered_per_s=unknown, processed_per_s=unknown, cpu=None)
        journal.turn(blind, nothing(0.0), ())
    journal.turn(seen(30.0), nothing(30.0), ())
    journal.close()
    first, second = read_journal(tmp_path / "j.sqlite", PROBLEM)
    assert np.isnan(first.offered_per_s)
    assert first.cpu is None
    assert second.offered_per_s == 100.0


def test_the_same_turns_give_the_same_journal_in_memory_and_in_a_file(tmp_path):
    memory, file = write(None), write(tmp_path / "file.sqlite")
    (tmp_path / "memory.sqlite").write_bytes(memory.content())
    file.close()
    assert dump(tmp_path / "memory.sqlite") == dump(tmp_path / "file.sqlite")
    assert write(None).content() == write(None).content()


def test_a_journal_goes_on_in_its_file(tmp_path):
    for begin in (0, 30):
        with Journal(PROBLEM, tmp_path / "j.sqlite") as journal:
            for i in range(begin, begin + 30):
                journal.turn(seen(10.0 * i), nothing(10.0 * i), ())
    assert [e.turns for e in read_journal(tmp_path / "j.sqlite", PROBLEM)] == [30, 30]


@pytest.mark.slow
def test_a_week_of_calm_turns_is_small(tmp_path):
    journal = Journal(PROBLEM)
    calm = seen(0.0)
    for i in range(7 * 8640):
        journal.turn(replace(calm, time_s=10.0 * i), nothing(10.0 * i), ())
    (tmp_path / "week.sqlite").write_bytes(journal.content())
    rows = journal_rows(tmp_path / "week.sqlite")
    # Five minutes each: 7 days * 24 hours * 12.
    assert len(rows) == 7 * 24 * 12
    assert sum(row["turns"] for row in rows) == 7 * 8640
    assert (tmp_path / "week.sqlite").stat().st_size < 1_000_000


def test_what_is_older_than_it_keeps_goes_with_its_placements(tmp_path):
    path = tmp_path / "j.sqlite"
    with Journal(PROBLEM, path, keep_s=86_400.0) as journal:
        for hour in range(72):
            where = HERE if hour < 24 else THERE
            journal.turn(seen(3600.0 * hour, placement=where), nothing(0.0), ())
    entries = read_journal(path, PROBLEM)
    # The last look back was at hour 71.
    assert entries[0].begin_s >= (71 - 24) * 3600.0
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM placement").fetchone() == (1,)


def test_a_newer_journal_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "j.sqlite"
    write(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 3")
    with pytest.raises(InputError, match=r"version 3, from a newer Penstock.*update Penstock"):
        read_journal(path, PROBLEM)
    with pytest.raises(InputError, match="newer Penstock"):
        Journal(PROBLEM, path)


def test_other_files_are_refused(tmp_path):
    text, other = tmp_path / "text.sqlite", tmp_path / "other.sqlite"
    text.write_text("not a database, whatever its name says" * 50)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(InputError, match="cannot be opened as a journal"):
        journal_rows(text)
    with pytest.raises(InputError, match="is no journal of Penstock"):
        Journal(PROBLEM, other)
    with pytest.raises(InputError, match="no such journal"):
        journal_rows(tmp_path / "missing.sqlite")


_WRITER = """
import sys
from tests.app.test_journal import *
journal = Journal(PROBLEM, Path(sys.argv[1]))
for i in range(1_000_000):
    journal.turn(seen(10.0 * i), WOKE if i % 7 == 3 else nothing(10.0 * i), ())
    print(i, flush=True)
"""


@pytest.mark.slow
def test_whoever_kills_the_writer_every_turn_that_returned_is_there(tmp_path):
    chance = random.Random(4)
    for attempt in range(6):
        path = tmp_path / f"{attempt}.sqlite"
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        writer.stdout.readline()  # it writes
        time.sleep(chance.uniform(0.0, 0.3))
        writer.send_signal(signal.SIGKILL)
        returned = [int(line) for line in writer.stdout.read().splitlines() if line.isdigit()]
        writer.wait()
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        written = sum(row["turns"] for row in journal_rows(path))
        last = max(returned, default=0)
        # Turn i is the (i + 1)th; the one under way when it was killed may be there, too.
        assert last + 1 <= written <= last + 3


def test_the_journal_teaches_what_placements_carried(tmp_path):
    write(tmp_path / "j.sqlite").close()
    past = read_provenance(tmp_path / "j.sqlite", PROBLEM)
    # Offered are 100, processed 125 after the change: it kept up.
    assert [(s.placement == THERE, s.carried_per_s) for s in past.states] == [
        (False, 100.0), (True, 125.0),
    ]  # fmt: skip
    assert past.stream_per_s.tolist() == [40.0] * len(PROBLEM.streams)
    assert len(past.node_power) == MACHINES

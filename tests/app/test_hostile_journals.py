"""A journal that somebody else wrote or changed: read, or refused in words, never our bug."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.app.test_journal import write

from penstock.app.journal_reader import journal_rows
from penstock.errors import InputError

#: A journal's own tables, and rows without end behind the name of one of them.
ENDLESS = """\
DROP TABLE turn;
CREATE VIEW turn AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
  SELECT id, 0.0 AS begin_s FROM n;
"""
CHANGES = {
    "rows without end": ENDLESS,
    "a trigger": "CREATE TRIGGER t AFTER DELETE ON turn BEGIN DELETE FROM placement; END",
    "a table more": "CREATE TABLE more (x)",
    "no turns": "DROP TABLE turn",
    "no such placement": "DELETE FROM placement",
    "a placement that is no JSON": "UPDATE placement SET instances = '['",
    "a placement of another form": "UPDATE placement SET instances = '[[1, 2]]'",
    "a placement that is no list": "UPDATE placement SET instances = '7'",
    "instances of no slot": """UPDATE placement SET instances = '[["a", "b", -1, 1]]'""",
    "nesting": "UPDATE placement SET instances = replace(hex(zeroblob(50000)), '0', '[')",
    "a time that is text": "UPDATE turn SET begin_s = 'noon'",
    "a time that no calendar has": "UPDATE turn SET begin_s = 1e300",
    "a rate that is none": "UPDATE turn SET offered_per_s = 9e999",
    "a rate that is bytes": "UPDATE turn SET processed_per_s = x'ff00'",
    "turns that are text": "UPDATE turn SET turns = 'many'",
    "text that is none": "UPDATE turn SET decision = CAST(x'ff' AS TEXT)",
    "a decision of another kind": "UPDATE turn SET decision = replace(decision, 'wake', 'sing')",
    "a decision without its reason": "UPDATE turn SET decision = '{}' WHERE decision IS NOT NULL",
    "a decision that is a list": "UPDATE turn SET decision = '[1]'",
    "a number beyond all": "UPDATE turn SET cpu = '[1e999]'",
    "a whole number beyond all": "UPDATE turn SET cpu = '[1' || hex(zeroblob(200)) || ']'",
    "a detection of another form": "UPDATE turn SET detections = '[{}]'",
    "machines away that are numbers": "UPDATE turn SET away = '[1]'",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_journal_is_refused_in_every_view(run, change):
    path = Path("j.sqlite")
    write(path).close()
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    for view in ("", "--json", "--page made.html"):
        code, _, err = run(f"history --journal j.sqlite {view}")
        assert (code, "j.sqlite: " in err) == (1, True), err
        assert "is damaged" in err or "cannot be read" in err


@pytest.mark.parametrize("change", ["rows without end", "a trigger", "no turns"])
def test_a_journal_of_other_tables_is_not_written_to(tmp_path, change):
    path = tmp_path / "j.sqlite"
    write(path).close()
    with sqlite3.connect(path) as connection:
        connection.executescript(CHANGES[change])
    with pytest.raises(InputError, match="its tables are not those of a journal"):
        write(path)


def test_a_journal_cut_anywhere_is_refused_or_read(tmp_path):
    write(tmp_path / "whole.sqlite").close()
    whole = (tmp_path / "whole.sqlite").read_bytes()
    for end in range(0, len(whole), 4096):
        path = tmp_path / f"{end}.sqlite"
        path.write_bytes(whole[:end])
        with pytest.raises(InputError):
            journal_rows(path)


def test_a_name_in_a_journal_does_not_steer_the_terminal(run):
    write(Path("j.sqlite")).close()
    with sqlite3.connect("j.sqlite") as connection:
        connection.execute("UPDATE turn SET decision = replace(decision, 'demand', '\\u001b[31m')")
    for view in ("", "--markdown", "--json"):
        code, out, err = run(f"history --journal j.sqlite {view}")
        assert (code, err) == (0, "")
        assert "\x1b" not in out

"""Which batches of a run count."""

from penstock.engines.spark.commits import Commits


def test_the_newest_whole_batch_is_the_last(tmp_path):
    commits = Commits(tmp_path)
    assert commits.last == -1
    for number in (0, 1, 10):
        commits.begin(number)
        commits.commit(number, {"rows": number})
    assert (commits.last, commits.facts(10)) == (10, {"rows": 10})


def test_a_commit_that_was_cut_off_does_not_count(tmp_path):
    commits = Commits(tmp_path)
    commits.commit(0, {"rows": 5})
    # Killed between writing the draft and its renaming.
    (tmp_path / "commits" / ".1.json").write_text('{"rows": 7', encoding="utf-8")
    assert commits.last == 0
    commits.commit(1, {"rows": 7})
    assert (commits.last, commits.facts(1)) == (1, {"rows": 7})

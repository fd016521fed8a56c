"""A minute of ``penstock bench fuzz``, and that it finds what it looks for."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from penstock import app
from penstock.app.journal_reader import journal_rows
from penstock.errors import InputError, PenstockError
from penstock.files.document import document_of
from penstock.files.store import load
from penstock_bench.benchmarks.fuzz import (
    campaign,
    drawing,
    fork_server,
    kills,
    measures,
    properties,
    slices,
)
from penstock_bench.benchmarks.fuzz.campaign import Campaign
from penstock_bench.benchmarks.fuzz.drawing import FuzzCase, draw, other_cells, written
from penstock_bench.benchmarks.fuzz.emit import Pairs, Raw, emit
from penstock_bench.benchmarks.fuzz.failures import Failures, read_case
from penstock_bench.benchmarks.fuzz.judge import Fault, judge
from penstock_bench.benchmarks.fuzz.ledger import FuzzTrial, Ledger, LedgerSlice
from penstock_bench.benchmarks.fuzz.measured_files import journal_of
from penstock_bench.benchmarks.fuzz.minimise import minimise
from penstock_bench.benchmarks.fuzz.mutations import mutate_bytes, mutate_document
from penstock_bench.benchmarks.fuzz.original_file import File
from penstock_bench.benchmarks.fuzz.originals import sets_of_files
from penstock_bench.benchmarks.fuzz.server import PLAIN, CommandOutcome, Limits, Server, Way
from penstock_bench.benchmarks.fuzz.slices import look_at_all, slices_by_commit
from penstock_bench.benchmarks.fuzz.values import NAMED, Care
from penstock_bench.benchmarks.fuzz.verbs import (
    ENDS,
    LIVE,
    ONLY_REFUSED,
    SIMULATE,
    SPARK,
    STORM,
    USUAL,
    DrawableVerb,
    verbs_from,
)

SEED = 2


@pytest.fixture(scope="module")
def sets():
    return list(sets_of_files(SEED, 3))


@pytest.fixture(scope="module")
def verbs() -> tuple[DrawableVerb, ...]:
    return verbs_from(fork_server.verbs())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("server"), Way.FORK) as running:
        yield running


def case_of(verbs, *arguments: str, **files: bytes) -> FuzzCase:
    verb = next(v for v in verbs if v.name == arguments[0])
    return FuzzCase(0, verb, arguments, files, tuple(files), {})


def ended(code: int = 0, out: bytes = b"", err: bytes = b"", **more) -> CommandOutcome:
    plain = CommandOutcome(Way.FORK, code, False, 0.1, 0.1, 100.0, out, err, ())
    return replace(plain, **more)


# -- a bounded run ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_dozens_of_fuzzed_commands_end_as_they_should(tmp_path, capsys):
    failures = Failures(tmp_path, SEED)
    found = Campaign(SEED, 40, None, failures, with_spark=False, jobs=1, random_problems=4).run()
    assert found.error is None
    assert len(found.ledger.latest) == 40
    assert failures.counts == {}
    assert "making the files" in capsys.readouterr().err


@pytest.mark.slow
def test_a_seed_and_a_number_are_the_same_case_again(verbs, sets):
    for number in range(30):
        assert draw(SEED, number, verbs, sets) == draw(SEED, number, verbs, sets)
    assert draw(SEED, 0, verbs, sets) != draw(SEED + 1, 0, verbs, sets)


@pytest.mark.slow
def test_every_verb_and_every_option_of_the_parser_is_tried(verbs, sets):
    for verb in verbs:
        untried = {p.options[0] for p in verb.parameters if p.options}
        rng = Random(verb.name)
        for _ in range(3000):
            if not untried:
                break
            options = drawing._options(rng, verb, sets[0], rng.choice(list(drawing.Care)))
            untried -= {word.partition("=")[0] for word in options}
        assert (verb.name, untried) == (verb.name, set())
    drawn = {draw(SEED, number, verbs, sets).verb.name for number in range(800)}
    # Those that only refuse or start Java come once in hundreds.
    assert {v.name for v in verbs} - drawn <= ONLY_REFUSED | SPARK | STORM


def test_what_is_written_of_verbs_is_true_of_the_parser(verbs):
    names = {v.name for v in verbs}
    assert names >= SPARK | ONLY_REFUSED | STORM | SIMULATE | {*USUAL}
    parameters = {p.name for v in verbs for p in v.parameters}
    # An option that got another name would be tried with junk only from then on.
    assert parameters >= NAMED | LIVE
    assert names >= {what.partition(" --")[0] for what in ENDS}


def test_the_files_that_all_starts_from_are_valid(sets):
    kinds = {file.kind for files in sets for file in files.values()}
    assert len(kinds) >= 15
    for files in sets:
        for name, file in files.items():
            if file.kind in ("topology", "cluster", "profile", "plan", "terms", "simulation"):
                load(document_of(file.document, name).value)


# -- damage ----------------------------------------------------------------------------------------


def test_damage_keeps_the_document_it_starts_from(sets):
    document = sets[0]["plan.json"].document
    before = json.dumps(document)
    changed = [mutate_document(Random(i), document) for i in range(50)]
    assert json.dumps(document) == before
    assert sum(emit(c, yaml=False) != emit(document, yaml=False) for c in changed) > 40


def test_of_few_lines_all_may_be_damaged():
    two = File("machine-records", [{"a": 1}, {"a": 2}], is_lines=True)
    damaged = {drawing._damaged(Random(i), two, "x.jsonl", b"", Care.SOME) for i in range(40)}
    assert len(damaged) > 20


def test_mild_damage_leaves_what_a_document_says_it_is(sets):
    document = sets[0]["plan.json"].document
    for i in range(50):
        changed = mutate_document(Random(i), document, mild=True)
        assert (changed["format"], changed["version"]) == ("penstock/plan", document["version"])


def test_what_no_careful_writer_writes_can_be_written():
    text = emit({"a": Pairs([("b", 1), ("b", Raw("1e999"))]), "c": float("nan")}, yaml=True)
    assert text.split() == ['{', '"a":', '{', '"b":', '1,', '"b":', '1e999', '},', '"c":', '.nan', '}']  # fmt: skip  # noqa: E501


def test_bytes_are_damaged_in_many_ways():
    made = {mutate_bytes(Random(i), b"name: a\nworkers: 1\n") for i in range(100)}
    assert len(made) > 60
    assert b"" in made


def test_cells_of_a_journal_are_damaged_one_by_one(tmp_path):
    plans = [app.plan(app.problem("linear"), s).plan for s in ("default", "hetero")]
    whole = journal_of(*plans)
    damaged = [other_cells(Random(i), whole) for i in range(40)]
    assert other_cells(Random(0), whole) == damaged[0]
    assert len(set(damaged)) > 25
    path = tmp_path / "j.sqlite"
    path.write_bytes(whole)
    assert sum(row["turns"] for row in journal_rows(path)) == 6
    refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            journal_rows(path)
        except InputError:
            refused += 1
    # Most of what stands in a journal has one form; names and reasons have any.
    assert refused > 20


# -- judging ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (ended(70, err=b"this is a bug in penstock 1: x\n"), "says that it is a bug"),
        (ended(1, err=b"Traceback (most recent call last)\nKeyError: 1\n"), "a traceback"),
        (ended(0, err=b"x.py:1: RuntimeWarning: overflow\n"), "a warning of Python's"),
        (ended(9), "exit 9"),
        (ended(1), "fails without a word"),
        (ended(-9, cpu_s=10.0, late=True), "hang"),
        (ended(0, cpu_s=10.5), "hang"),
        (ended(0, seconds=11.0, cpu_s=0.1), "hang"),
        (ended(0, seconds=47.0, cpu_s=0.1, delayed_s=30.0), "hang"),
        (ended(0, memory_mb=1025.0), "memory"),
        (ended(1, err=b"error: not enough memory for this input\n"), "ran out of memory"),
        (ended(1, err=b"error: \x1b[31m: no such file\n"), "control character on stderr"),
        (ended(0, out=b"rate  nan\n"), "not a number on stdout"),
    ],
)
def test_what_must_not_happen_is_seen(verbs, tmp_path, outcome, kind):
    found = judge(case_of(verbs, "show", "plan.json"), outcome, PLAIN, tmp_path)
    assert [fault.kind for fault in found] == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b'{"format": "x", "version": 1, "a": NaN}', "no JSON"),
        (b'{"format": "x", "version": 1}{}', "no JSON"),
        (b'{"a": 1}', "JSON without a format"),
    ],
)
def test_json_that_is_none_is_seen(verbs, tmp_path, text, kind):
    found = judge(case_of(verbs, "show", "p", "--json"), ended(out=text), PLAIN, tmp_path)
    assert [fault.kind for fault in found] == [kind]


def test_a_plan_that_promises_too_much_is_seen(verbs, sets, tmp_path):
    document = json.loads(json.dumps(sets[0]["plan.json"].document))
    (tmp_path / "made.json").write_text(json.dumps(document))
    outcome = ended(written=("made.json",))
    case = case_of(verbs, "plan", "linear")
    assert judge(case, outcome, PLAIN, tmp_path) == []
    document["predicted"]["scale"] *= 1.01
    document["predicted"]["bound_scale"] *= 2
    (tmp_path / "made.json").write_text(json.dumps(document))
    (fault,) = judge(case, outcome, PLAIN, tmp_path)
    assert fault.kind == "wrong plan"


@pytest.mark.parametrize("ending", ["csv", "md", "svg", "tex", "html"])
def test_a_number_that_is_none_is_seen_in_every_kind_of_page(verbs, tmp_path, ending):
    (tmp_path / f"made.{ending}").write_text("<td>nan</td>")
    case = case_of(verbs, "report", "plan.json", "-o", f"made.{ending}")
    found = judge(case, ended(written=(f"made.{ending}",)), PLAIN, tmp_path)
    assert [fault.kind for fault in found] == [f"not a number in .{ending}"]


def test_faults_look_alike_whatever_their_numbers_and_wherever_the_tree_is():
    lines = ("/home/me/1/src/a.py:81: overflow", "/tmp/other/src/a.py:79: overflow")
    assert {Fault("hang", line).signature for line in lines} == {"hang: src/a.py:#: overflow"}


def test_files_outside_the_folder_and_hidden_ones_are_seen(verbs, tmp_path):
    outcome = ended(written=("../up.yaml", ".made.json.x1"))
    found = judge(case_of(verbs, "plan", "linear"), outcome, PLAIN, tmp_path)
    assert [f.kind for f in found] == ["writes outside its folder", "leaves a hidden file"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("format: penstock/topology\nversion: 1\nname: t\ncomponents: {a: {kind: spout}}\n", []),
        ("format: penstock/topology\nversion: 1\nname: ''\n", ["writes what is refused"]),
        ("format: penstock/topology\nname: [\n", ["writes what is refused"]),
        ("<html>: {\n", []),
        ("format: penstock/other\n", []),
    ],
)
def test_a_written_file_that_no_verb_would_take_is_seen(verbs, tmp_path, text, kinds):
    (tmp_path / "made.yaml").write_text(text)
    case = case_of(verbs, "import flux", "flux.yaml", "--out", "made.yaml")
    found = judge(case, ended(written=("made.yaml",)), PLAIN, tmp_path)
    assert [fault.kind for fault in found] == kinds


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("generate", "-o", "../up"), "../up/cluster.yaml"),
        (("import", "flux", "flux.yaml", "--out=../up"), "../up"),
        (("compare", "-e", "linear", "--svg", "made.json"), "made.json"),
        (("show", "plan.json", "--svg=made.json", "--json"), "made.json"),
    ],
)
def test_results_may_be_where_and_called_what_was_asked_for(verbs, tmp_path, arguments, name):
    (tmp_path / "made.json").write_text("<svg/>")
    words = (" ".join(arguments[:2]), *arguments[2:])
    verb = words if words[0] in {v.name for v in verbs} else arguments
    case = replace(case_of(verbs, *verb), arguments=arguments)
    assert judge(case, ended(written=(name,)), PLAIN, tmp_path) == []


# -- running ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fork_and_a_process_of_its_own_say_the_same(server):
    case = case_of(server.verbs, "schedulers", "--json")
    fork, own = server.run(case, PLAIN), server.run(case, PLAIN, own_process=True)
    assert (fork.way, own.way) == (Way.FORK, Way.OWN)
    assert (fork.code, fork.stdout) == (own.code, own.stdout) == (0, own.stdout)
    assert json.loads(fork.stdout)["format"]


def test_only_what_is_asked_to_simulate_or_starts_java_may_take_longer(verbs):
    limits = {
        v.name: campaign.limits_of(case_of(verbs, *v.words)) for v in verbs if not v.words[1:]
    }
    longer = {name for name, found in limits.items() if found != PLAIN}
    assert longer == {"report", "rehearse", "run", "profile", "sweep", "calibrate", "apply"}
    on_spark = case_of(verbs, "rehearse", "load.csv", "--master", "local[2]")
    assert on_spark.starts_spark
    assert campaign.limits_of(on_spark) == campaign.limits_of(case_of(verbs, "sweep"))
    live = case_of(verbs, "plan", "--from", "storm")
    assert campaign.limits_of(live).seconds > PLAIN.seconds
    simulating = case_of(verbs, "compare", "-e", "linear", "--simulate")
    assert campaign.limits_of(simulating) == campaign.limits_of(case_of(verbs, "report"))


def test_time_in_which_others_had_the_cores_is_no_hang(verbs, tmp_path):
    # Of 47 s it wanted to compute for 45, and computed for one: the other second is its own.
    case = case_of(verbs, "schedulers")
    assert judge(case, ended(0, seconds=47.0, cpu_s=1.0, delayed_s=45.0), PLAIN, tmp_path) == []


def test_a_campaign_that_breaks_off_is_not_begun_again_for_each_goal(tmp_path, monkeypatch):
    begun = []

    def broken(self):
        begun.append(1)
        self.note_error(PenstockError("the server of commands did not start"))
        return self

    monkeypatch.setattr(Campaign, "run", broken)
    monkeypatch.chdir(tmp_path)
    for kinds in ("exit 70", "hang", "memory"):
        with pytest.raises(PenstockError, match="did not start"):
            next(measures.failures(7, 12345, kinds))
    assert "broken off: the server of commands did not start" in str(
        measures.commands_run(7, 12345)
    )
    assert begun == [1]


@pytest.mark.parametrize(("slow", "counted"), [(1, 0), (2, 1)])
def test_only_what_takes_too_long_twice_is_a_hang(verbs, tmp_path, slow, counted):
    class BusyServer:
        way, place = Way.FORK, tmp_path

        def __init__(self) -> None:
            late, fine = ended(seconds=11.0, cpu_s=0.0), ended(out=b"x")
            self.outcomes = [late] * slow + [fine]

        def run(self, *_: object, **__: object) -> CommandOutcome:
            return self.outcomes.pop(0)

    failures = Failures(tmp_path, SEED)
    tried = Campaign(SEED, 1, None, failures, with_spark=False)
    tried.try_case(BusyServer(), replace(case_of(verbs, "schedulers"), number=1))
    assert (failures.counts.total(), len(tried.ledger.trials)) == (counted, 1)


def test_what_a_command_writes_is_told_and_gone_for_the_next(server):
    plan = case_of(server.verbs, "plan", "linear", "-s", "default", "-o", "made.json")
    assert server.run(plan, PLAIN).written == ("made.json",)
    assert server.run(case_of(server.verbs, "show", "made.json"), PLAIN).code == 1


@pytest.mark.slow
def test_a_command_over_its_limits_is_ended_and_said_to_be(server):
    case = case_of(server.verbs, "plan", "diamond", "-c", "nasiri-large")
    short, tight = Limits(0.1, 1024.0), Limits(10.0, 50.0)
    assert judge(case, server.run(case, short), short, server.place)[0].kind == "hang"
    assert judge(case, server.run(case, tight), tight, server.place)[0].kind == "memory"
    assert server.run(case, PLAIN).code == 0


def test_a_failure_is_kept_with_all_it_takes_to_see_it_again(verbs, tmp_path):
    failures = Failures(tmp_path, SEED)
    case = case_of(verbs, "show", "my plan.json", **{"my plan.json": b"{}"})
    fault = Fault("a traceback", "KeyError: 1")
    places = [failures.keep(replace(case, number=i), fault, ended(70)) for i in range(5)]
    assert [p is not None for p in places] == [True, True, True, False, False]
    assert failures.counts == {"show: a traceback: KeyError: #": 5}
    (place, command) = failures.first["show: a traceback: KeyError: #"]
    assert command == "penstock show 'my plan.json'"
    assert (place / "files" / "my plan.json").read_bytes() == b"{}"
    assert "penstock show 'my plan.json'" in (place / "command.sh").read_text()
    assert "seed 2, case 0" in (place / "what.txt").read_text()


def test_a_failure_is_made_smaller(verbs, sets):
    files = {name: written(file, name) for name, file in sets[0].items()}
    files |= {"plan.json": b"a\nb\nbad\nc\n", "cluster.yaml": b"damaged"}
    arguments = ("show", "plan.json", "--json", "--offered", "1")
    verb = next(v for v in verbs if v.name == "show")
    case = FuzzCase(0, verb, arguments, files, ("plan.json", "cluster.yaml"), sets[0])
    smaller = minimise(case, lambda c: b"bad\n" in c.files.get("plan.json", b""))
    assert smaller.arguments == ("show",)
    assert smaller.damaged == ("plan.json",)
    assert smaller.files["plan.json"] == b"bad\n"


def test_what_is_slow_is_run_again_for_a_minute_at_most(verbs):
    # Without two words or one of the four, it can be run seven times.
    case = case_of(verbs, "show", "plan.json", "--json", "--offered", "1")
    runs: list[FuzzCase] = []
    minimise(case, lambda c: bool(runs.append(c)), seconds=15.0)
    # 60 s for runs of 15 s each.
    assert len(runs) == 4


def test_ctrl_c_keeps_what_was_found(sets, tmp_path, monkeypatch):
    def interrupted(self, threads: list[threading.Thread]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Campaign, "_wait", interrupted)
    monkeypatch.setattr(campaign, "sets_of_files", lambda *_: sets)
    monkeypatch.setattr(campaign._Work, "threads", lambda _: [])
    monkeypatch.setattr(measures, "FOLDER", tmp_path)
    measures._campaign.cache_clear()
    table = measures.commands_run(10**6, SEED)
    assert "interrupted" in table.title
    with pytest.raises(KeyboardInterrupt):
        measures.failures_of_commands(10**6, SEED)
    measures._campaign.cache_clear()


# -- in slices -------------------------------------------------------------------------------------


def trial(number: int, commit: str = "a1", **more: Any) -> FuzzTrial:
    return replace(FuzzTrial(number, "show", str(Way.FORK), 0, 0.1, 90.0, commit), **more)


def test_a_ledger_is_read_again_but_for_the_line_its_writer_was_killed_at(tmp_path):
    path = tmp_path / "kept" / "done.jsonl"
    ledger = Ledger.open(path)
    ledger.add(trial(0))
    ledger.add(LedgerSlice("kills", 0, 10, 0, "a1"))
    with path.open("a") as stream:
        stream.write('{"kind": "command", "numb')
    again = Ledger.open(path)
    assert (again.trials, again.slices) == (ledger.trials, ledger.slices)
    assert [next(again.undone())] == [1]
    again.add(trial(1))
    assert [t.number for t in Ledger.open(path).trials] == [0, 1]


def test_a_campaign_goes_on_with_what_failed_elsewhere_and_what_never_ran():
    ledger = Ledger(None)
    for done in (trial(0), trial(1, "a1", fault="hang"), trial(2, "b2", fault="hang"), trial(4)):
        ledger.add(done)
    tried = Campaign(SEED, 7, None, Failures(Path(), SEED), ledger=ledger, commit="b2")
    # 1 failed at another commit, 2 at this one; 0 and 4 are done.
    assert list(tried._numbers(None)) == [1, 3, 5, 6]
    # Nobody knows what a tree with changes held.
    assert list(replace(tried, commit="b2 with changes")._numbers(None)) == [1, 2, 3, 5, 6]


def test_a_campaign_without_time_or_work_only_tells_what_was_done(monkeypatch):
    monkeypatch.setattr(campaign, "sets_of_files", lambda *_: pytest.fail("nothing is to be run"))
    ledger = Ledger(None)
    ledger.add(trial(0))
    for commands, seconds in ((1, None), (10, 0.0)):
        done = Campaign(SEED, commands, seconds, Failures(Path(), SEED), ledger=ledger).run()
        assert list(done.ledger.latest) == [0]


def test_a_failure_counts_until_it_ends_well_at_another_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(measures, "_campaign", lambda *_: tried)
    tried = Campaign(SEED, 3, None, Failures(tmp_path, SEED))
    for done in (trial(0), trial(1, fault="hang"), trial(2, fault="JSON: no"), trial(1, "b2")):
        tried.ledger.add(done)
    assert list(measures.commands_done(3, SEED)) == [3.0]
    assert list(measures.failures(3, SEED, "hang,memory")) == [0.0]
    assert list(measures.failures(3, SEED, "JSON")) == [1.0]
    by_commit = measures.commands_by_commit(3, SEED).rows
    assert by_commit == [["a1", "3", "2", "1"], ["b2", "1", "0", "0"]]


def test_what_failed_is_run_again_with_the_files_it_failed_with(verbs, tmp_path):
    failures = Failures(tmp_path, SEED)
    case = case_of(verbs, "show", "a\nb 'c'.json", **{"a\nb 'c'.json": b"{}", "x/y.csv": b"1"})
    place = failures.keep(case, Fault("hang", "11 s"), ended())
    again = read_case(place, 0, verbs)
    assert (again.verb, again.arguments, again.files) == (case.verb, case.arguments, case.files)
    assert read_case(tmp_path / "gone", 0, verbs) is None
    assert read_case(place, 0, [v for v in verbs if v.name != "show"]) is None


def test_slices_go_on_where_they_ended_and_look_again_at_what_was_wrong(monkeypatch):
    monkeypatch.setattr(slices, "commit_here", lambda: "b2")
    asked: list[tuple[int, int]] = []

    def look(begin: int, number: int) -> int:
        asked.append((begin, number))
        return 0

    ledger = Ledger(None)
    ledger.add(LedgerSlice("kills", 0, 10, 0, "a1"))
    ledger.add(LedgerSlice("kills", 10, 10, 7, "a1"))
    found = look_at_all(ledger, "kills", range(25), 10, look, hours=None)
    assert asked == [(10, 10), (20, 5)]
    assert [(one.begin, one.faults) for one in found] == [(0, 0), (10, 0), (20, 0)]
    table = slices_by_commit("kills", found)
    assert table.rows == [["a1", "10", "0"], ["b2", "15", "0"]]
    # No time left: what there is.
    assert len(look_at_all(ledger, "kills", range(45), 10, look, hours=-1.0)) == 2


# -- properties ------------------------------------------------------------------------------------


def test_contingencies_that_are_wrong_are_told_and_counted(monkeypatch, capsys):
    asked = []

    def faults(number: int, seed: int) -> list[str]:
        asked.append((seed, number))
        return [f"problem {seed}: wrong"]

    monkeypatch.setattr(properties, "contingency_faults", faults)
    # 700 problems of seed 3: as many under each seed before it, and no problem twice.
    assert list(properties.contingency_faults_found(problems=700, seed=3)) == [2.0]
    assert list(properties.contingencies_done(problems=700, seed=3)) == [700.0]
    assert asked == [(2100, 500), (2600, 200)]
    said = capsys.readouterr().err
    assert "problem 2600: wrong" in said
    assert "contingencies: 700 of 700" in said


# -- kills -----------------------------------------------------------------------------------------


@pytest.mark.spark
def test_a_follower_killed_at_random_moments_loses_nothing():
    assert list(kills.killed_pipeline(kills=1, seed=3)) == [0.0]


@pytest.mark.spark
def test_a_follower_killed_in_the_middle_of_batches_loses_nothing():
    assert list(kills.killed_in_batches(kills=2, seed=3)) == [0.0]


def test_a_kill_counts_where_it_hit_the_middle_of_a_batch(tmp_path: Path):
    def follower(words: str) -> kills._Running:
        program = f"print({words!r}, flush=True); import time; time.sleep(60)"
        said = tmp_path / "said.txt"
        with said.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", program], stdout=out, start_new_session=True
            )
        return kills._Running(process, said)

    rng = np.random.default_rng(0)
    assert kills._strike_within(follower("taking in batch 3"), 0.1, rng)
    # What an earlier start had begun is finished first.
    assert kills._strike_within(follower("4 of 4 costs known\ntaking in batch 3"), 0.1, rng)
    late = follower("taking in batch 3, 120 records, 4 of 4 costs known")
    assert not kills._strike_within(late, 0.1, rng)
    assert late.process.poll() is not None


@pytest.mark.spark
def test_a_sweep_killed_at_a_random_moment_goes_on_to_the_same_table():
    assert list(kills.killed_sweep(kills=1, seed=3)) == [0.0]

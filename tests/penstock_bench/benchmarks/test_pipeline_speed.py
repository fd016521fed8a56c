"""How the pipeline's speed is measured: programs, their CPU, passes, and files while it follows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli.main import main
from penstock_bench.benchmarks import pipeline_live, pipeline_speed
from penstock_bench.benchmarks.pipeline_live import Following
from penstock_bench.benchmarks.pipeline_speed import (
    Beside,
    ProgramRun,
    SpeedNotMeasured,
    core_seconds_per_million,
    over_aggregations,
    over_whole_job,
    peer_table,
    run_program,
)
from penstock_bench.benchmarks.process_cpu import SessionCpu, cpu_of_session
from penstock_bench.benchmarks.recordings import write_volume
from penstock_bench.benchmarks.results import read_runs
from penstock_bench.benchmarks.volumes import VolumeSize, first_half, newest, rows_in, volume

#: Half a second of CPU, however long that takes.
WORK = """
import time
while time.process_time() < 0.5:
    pass
print("done", flush=True)
input()
"""


def test_a_program_answers_with_what_it_printed():
    assert run_program([sys.executable, "-c", "print('{\"costs\": 3}')"]).answer == {"costs": 3}


def test_a_program_that_fails_is_told_with_its_last_words():
    with pytest.raises(SpeedNotMeasured, match="ended with 3: no such"):
        run_program([sys.executable, "-c", "import sys; sys.stderr.write('no such'); sys.exit(3)"])


def test_cpu_is_that_of_all_that_a_program_starts():
    # It waits while its child works; the child waits to be looked at before it ends.
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORK!r}])"
    with (
        subprocess.Popen(
            [sys.executable, "-c", child], start_new_session=True, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as process,
        cpu_of_session(process.pid) as cpu,
    ):  # fmt: skip
        assert process.stdout.readline() == "done\n"
        assert cpu.seconds() >= 0.45
        process.communicate("\n")
    # What has ended is not forgotten.
    assert cpu.seconds() >= 0.45


def test_processes_of_other_sessions_do_not_count(tmp_path: Path):
    def stat(pid: int, session: int, user: int, system: int, parent: int = 1) -> None:
        (tmp_path / str(pid)).mkdir(exist_ok=True)
        fields = ["S", parent, 1, session, *[0] * 7, user, system, 0]
        text = f"{pid} (a) b) " + " ".join(map(str, fields))
        (tmp_path / str(pid) / "stat").write_text(text)

    stat(7, session=7, user=100, system=50)
    stat(8, session=9, user=1000, system=0)
    (tmp_path / "self").mkdir()
    meter = SessionCpu(7, tmp_path)
    assert meter.seconds() == pytest.approx(1.5)
    # One that has ended counts as it was last seen.
    (tmp_path / "7" / "stat").unlink()
    stat(12, session=7, user=30, system=20)
    assert meter.seconds() == pytest.approx(2.0)
    # Java begins a session of its own, and its workers stay in that one when Java has ended.
    stat(20, session=20, user=100, system=0, parent=12)
    stat(21, session=20, user=50, system=0, parent=20)
    assert meter.seconds() == pytest.approx(3.5)
    (tmp_path / "20" / "stat").unlink()
    stat(21, session=20, user=60, system=0, parent=1)
    assert meter.seconds() == pytest.approx(3.6)


def test_ratios_are_of_runs_side_by_side(monkeypatch: pytest.MonkeyPatch):
    def run(seconds: float) -> ProgramRun:
        return ProgramRun(seconds, seconds, {})

    found = (Beside(run(6), run(2), run(3)), Beside(run(8), run(2), run(5)))
    monkeypatch.setattr(pipeline_speed, "beside", lambda _sizes, _repeats: found)
    assert list(over_aggregations(1, 1, 1, repeats=2)) == [3, 4]
    assert list(over_whole_job(1, 1, 1, repeats=2)) == [2, 1.6]
    rows = peer_table(1, 1, 1, repeats=2).rows
    # Medians: 7 s, 4 s, 2 s.
    assert [(row[1], row[3]) for row in rows] == [
        ("7.0 s", "1.00"),
        ("4.0 s", "1.75"),
        ("2.0 s", "3.50"),
    ]


def test_a_further_million_is_what_more_records_cost_more(monkeypatch: pytest.MonkeyPatch):
    cpu = {VolumeSize(1_000_000, 1, 1): 20.0, VolumeSize(5_000_000, 1, 1): 32.0}
    runs = {size: (ProgramRun(0, seconds, {}),) for size, seconds in cpu.items()}
    monkeypatch.setattr(pipeline_speed, "profiled", lambda size, _repeats, *, peers: runs[size])
    # 12 s more for 4 million more.
    assert list(core_seconds_per_million(1_000_000, 5_000_000, 1, 1)) == [3.0]


@pytest.mark.spark
@pytest.mark.slow
def test_a_part_of_the_suite_runs_as_a_command(tmp_path: Path, capsys):
    kept = tmp_path / "pipeline.json"
    with pytest.raises(SystemExit):
        main(["bench", "pipeline", "--only", "passes", "--quick", "--results", str(kept)])
    (run,) = read_runs(kept)
    figures = {result.unit: result.value for result in run.report.results}
    # Every record is read at least once, whoever reads it.
    assert figures["passes"] >= 1
    assert figures["jobs"] >= 1
    assert [table.columns for table in run.report.tables] == [["table", "rows", "told by"]]
    assert "… passes over 2 million samples" in capsys.readouterr().err


@pytest.mark.slow
def test_both_forms_of_the_peer_run_as_programs(tmp_path: Path):
    write_volume(tmp_path / "telemetry", 6000, components=3, types=2)
    folder = tmp_path / "telemetry"
    whole = pipeline_speed._peer("whole-job", folder).answer
    bare = pipeline_speed._peer("aggregations", folder).answer
    assert whole["costs"] == bare["costs"] == 6
    assert {"take in", "traffic", "fits"} <= set(whole["timings"])


#: A follower without Spark: it counts records, and writes down how many it has seen.
FOLLOWER = """
import json, os, sys, time
from pathlib import Path
import pyarrow.parquet as pq
folder, out = Path(sys.argv[1]), sys.argv[-1]
seen = -1
while True:
    records = sum(pq.ParquetFile(path).metadata.num_rows for path in folder.glob("*.parquet"))
    if "--follow" not in sys.argv:
        print(json.dumps({"records": records}))
        break
    if records != seen:
        hidden = out + ".new"
        Path(hidden).write_text(json.dumps({"source": f"telemetry, {records:,} records, 00h"}))
        os.replace(hidden, out)
        seen = records
    time.sleep(0.02)
"""


def test_every_file_that_arrives_is_timed_until_a_profile_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "follower.py").write_text(FOLLOWER)
    monkeypatch.setattr(pipeline_live, "PROGRAM", (sys.executable, str(tmp_path / "follower.py")))
    following = Following(2000, 2000, 3, 500, 0.2, components=3, types=2)
    run = pipeline_live._followed(following)
    # The file that warms it up is not counted.
    assert len(run.delays_s) == 3
    assert 0 < min(run.delays_s) <= run.p95_s <= max(run.delays_s)
    assert len(run.batch_cpu_s) >= 1


def test_a_follower_that_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = "import sys; print('{}'); sys.exit(3 if '--follow' in sys.argv else 0)"
    (tmp_path / "broken.py").write_text(program)
    monkeypatch.setattr(pipeline_live, "PROGRAM", (sys.executable, str(tmp_path / "broken.py")))
    with pytest.raises(SpeedNotMeasured, match="follower ended with 3"):
        pipeline_live._followed(Following(1000, 0, 1, 500, 0.2, components=3, types=2))


def test_whoever_needs_fewer_samples_gets_links_to_files_that_are_there():
    size = VolumeSize(6000, components=3, types=2)
    files = sorted(volume(size).iterdir())
    half = sorted(first_half(size).iterdir())
    # Two files of the same length: 500 windows of 6 tasks each, and a few repeats.
    assert [path.stat().st_ino for path in half] == [files[0].stat().st_ino]
    assert rows_in(half[0]) == pytest.approx(3000, rel=0.01)
    assert newest(size, 1) == files[1:]
    assert newest(size, 6000) == files
    assert newest(size, 0) == []


def test_a_later_recording_goes_on_where_the_one_before_ended(tmp_path: Path):
    write_volume(tmp_path, 600, components=3, types=2, prefix="first")
    write_volume(tmp_path, 600, components=3, types=2, after=600, prefix="later")
    first, later = (
        pq.read_table(tmp_path / f"{name}-00000.parquet") for name in ("first", "later")
    )
    # 100 windows of ten seconds each; workers are as much older.
    ends, begins = first["time_ms"].to_numpy().max(), later["time_ms"].to_numpy().min()
    assert begins - ends == 10_000
    assert later["uptime_s"].to_numpy().min() - first["uptime_s"].to_numpy().min() == 1000
    for name in ("run", "topology", "component", "task", "host", "worker"):
        assert set(first[name].to_pylist()) == set(later[name].to_pylist())


def test_every_figure_of_the_suite_has_its_measure():
    from penstock.files.document import read_document
    from penstock_bench.benchmarks.suite import _SUITES, _entries, _measure

    suite = json.loads(json.dumps(read_document(_SUITES / "pipeline.yaml").value))
    entries = [*_entries(suite, "tables", True), *_entries(suite, "benchmarks", True)]
    assert all(callable(_measure(entry)) for entry in entries)

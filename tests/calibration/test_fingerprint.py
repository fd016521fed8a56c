"""Fingerprints: how they are measured, and what is done with them."""

import json

import pytest
from tests.builders import cluster

from penstock import app, load
from penstock.calibration.fingerprint import Fingerprint, KernelSpeed, rates, standard_error
from penstock.calibration.kernels import KERNELS
from penstock.cli.main import main
from penstock.files.machine_records import read_machine_records
from penstock.files.store import save, to_dict
from penstock.model.machine_record import FINGERPRINT_KINDS
from penstock.model.machine_table import MachineTable, completed

TAKEN = Fingerprint(
    tuple(KernelSpeed(kind, 100.0 + n, 1.0, 90.0 + n) for n, kind in enumerate(KERNELS)), 4
)


def penstock(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


@pytest.fixture
def measured(monkeypatch):
    """A machine of known speed, in no time."""
    monkeypatch.setattr(app, "fingerprint", lambda *_args, **_named: TAKEN)


class Work:
    """A kind of work whose every unit takes some CPU, by a clock of its own."""

    def __init__(self, unit_s: float) -> None:
        self.now, self.unit_s, self.done = 0.0, unit_s, 0

    def __call__(self) -> None:
        self.done += 1
        self.now += self.unit_s

    def clock(self) -> float:
        return self.now


def test_a_unit_of_four_milliseconds_is_done_250_times_a_second():
    work = Work(0.004)
    found = rates(work, 2.0, work.clock)
    assert found == pytest.approx([250.0] * len(found))
    # Slices of at least 0.05 s: 16 units of 4 ms. Two seconds, and the slice that passes them.
    assert work.now == pytest.approx(2.0, abs=0.15)


def test_slow_work_is_measured_three_times_however_short_the_time():
    work = Work(3.0)
    assert len(rates(work, 0.1, work.clock)) == 3


def test_one_disturbed_slice_is_no_part_of_the_error():
    # Deviations from 100: 2, 1, 0, 1, 60; their median is 1: 1.4826 * 1.2533 / sqrt(5).
    assert standard_error([98, 99, 100, 101, 160]) == pytest.approx(0.831, abs=0.001)


def test_every_kind_of_work_does_the_same_each_time():
    for prepare in KERNELS.values():
        assert prepare()() == prepare()()


def test_all_cores_are_worth_so_many_alone():
    # 0.9 and a little more of each of four: between 3.6 and 3.62.
    assert TAKEN.cores_worth == pytest.approx(3.61, abs=0.01)


def test_the_record_has_a_field_for_each_kind_of_work():
    assert tuple(KERNELS) == FINGERPRINT_KINDS


def test_it_goes_into_the_cluster_file(tmp_path, measured):
    file = tmp_path / "cluster.yaml"
    save(cluster(M1=1), file)
    told = ("--cluster", file, "--type", "M1", "--out", file)
    assert penstock("calibrate", "--fingerprint", *told) == 0
    (kind,) = load(file).types
    assert dict(kind.fingerprint) == {s.kind: s.one_per_s for s in TAKEN.speeds}
    assert load(to_dict(load(file))) == load(file)


def test_a_type_the_cluster_lacks_is_added_as_this_machine(tmp_path, measured):
    file = tmp_path / "cluster.yaml"
    save(cluster(M1=1), file)
    told = ("--cluster", file, "--type", "any", "--out", file)
    assert penstock("calibrate", "--fingerprint", *told) == 0
    assert [kind.name for kind in load(file).types] == ["M1", "any"]
    assert load(file).types[1].ram_mb > 0


def test_it_goes_into_telemetry_and_from_there_into_a_cluster(tmp_path, measured, capsys):
    told = ("--telemetry", tmp_path, "--name", "M1-1", "--json")
    assert penstock("calibrate", "--fingerprint", *told) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "penstock/fingerprint"
    # A day later the agent has written on; the fingerprint still counts.
    (record,) = read_machine_records([tmp_path]).records
    later = record.to_dict() | {"time_ms": record.time_ms + 86_400_000}
    later = {key: value for key, value in later.items() if not key.endswith("_per_s")}
    with (tmp_path / "_machine-M1-1.jsonl").open("a") as file:
        file.write(json.dumps(later) + "\n")
    table = MachineTable.of(read_machine_records([tmp_path]).records)
    (kind,) = completed(cluster(M1=1), table).cluster.types
    assert dict(kind.fingerprint)["integer"] == 100.0


def test_a_cluster_without_a_type_or_a_place_for_it_is_refused(tmp_path, measured, capsys):
    assert penstock("calibrate", "--fingerprint", "--cluster", "linear") == 2
    assert "--cluster, --type and --out go together" in capsys.readouterr().err
    assert penstock("calibrate") == 2

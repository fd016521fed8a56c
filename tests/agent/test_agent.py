"""``penstock agent`` as it runs: alone, and between two network namespaces."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agent.slow_link import ADDRESSES, slow_link, why_not

from penstock.agent.record_file import RecordFile
from penstock.cli.main import main
from penstock.files.machine_records import read_machine_records
from penstock.model.machine_table import MachineTable

PORT = 7373


def penstock(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


def key_file(folder: Path, mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_text("0123456789abcdef" * 2)
    path.chmod(mode)
    return path


def test_one_record_is_what_this_machine_is_and_does(capsys):
    assert penstock("agent", "--once", "--every", "1", "--name", "m1", "--region", "eu") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["record"], told["machine"], told["region"]) == ("machine", "m1", "eu")
    assert told["threads"] == os.cpu_count()
    assert 0 <= told["busy_points"] <= 100 * os.cpu_count() * 1.1
    assert told["agent_bytes"] == 0


def test_records_are_lines_in_a_file_that_spark_leaves_alone(tmp_path):
    assert penstock("agent", "--out", tmp_path, "--name", "m1", "--every", 1, "--seconds", 1.1) == 0
    (file,) = tmp_path.iterdir()
    assert file.name == "_machine-m1.jsonl"
    found = read_machine_records([tmp_path])
    assert {r.machine for r in found.records} == {"m1"}
    assert found.unreadable == 0


def test_a_name_that_is_none_is_refused(tmp_path, capsys):
    assert penstock("agent", "--out", tmp_path, "--name", "../m1") == 2
    assert "must be a name without slashes" in capsys.readouterr().err


def test_a_name_with_an_equals_sign_makes_no_partition_of_a_table(tmp_path):
    assert RecordFile(tmp_path, "rack=1").path.name == "_machine-rack-1.jsonl"


def test_a_key_that_others_may_read_is_not_used(tmp_path, capsys):
    machines = tmp_path / "machines.yaml"
    machines.write_text("m1: 127.0.0.1:7373\n")
    given = ("--name", "m1", "--machines", machines, "--key-file", key_file(tmp_path, 0o644))
    assert penstock("agent", "--once", *given) == 1
    assert "others may read it (mode 644); chmod 600 it" in capsys.readouterr().err


def test_machines_are_addresses_and_this_one_is_among_them(tmp_path, capsys):
    machines = tmp_path / "machines.yaml"
    machines.write_text("m2: 127.0.0.1\nm3: 127.0.0.1:99999\n")
    given = ("--name", "m1", "--machines", machines, "--key-file", key_file(tmp_path))
    assert penstock("agent", "--once", *given) == 1
    told = capsys.readouterr().err
    assert f'{machines}:1 m2: "127.0.0.1" must be host:port' in told
    assert f"{machines}:2 m3: " in told
    assert 'has no line for this machine, "m1"' in told


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_round_trips_over_a_slow_link_are_within_a_tenth(tmp_path):
    """20 ms each way: 40 ms, by both ends."""
    machines = tmp_path / "machines.yaml"
    names = ("m1", "m2")
    lines = [f"{n}: {at}:{PORT}\n" for n, at in zip(names, ADDRESSES, strict=True)]
    machines.write_text("".join(lines))
    told = [
        "--machines", str(machines), "--key-file", str(key_file(tmp_path)), "--every", "3",
        "--probe-every", "0.5", "--out", str(tmp_path / "records"), "--seconds", "7",
    ]  # fmt: skip
    with slow_link(0.020) as spaces:
        agents = [
            subprocess.Popen(
                ["ip", "netns", "exec", space, sys.executable, "-m", "penstock", "agent",
                 "--name", name, *told]
            )
            for space, name in zip(spaces, names, strict=True)
        ]  # fmt: skip
        assert [agent.wait(60) for agent in agents] == [0, 0]
    table = MachineTable.of(read_machine_records([tmp_path / "records"]).records)
    assert table.round_trip_ms == {("m1", "m2"): pytest.approx(40.0, rel=0.1)}

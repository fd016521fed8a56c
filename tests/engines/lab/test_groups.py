"""Control groups, on folders that look like the kernel's and on real ones where we may."""

import os
import subprocess

import pytest

from penstock.engines.lab.groups import ControlGroup, ControlGroups


def fake_proc(tmp_path, mounts, own):
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "mounts").write_text("\n".join(mounts) + "\n")
    (proc / "self" / "cgroup").write_text("\n".join(own) + "\n")
    return proc


def candidates(proc):
    from penstock.engines.lab.groups import _candidates

    return list(_candidates(proc))


def test_version_1_is_two_trees_or_one(tmp_path):
    apart = [
        "cgroup /cg/cpu cgroup rw,relatime,cpu 0 0", "cgroup /cg/acct cgroup rw,cpuacct 0 0",
    ]  # fmt: skip
    found, *_ = candidates(fake_proc(tmp_path, apart, ["2:cpu:/", "1:cpuacct:/box"]))
    assert [str(p) for p in found.parents] == ["/cg/cpu", "/cg/acct/box"]
    together = ["cgroup /cg/both cgroup rw,cpu,cpuacct 0 0"]
    found, *_ = candidates(fake_proc(tmp_path / "2", together, ["1:cpu,cpuacct:/"]))
    group = found.at("a")
    assert [str(f) for f in group.folders] == ["/cg/both/penstock-lab-a"]


def test_version_2_looks_upwards_from_our_own_group(tmp_path):
    mounts = ["cgroup2 /cg cgroup2 rw 0 0"]
    found = candidates(fake_proc(tmp_path, mounts, ["0::/user.slice/me"]))
    assert [str(f.parents[0]) for f in found] == ["/cg/user.slice/me", "/cg/user.slice", "/cg"]
    assert all(f.is_unified for f in found)


def test_limits_are_written_as_each_version_has_them(tmp_path):
    new = ControlGroup((tmp_path,), is_unified=True)
    new.limit(50.0)
    assert (tmp_path / "cpu.max").read_text() == "50000 100000"
    assert new.limited_to() == 50.0
    # Five times what another process weighs.
    assert (tmp_path / "cpu.weight").read_text() == "500"
    new.limit(None)
    assert new.limited_to() is None
    assert (tmp_path / "cpu.weight").read_text() == "100"
    # A machine of sixteen cores: the kernel refuses more.
    new.limit(1600.0)
    assert (tmp_path / "cpu.weight").read_text() == "10000"
    (tmp_path / "cpu.stat").write_text("nr_periods 3\nusage_usec 2500000\nuser_usec 1\n")
    assert new.cpu_s() == 2.5

    old = ControlGroup((tmp_path, tmp_path), is_unified=False)
    old.limit(30.0)
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "30000"
    assert old.limited_to() == 30.0
    assert (tmp_path / "cpu.shares").read_text() == "3072"
    old.limit(None)
    assert (tmp_path / "cpu.shares").read_text() == "1024"
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "-1"
    (tmp_path / "cpuacct.usage").write_text("1500000000\n")
    assert old.cpu_s() == 1.5


def test_where_nothing_may_be_written_there_are_none(tmp_path):
    mounts = [f"cgroup2 {tmp_path / 'nowhere'} cgroup2 ro 0 0"]
    assert ControlGroups.find(fake_proc(tmp_path, mounts, ["0::/"])) is None


def test_a_real_group_holds_a_process_and_ends_it():
    groups = ControlGroups.find()
    if groups is None:
        pytest.skip("no control groups this user may write")
    group = groups.make(f"test-{os.getpid()}")
    try:
        group.limit(20.0)
        process = subprocess.Popen(["/bin/sh", "-c", f"{group.joining} && exec sleep 100"])
        while process.pid not in group.processes():
            assert process.poll() is None
        assert group.limited_to() == 20.0
    finally:
        group.remove()
    assert process.wait(5) < 0
    assert not any(folder.exists() for folder in group.folders)


def test_groups_of_a_dead_maker_are_removed(tmp_path):
    groups = ControlGroups((tmp_path,), is_unified=True)
    dead, mine = groups.make("spark-4194305-m1"), groups.make(f"spark-{os.getpid()}-m1")
    other = groups.make("notes")
    groups.clean_up()
    assert not dead.folders[0].exists()
    assert mine.folders[0].exists()
    assert other.folders[0].exists()

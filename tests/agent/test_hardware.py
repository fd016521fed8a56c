"""What the agent says a machine is, on machines made of files and on this one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.agent.flops import flops_per_cycle
from penstock.agent.hardware import hardware

AVX2 = "fpu sse sse2 avx avx2 fma"


def machine(root: Path, *, model="Xeon", flags=AVX2, packages=2, cores=2, threads=2, mhz=2100.5):
    """Files as Linux has them: hyperthreads of one core share its ``core_id``."""
    blocks, number = [], 0
    for thread in range(threads):
        for package in range(packages):
            for core in range(cores):
                blocks.append(
                    f"processor\t: {number}\nmodel name\t: {model}\ncpu MHz\t\t: {mhz}\n"
                    f"flags\t\t: {flags}\nthread\t: {thread}"
                )
                topology = root / f"sys/devices/system/cpu/cpu{number}/topology"
                write(topology / "physical_package_id", package)
                write(topology / "core_id", core)
                number += 1
    write(root / "proc/cpuinfo", "\n\n".join(blocks) + "\n\n")
    write(root / "proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB\n")
    return root


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def route(root: Path, *ways: tuple[str, str, int]) -> None:
    """Lines of name, destination and metric, up and with a gateway."""
    lines = [f"{name}\t{to}\t0102A8C0\t0003\t0\t0\t{metric}\t0" for name, to, metric in ways]
    write(root / "proc/net/route", "\n".join(["Iface\tDestination", *lines]))


def test_sockets_cores_memory_and_the_nominal_clock(tmp_path):
    facts = hardware(machine(tmp_path, model="Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", mhz=3500))
    # 2 packages with 2 cores each, two threads a core; 16 GiB.
    assert facts["sockets"], facts["cores"] == (2, 2)
    assert facts["threads"] == 8
    assert facts["ghz"] == 2.1
    assert facts["ram_mb"] == 16384.0
    assert facts["flops_per_cycle"] == 16.0
    # 2 x 2 x 2.1 x 16 = 134.4 GFLOPS
    assert "nic_mbps" not in facts


def test_without_a_nominal_clock_the_base_then_the_highest_then_todays(tmp_path):
    root = machine(tmp_path)
    assert hardware(root)["ghz"] == 2.1  # 2100.5 MHz now, rounded to MHz
    cpufreq = root / "sys/devices/system/cpu/cpu0/cpufreq"
    write(cpufreq / "cpuinfo_max_freq", 3_900_000)
    assert hardware(root)["ghz"] == 3.9
    write(cpufreq / "base_frequency", 2_600_000)
    assert hardware(root)["ghz"] == 2.6


def test_the_link_that_leads_out_is_that_of_the_least_metric(tmp_path):
    root = machine(tmp_path)
    anywhere = "00000000"
    route(root, ("wlan0", anywhere, 600), ("eth1", anywhere, 100), ("eth2", "0002A8C0", 0))
    write(root / "sys/class/net/eth1/speed", 10_000)
    write(root / "sys/class/net/eth2/speed", 25_000)
    facts = hardware(root)
    assert (facts["interface"], facts["nic_mbps"]) == ("eth1", 10_000.0)
    assert hardware(root, "eth2")["nic_mbps"] == 25_000.0


@pytest.mark.parametrize("speed", ["-1", "", "0", "unknown", "65535x"])
def test_a_card_that_does_not_know_its_speed_has_none(tmp_path, speed):
    root = machine(tmp_path)
    route(root, ("eth0", "00000000", 0))
    write(root / "sys/class/net/eth0/speed", speed)
    assert "nic_mbps" not in hardware(root)


def test_a_machine_that_says_nothing_is_not_guessed(tmp_path):
    assert hardware(tmp_path) == {}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("sse2 avx avx2 fma avx512f", 16.0),
        ("sse2 avx avx2 fma", 16.0),
        ("sse2 avx fma4", 8.0),
        ("sse2 avx", 8.0),
        ("sse sse2", 4.0),
        ("fp asimd", 8.0),
        ("vsx", None),
    ],
)
def test_operations_per_cycle_follow_the_flags(flags, expected):
    assert flops_per_cycle(flags.split()) == expected


@pytest.mark.skipif(shutil.which("lscpu") is None, reason="no lscpu on this machine")
def test_what_the_agent_tells_of_this_machine_is_what_lscpu_tells():
    output = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    told = dict(re.findall(r"^\s*([^:]+):\s*(.*)$", output, re.MULTILINE))
    facts = hardware()
    assert facts["threads"] == int(told["CPU(s)"])
    if "Socket(s)" in told:
        assert facts["sockets"] == int(told["Socket(s)"])
        assert facts["cores"] == int(told["Core(s) per socket"])
    if "Flags" in told:
        assert facts["flops_per_cycle"] == flops_per_cycle(told["Flags"].split())
    (kb,) = re.findall(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    assert facts["ram_mb"] == pytest.approx(int(kb) / 1024, abs=0.1)
    speed = Path("/sys/class/net", str(facts.get("interface")), "speed")
    assert facts.get("nic_mbps", -1) == float(speed.read_text() if speed.exists() else -1)

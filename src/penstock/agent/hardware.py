"""What a machine is, from ``/proc`` and ``/sys``; what is not said there is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from penstock.agent.flops import flops_per_cycle

ROOT = Path("/")
_NOMINAL = re.compile(r"@\s*([0-9.]+)\s*GHz", re.IGNORECASE)
_KHZ_PER_GHZ = 1e6
_MHZ_PER_GHZ = 1e3
_KB_PER_MB = 1024.0
#: ``/proc/net/route``: the way is up, and leads anywhere.
_UP, _ANYWHERE = 0x1, "00000000"


def hardware(root: Path = ROOT, interface: str | None = None) -> dict[str, object]:
    """The fields of the machine record that do not change while the machine is up."""
    processors = _cpuinfo(root)
    sockets, cores = _sockets_and_cores(root, processors)
    link = interface or default_interface(root)
    flags = next((p[key].split() for p in processors for key in ("flags", "Features") if key in p),
                 [])  # fmt: skip
    facts = {
        "sockets": sockets,
        "cores": cores,
        "threads": len(processors) or None,
        "ghz": _ghz(root, processors),
        "flops_per_cycle": flops_per_cycle(flags),
        "ram_mb": _ram_mb(root),
        "interface": link,
        "nic_mbps": None if link is None else link_mbps(root, link),
    }
    return {name: value for name, value in facts.items() if value is not None}


def default_interface(root: Path = ROOT) -> str | None:
    """The link of the route that leads anywhere; of several, that of the smallest metric."""
    ways = []
    for line in _text(root / "proc/net/route").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == _ANYWHERE and int(fields[3], 16) & _UP:
            ways.append((int(fields[6]), fields[0]))
    return min(ways)[1] if ways else None


def link_mbps(root: Path, interface: str) -> float | None:
    """What the driver says; virtual cards say -1, nothing, or that they do not know."""
    speed = _text(root / "sys/class/net" / interface / "speed").strip()
    return float(speed) if speed.isdecimal() and int(speed) > 0 else None


def _cpuinfo(root: Path) -> list[dict[str, str]]:
    """A mapping for each processor that the system counts."""
    entries = []
    for block in _text(root / "proc/cpuinfo").strip().split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        entry = {key.strip(): value.strip() for key, _, value in pairs}
        if "processor" in entry:
            entries.append(entry)
    return entries


def _sockets_and_cores(
    root: Path, processors: list[dict[str, str]]
) -> tuple[int | None, int | None]:
    """Processors, and cores of one: pairs of package and core that differ."""
    places = set()
    for entry in processors:
        topology = root / f"sys/devices/system/cpu/cpu{entry['processor']}/topology"
        package = _text(topology / "physical_package_id").strip() or entry.get("physical id")
        core = _text(topology / "core_id").strip() or entry.get("core id")
        if package is None or core is None:
            return None, None
        places.add((package, core))
    sockets = len({package for package, _ in places})
    return (sockets, len(places) // sockets) if sockets else (None, None)


def _ghz(root: Path, processors: list[dict[str, str]]) -> float | None:
    """The nominal clock; without one the highest; without that what runs now (virtual machines)."""
    for entry in processors:
        if named := _NOMINAL.search(entry.get("model name", "")):
            return float(named[1])
    cpufreq = root / "sys/devices/system/cpu/cpu0/cpufreq"
    for name in ("base_frequency", "cpuinfo_max_freq"):
        if (khz := _text(cpufreq / name).strip()).isdecimal():
            return int(khz) / _KHZ_PER_GHZ
    clocks = list(_clocks_mhz(processors))
    return round(max(clocks) / _MHZ_PER_GHZ, 3) if clocks else None


def _clocks_mhz(processors: list[dict[str, str]]) -> Iterator[float]:
    for entry in processors:
        text = entry.get("cpu MHz", "")
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) and float(text) > 0:
            yield float(text)


def _ram_mb(root: Path) -> float | None:
    found = re.search(r"^MemTotal:\s+([0-9]+) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    return round(int(found[1]) / _KB_PER_MB, 1) if found else None


def _text(path: Path) -> str:
    """What a file says; nothing where it is not there or refuses to be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

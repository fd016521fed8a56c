"""Two network namespaces and a link between them that takes its time.

Frames go from one TAP device to the other through this process, which holds each for as long: the
kernels of many virtual machines lack ``tc netem``.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_MOST_FRAME = 65_536
ADDRESSES = ("10.79.29.1", "10.79.29.2")


def why_not() -> str:
    """Why no namespaces can be made here; empty if they can."""
    if os.geteuid() != 0:
        return "making network namespaces takes root"
    if shutil.which("ip") is None:
        return "there is no ip (iproute2)"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    return ""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def slow_link(delay_s: float) -> Iterator[tuple[str, str]]:
    """The names of two namespaces; a datagram from one to the other takes ``delay_s``."""
    names = tuple(f"penstock{os.getpid()}{side}" for side in "ab")
    taps = [f"ps{os.getpid() % 10**6}{side}" for side in "ab"]
    files: list[int] = []
    try:
        for name, tap, address in zip(names, taps, ADDRESSES, strict=True):
            _ip("netns", "add", name)
            files.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
            request = struct.pack("16sH14x", tap.encode(), _IFF_TAP | _IFF_NO_PI)
            fcntl.ioctl(files[-1], _TUNSETIFF, request)
            _ip("link", "set", tap, "netns", name)
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", tap)
            _ip("-n", name, "link", "set", tap, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        ended = threading.Event()
        carrier = threading.Thread(target=_carry, args=(files, delay_s, ended))
        carrier.start()
        try:
            yield names[0], names[1]
        finally:
            ended.set()
            carrier.join()
    finally:
        for number in files:
            os.close(number)
        for name in names:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)


def _carry(files: list[int], delay_s: float, ended: threading.Event) -> None:
    """Hand each frame to the other device when its time has come."""
    waiting: deque[tuple[float, int, bytes]] = deque()
    while not ended.is_set():
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, to, frame = waiting.popleft()
            with suppress(OSError):
                os.write(to, frame)
        due = waiting[0][0] - now if waiting else 0.1
        for number in select.select(files, [], [], max(0.0, due))[0]:
            other = files[1 - files.index(number)]
            with suppress(OSError):
                waiting.append((time.monotonic() + delay_s, other, os.read(number, _MOST_FRAME)))

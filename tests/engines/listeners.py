"""What processes listen on, as the kernel tells it; for tests that nobody else gets in."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

_LISTENS = "0A"


def tree_of(roots: Iterable[int]) -> set[int]:
    """These processes and all that they and theirs have started."""
    parents, sessions = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                sessions[int(entry.name)] = int(fields[3])
    found, before = set(roots), set()
    while found != before:
        before = set(found)
        # A session survives the parent: what a daemon started stays in it.
        found |= {p for p in parents if parents[p] in before or sessions[p] in before - {0, 1}}
    return found


def listeners(pids: Iterable[int]) -> set[tuple[str, int, str]]:
    """Address, port and program of every TCP port that these processes listen on."""
    sockets = {}
    for pid in pids:
        with suppress(OSError):
            name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    sockets[str(link.readlink())] = name
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and (name := sockets.get(f"socket:[{fields[9]}]")):
                address, port = fields[1].split(":")
                found.add((_address(address), int(port, 16), name))
    return found


def _address(text: str) -> str:
    """The kernel writes addresses as words of four bytes in the machine's own order."""
    words = [bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def open_to_others(pids: Iterable[int]) -> list[tuple[str, int, str]]:
    """Listeners that can be reached from other computers."""
    return sorted(one for one in listeners(pids) if not ipaddress.ip_address(one[0]).is_loopback)


def secret_on_a_command_line(secret: str) -> list[str]:
    """Commands of any process that show it, as ``ps`` would."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                if secret in command:
                    found.append(command)
    return found


_NOT_AUTHENTICATED = b"Expected SaslMessage"
_RPC_REQUEST = 3


def lets_strangers_in(address: str, port: int) -> bool:
    """Whether a part of Spark does anything for somebody who has not authenticated."""
    body = b"do something"
    frame = struct.pack(">BqI", _RPC_REQUEST, 7, len(body)) + body
    with socket.create_connection((address, port), timeout=20) as talk:
        talk.sendall(struct.pack(">q", 8 + len(frame)) + frame)
        answer = talk.recv(4096)
    if answer.startswith(b"HTTP/"):
        return _shows_pages(address, port)
    return _NOT_AUTHENTICATED not in answer


def _shows_pages(address: str, port: int) -> bool:
    try:
        with urlopen(f"http://{address}:{port}/", timeout=20):
            return True
    except HTTPError as error:
        return error.code != HTTPStatus.FORBIDDEN

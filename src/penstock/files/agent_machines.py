"""Which machines probe each other: a mapping of names to ``host:port``, the same file on all."""

from __future__ import annotations

import socket
from pathlib import Path

from pydantic import RootModel

from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, read_document
from penstock.files.schema import Name, check

Address = tuple[str, int]


class _Machines(RootModel[dict[Name, str]]):
    """``machine: host:port``, one line per machine."""


def load_agent_machines(path: str | Path, own: str) -> dict[str, Address]:
    """Addresses by name, in the order of the file; ``own`` must be among them."""
    document = read_document(path)
    machines, findings = check(document, _Machines)
    if machines is None:
        raise InputError(*findings)
    addresses = {name: _address(text) for name, text in machines.root.items()}
    findings = [
        _wrong(document, name, machines.root[name], why)
        for name, why in addresses.items()
        if isinstance(why, str)
    ]
    if own not in machines.root:
        message = f'has no line for this machine, "{own}" (--name names another)'
        findings.append(document.finding((), message))
    if findings:
        raise InputError(*findings)
    return {name: at for name, at in addresses.items() if not isinstance(at, str)}


def _address(text: str) -> Address | str:
    """Where a machine is, or why that is no address."""
    host, _, port = text.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        return "must be host:port, as in 10.0.0.11:7373"
    try:
        found = socket.getaddrinfo(host, int(port), socket.AF_INET, socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return "is no address of IPv4 and no known host"
    return str(found[0][4][0]), int(port)


def _wrong(document: ParsedFile, name: str, text: str, why: str) -> Finding:
    return document.finding((name,), f'"{text}" {why}')

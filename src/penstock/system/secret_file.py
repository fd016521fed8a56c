"""Files that hold a key: read only where nobody else can read or change them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from penstock.errors import Finding
from penstock.system.private_folder import NotPrivate, tampering_risk

_MOST_BYTES = 4096


def read_secret(path: Path, least_bytes: int) -> bytes:
    """The key in a file, without blanks around it; an error says why one is not used."""
    if risk := tampering_risk(path):
        raise NotPrivate(Finding(f"not used: {risk}", str(path)))
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise NotPrivate(Finding(f"cannot be read: {error.strerror}", str(path))) from None
    with os.fdopen(number, "rb") as file:
        entry = os.fstat(number)
        if not stat.S_ISREG(entry.st_mode):
            raise NotPrivate(Finding("not used: it is no plain file", str(path)))
        mode = stat.S_IMODE(entry.st_mode)
        if mode & 0o077:
            message = f"not used: others may read it (mode {mode:o}); chmod 600 it"
            raise NotPrivate(Finding(message, str(path)))
        key = file.read(_MOST_BYTES + 1).strip()
    if not least_bytes <= len(key) <= _MOST_BYTES:
        message = f"must hold a key of {least_bytes} to {_MOST_BYTES} bytes, not {len(key)}"
        raise NotPrivate(Finding(message, str(path)))
    return key

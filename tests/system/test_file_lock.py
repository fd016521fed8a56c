"""A lock is the kernel's: it ends with its holder, and a link does not choose its file."""

import os
import signal

import pytest

from penstock.errors import InputError
from penstock.system.file_lock import BusyError, locked


def test_a_second_holder_is_told_who_the_first_one_is(tmp_path):
    path = tmp_path / "lock"
    message = rf"another run \(process {os.getpid()}\)"
    with (
        locked(path, "another run"),
        pytest.raises(BusyError, match=message),
        locked(path, "another run"),
    ):
        pass
    with locked(path, "another run"):
        pass


def test_a_holder_that_is_killed_holds_it_no_more(tmp_path):
    path = tmp_path / "lock"
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with locked(path, "another run"):
            os.write(writes, b"held")
            signal.pause()
        os._exit(0)
    os.read(reads, 4)
    with pytest.raises(BusyError, match=f"process {child}"), locked(path, "another run"):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(path, "another run"):
        pass


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    link = tmp_path / "lock"
    with pytest.raises(InputError, match="lock is a symbolic link"), locked(link, "another run"):
        pass
    assert not (tmp_path / "elsewhere").exists()

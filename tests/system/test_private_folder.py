"""Nothing is read, run or removed that somebody else could have put there."""

import os
import stat

import pytest

from penstock.engines.spark import session
from penstock.errors import InputError
from penstock.system.private_folder import (
    NotPrivate,
    PrivateFolder,
    cache_folder,
    runtime_folder,
    scratch_folder,
    tampering_risk,
)

SOMEBODY_ELSE = 12345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def mine(tmp_path):
    return PrivateFolder(tmp_path / "mine")


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_it_is_made_for_this_user_alone_and_so_are_its_files(mine):
    assert mine.read("facts") is None
    assert not mine.path.exists()  # looking makes nothing
    written = mine.write("facts", b"one")
    assert mine.read("facts") == b"one"
    assert (mode_of(mine.path), mode_of(written)) == (0o700, 0o600)
    mine.remove("facts")
    assert mine.read("facts") is None


def test_a_folder_others_could_look_into_is_closed(mine):
    mine.path.mkdir(mode=0o755)
    mine.require()
    assert mode_of(mine.path) == 0o700


def test_a_folder_others_may_write_to_is_not_used(mine):
    mine.path.mkdir()
    mine.path.chmod(0o777)
    (mine.path / "facts").write_text("theirs")
    with pytest.raises(NotPrivate, match=r"mine: not used: others may write to .*mode 777"):
        mine.read("facts")


def test_a_link_in_its_place_is_not_followed(mine, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    mine.path.symlink_to(elsewhere)
    with pytest.raises(NotPrivate, match="it is a symbolic link; remove it"):
        mine.write("facts", b"one")
    assert not list(elsewhere.iterdir())


@needs_root
def test_a_folder_of_somebody_else_is_not_used(mine):
    mine.path.mkdir(mode=0o700)
    os.chown(mine.path, SOMEBODY_ELSE, SOMEBODY_ELSE)
    with pytest.raises(NotPrivate, match=f"belongs to user {SOMEBODY_ELSE}, not to user root"):
        mine.read("facts")


def test_a_folder_that_others_can_replace_is_not_used(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(NotPrivate, match=r"others may write to .*/shared "):
        PrivateFolder(shared / "mine").require()
    # As /tmp: all may write, but nobody can rename what is not theirs.
    shared.chmod(0o1777)
    assert PrivateFolder(shared / "mine").require() == shared / "mine"


@pytest.mark.parametrize("kind", ["link", "writable", "folder"])
def test_a_file_that_is_none_of_ours_is_not_read(mine, tmp_path, kind):
    path = mine.write("facts", b"one")
    if kind == "writable":
        path.chmod(0o666)
    else:
        path.unlink()
        path.mkdir() if kind == "folder" else path.symlink_to(tmp_path / "secret")
        (tmp_path / "secret").write_text("theirs")
    with pytest.raises(NotPrivate, match="facts: not read: "):
        mine.read("facts")


def test_only_folders_made_here_are_removed(mine, tmp_path):
    made = mine.make_folder("lab-")
    (made / "log").write_text("one")
    assert mine.folders() == [made]
    for other in (mine.path / "by-hand", tmp_path / "by-hand"):
        other.mkdir()
        with pytest.raises(NotPrivate, match="not removed: "):
            mine.remove_folder(other)
        assert other.is_dir()
    (mine.path / "link").symlink_to(tmp_path / "by-hand")
    for other in (mine.path / "link", made / "..", mine.path / ".."):
        with pytest.raises(NotPrivate, match="not removed: "):
            mine.remove_folder(other)
    mine.remove_folder(made)
    mine.remove_folder(made)  # gone already is no fault
    assert not made.exists()
    assert mine.folders() == []


def test_where_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours = tmp_path / f"penstock-{os.geteuid()}"
    assert scratch_folder().path == ours
    assert runtime_folder({}).path == ours
    assert runtime_folder({"XDG_RUNTIME_DIR": "/run/user/7"}).path.as_posix() == (
        "/run/user/7/penstock"
    )
    assert cache_folder({"HOME": "/h"}).as_posix() == "/h/.cache/penstock"


def test_what_is_not_there_yet_is_as_safe_as_what_is_above(tmp_path):
    assert tampering_risk(tmp_path / "a" / "b") == ""
    tmp_path.chmod(0o777)
    assert "others may write to" in tampering_risk(tmp_path / "a")


# -- the java that Spark is started with ----------------------------------------------------------


@pytest.fixture
def no_cache(tmp_path, monkeypatch):
    """A cache that cannot be written, and a temporary folder of the test's own."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    return shared / f"penstock-{os.geteuid()}"


def planted(home):
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text("#!/bin/sh\necho theirs\n")
    java.chmod(0o755)
    return java


def test_a_java_that_lies_in_wait_in_the_temporary_folder_is_not_run(no_cache, tmp_path):
    target = tmp_path / "java"
    java = planted(session._java_home_for_spark(target))
    no_cache.chmod(0o777)  # as somebody else would have made it
    with pytest.raises(InputError, match=r"others may write to .*\n.*set XDG_CACHE_HOME"):
        session._java_home_for_spark(target)
    assert "theirs" in java.read_text()


def test_a_java_that_is_not_as_we_wrote_it_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = planted(session._java_home_for_spark(tmp_path / "java"))
    assert session._java_home_for_spark(tmp_path / "java") == java.parent.parent
    assert "theirs" not in java.read_text()
    assert os.access(java, os.X_OK)


def test_a_java_in_a_cache_that_others_may_write_to_is_not_run(no_cache, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    planted(session._java_home_for_spark(tmp_path / "java"))
    cache.chmod(0o777)
    assert session._java_home_for_spark(tmp_path / "java").parent == no_cache

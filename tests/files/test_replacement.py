"""What becomes of a path that results are written to."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.files.writer import write_text

#: Writes ``new`` to the path given, but does something else in the moment before the rename.
_WRITER = """
import os, signal, sys
from pathlib import Path
from penstock.files.writer import write_text

rename = Path.replace

def replace(draft, target):
    {before}
    return rename(draft, target)

Path.replace = replace
write_text(sys.argv[1], "new")
"""
_DIES = "os.kill(os.getpid(), signal.SIGKILL)"
_WAITS = "print('at work', flush=True); sys.stdin.readline()"


def _writer(before: str, path: Path) -> subprocess.Popen:
    program = _WRITER.format(before=before)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=pipe, stdout=pipe, text=True
    )


def _drafts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_fifo_is_written_to(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()), daemon=True)
    reader.start()
    write_text(fifo, "plan\n")
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    reader.join(timeout=10)
    assert read == ["plan\n"]


def _link(folder: Path, device: str) -> Path:
    """A name for a device in a folder of our own: a broken writer cannot take the machine's."""
    link = folder / Path(device).name
    link.symlink_to(device)
    return link


def test_a_device_is_written_to_and_survives(tmp_path):
    null = _link(tmp_path, "/dev/null")
    write_text(null, "plan\n")
    assert null.is_symlink()
    assert stat.S_ISCHR(null.stat().st_mode)
    assert not _drafts(tmp_path)


def test_a_full_device_says_so(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        write_text(_link(tmp_path, "/dev/full"), "plan\n")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_is_written_to_by_name(name, into, tmp_path):
    link = str(_link(tmp_path, name))
    program = (
        "import sys; from penstock.files.writer import write_text; "
        f"print('before', flush=True); write_text({link!r}, 'plan\\n'); print('after')"
    )
    if into == "pipe":
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        seen = done.stdout
    else:
        with (tmp_path / "redirected").open("wb") as out:
            subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
        seen = (tmp_path / "redirected").read_bytes()
    assert seen == b"before\nplan\nafter\n"


def test_of_a_symlink_the_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "plan.json"
    target.write_text("old")
    (tmp_path / "middle").symlink_to("there/plan.json")
    link = tmp_path / "link"
    link.symlink_to("middle")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert target.read_text() == "new"


def test_a_symlink_to_nothing_gets_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("plan.json")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "plan.json").read_text() == "new"


def test_symlinks_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink()


def test_a_folder_is_left_alone(tmp_path):
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path, "new")


def test_who_may_read_a_file_stays_the_same(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(0o600)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_file_is_as_private_as_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "plan.json", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "plan.json").stat().st_mode) == 0o640


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("ü" * 125 + ".json")  # 255 bytes
    write_text(path, "new")
    assert path.read_text() == "new"


def test_content_and_name_are_on_the_disk_before_the_writer_says_done(tmp_path, monkeypatch):
    did: list[str] = []
    fsync, rename = os.fsync, Path.replace

    def synced(handle: int) -> None:
        did.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def renamed(draft: Path, target: Path) -> Path:
        did.append("rename")
        return rename(draft, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_text(tmp_path / "plan.json", "new")
    assert did == ["file", "rename", "folder"]


def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")
    writer = _writer(_DIES, path)
    assert writer.wait(60) == -signal.SIGKILL
    writer.communicate()
    assert path.read_text() == "old"
    assert len(_drafts(tmp_path)) == 1
    write_text(tmp_path / "other.json", "other")
    assert _drafts(tmp_path) == []
    assert path.read_text() == "old"


def test_the_draft_of_a_writer_at_work_is_left_to_it(tmp_path):
    path = tmp_path / "plan.json"
    writer = _writer(_WAITS, path)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "at work\n"
    write_text(path, "ours")
    assert len(_drafts(tmp_path)) == 1
    writer.communicate("go on\n", timeout=60)
    assert writer.returncode == 0
    assert path.read_text() == "new"
    assert _drafts(tmp_path) == []


@pytest.mark.parametrize("name", [".plan.json.tmp", ".plan.json.abcd1234", ".penstock-draft"])
def test_files_that_are_not_surely_ours_stay(tmp_path, name):
    (tmp_path / name).write_text("somebody's")
    write_text(tmp_path / "plan.json", "new")
    assert (tmp_path / name).read_text() == "somebody's"

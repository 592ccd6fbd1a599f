"""Folders of tasks: one process at a time, private, and deleted when they are no longer used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.errors import StoreError
from penstock.state.task_directory import TaskDirectory, remove_unused

HOLD = """
import sys
from pathlib import Path
from penstock.state.task_directory import TaskDirectory
held = TaskDirectory(Path(sys.argv[1]), sys.argv[2])
held.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_elsewhere(root: Path, task: str) -> Iterator[subprocess.Popen[str]]:
    """Another process has the folder locked."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root), task],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        try:
            yield child
        finally:
            child.kill()


def aged(folder: Path, seconds: float) -> None:
    """Makes every file of a folder look older."""
    past = time.time() - seconds
    for file in folder.rglob("*"):
        if file.is_file():
            os.utime(file, (past, past))


def test_a_folder_is_made_private(tmp_path: Path) -> None:
    """State may hold what other users of the machine must not read."""
    directory = TaskDirectory(tmp_path / "app", "0_1")
    directory.acquire()
    assert directory.path == tmp_path / "app" / "0_1"
    assert directory.path.stat().st_mode & 0o777 == 0o700
    directory.release()
    directory.path.chmod(0o755)
    directory.acquire()
    assert directory.path.stat().st_mode & 0o777 == 0o700
    directory.release()


def test_a_folder_that_another_process_holds_is_refused(tmp_path: Path) -> None:
    """The error names the process, so that the user can look for it."""
    directory = TaskDirectory(tmp_path, "0_0")
    with held_elsewhere(tmp_path, "0_0") as child:
        with pytest.raises(StoreError, match="store-locked") as caught:
            directory.acquire()
        assert f"process {child.pid}" in caught.value.message
        assert str(directory.path) in caught.value.message
        holder = directory.holder()
        assert holder is not None
        assert holder.pid == child.pid
        assert time.time() - 600 < holder.started_at < time.time() + 5
        other = TaskDirectory(tmp_path, "0_1")
        other.acquire()
        other.release()


def test_a_killed_process_leaves_the_folder_free(tmp_path: Path) -> None:
    """The lock goes with the process; what it wrote about itself does not count."""
    directory = TaskDirectory(tmp_path, "0_0")
    with held_elsewhere(tmp_path, "0_0") as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert directory.holder() is None
    directory.acquire()
    holder = directory.holder()
    assert holder is not None
    assert holder.pid == os.getpid()
    directory.release()
    assert directory.holder() is None


def test_two_owners_in_one_process_are_refused(tmp_path: Path) -> None:
    """A task must not run twice in one worker; acquiring twice through one object is harmless."""
    first, second = TaskDirectory(tmp_path, "0_0"), TaskDirectory(tmp_path, "0_0")
    first.acquire()
    first.acquire()
    with pytest.raises(StoreError, match="this one"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


def test_a_folder_that_was_never_made_has_no_holder(tmp_path: Path) -> None:
    """Asking makes nothing."""
    assert TaskDirectory(tmp_path, "0_0").holder() is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a shared place another user could have made it, and could change the state in it."""
    directory = TaskDirectory(tmp_path, "0_0")
    directory.path.mkdir()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(StoreError, match="state-folder-owner") as caught:
        directory.acquire()
    assert f"user {me}," in caught.value.message
    assert "chown" in (caught.value.fix or "")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_not_a_folder_is_refused(tmp_path: Path, kind: str) -> None:
    """A link could be pointed to another place while the task runs."""
    directory = TaskDirectory(tmp_path / "root", "0_0")
    directory.path.parent.mkdir()
    if kind == "link":
        directory.path.symlink_to(tmp_path)
    else:
        directory.path.touch()
    with pytest.raises(StoreError, match="store-open-failed") as caught:
        directory.acquire()
    assert str(directory.path) in caught.value.message


def test_a_forked_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A child that user code has started may live longer than the task."""
    program = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from penstock.state.task_directory import TaskDirectory\n"
        "held = TaskDirectory(Path(sys.argv[1]), '0_0')\nheld.acquire()\n"
        "child = os.fork()\n"
        "if child == 0:\n    time.sleep(60)\n    os._exit(0)\n"
        "time.sleep(0.5)\nheld.release()\n"
        "other = TaskDirectory(Path(sys.argv[1]), '0_0')\nother.acquire()\n"
        "os.kill(child, 9)\nos.waitpid(child, 0)\nprint('acquired')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "acquired\n", done.stderr


def used(root: Path, task: str, *, age_s: float) -> Path:
    """Makes a folder that a task has left some time ago."""
    directory = TaskDirectory(root, task)
    directory.acquire()
    (directory.path / "rocksdb").mkdir()
    (directory.path / "rocksdb" / "CURRENT").touch()
    directory.release()
    aged(directory.path, age_s)
    return directory.path


def test_only_old_folders_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    """Locked, kept and young folders stay, and so does what is not a task's."""
    for task, age_s in {"old": 700, "kept": 700, "young": 500, "held": 700, "revived": 700}.items():
        used(tmp_path, task, age_s=age_s)
    (tmp_path / "revived" / "rocksdb" / "000004.log").touch()
    (tmp_path / "global").mkdir()
    (tmp_path / "note.txt").touch()
    with held_elsewhere(tmp_path, "held"):
        aged(tmp_path / "held", 700)
        assert remove_unused(tmp_path, 600, {"kept"}) == ["old"]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["global", "held", "kept", "note.txt", "revived", "young"]


def test_removing_goes_on_where_a_process_was_killed(tmp_path: Path) -> None:
    """A folder that was renamed for removal is not left behind for ever."""
    used(tmp_path, "old", age_s=700).rename(tmp_path / ".removing-old-1")
    assert remove_unused(tmp_path, 600, set()) == []
    assert list(tmp_path.iterdir()) == []


def test_removing_from_a_root_that_does_not_exist_does_nothing(tmp_path: Path) -> None:
    """The first start of an application has no state yet."""
    assert remove_unused(tmp_path / "missing", 0, set()) == []


def test_a_removed_task_can_be_acquired_again(tmp_path: Path) -> None:
    """Its folder is a new, empty one."""
    used(tmp_path, "0_0", age_s=700)
    assert remove_unused(tmp_path, 600, set()) == ["0_0"]
    directory = TaskDirectory(tmp_path, "0_0")
    directory.acquire()
    assert [path.name for path in directory.path.iterdir()] == [".lock"]
    directory.release()

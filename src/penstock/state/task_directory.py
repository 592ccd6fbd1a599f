"""The folder of a task's state, which one process at a time may use."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import shutil
import stat
import time
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from penstock.errors import StoreError
from penstock.state.engine.damaged import disk_full, is_disk_full

log = logging.getLogger(__name__)

_LOCK = ".lock"
_REMOVING = ".removing-"
#: How often to try the lock: ``holder`` and ``remove_unused`` hold it for a moment.
_TRIES, _PAUSE_S = 5, 0.01


class Holder(NamedTuple):
    """The process that holds a lock. The start time is for a later process with the same pid."""

    pid: int
    #: Seconds since 1970.
    started_at: float


class TaskDirectory:
    """The folder ``root / task`` and its lock.

    Invariant: between ``acquire`` and ``release``, no other process has the folder. The operating
    system releases the lock when the process ends, in any way. Forked processes do not keep it.
    """

    def __init__(self, root: Path, task: str) -> None:
        self.path = root / task
        self._task = task
        self._handle: int | None = None

    def acquire(self) -> None:
        """Create the folder, readable only by this user, and lock it. A second call does nothing.

        Raises:
            StoreError: ``store-locked`` if another process has it, ``state-folder-owner`` if it
                belongs to another user, ``store-open-failed`` if it cannot be created or used.
        """
        if self._handle is not None:
            return
        try:
            for _ in range(_TRIES):
                self._make_private()
                handle = _locked(self.path / _LOCK, os.O_CREAT)
                if handle is not None:
                    self._handle = handle
                    _HELD.add(self)
                    _write_holder(handle)
                    return
                time.sleep(_PAUSE_S)
        except OSError as error:
            if is_disk_full(error):
                raise disk_full(self.path, error) from error
            raise StoreError(
                "store-open-failed",
                f"task {self._task!r}: the state folder {str(self.path)!r} cannot be used"
                f" ({error})",
                fix="check that 'state.dir' can be written, or name another one",
            ) from error
        raise self._is_locked()

    def release(self) -> None:
        """Release the folder. Its files stay, and count as unused from now on."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _HELD.discard(self)
            os.utime(handle)
            os.close(handle)

    def holder(self) -> Holder | None:
        """Return the process that has the folder locked, or None if it is free.

        A process that has not written its pid yet has the pid 0.
        """
        try:
            handle = _locked(self.path / _LOCK)
        except FileNotFoundError:
            return None
        if handle is not None:
            os.close(handle)
            return None
        return _read_holder(self.path / _LOCK)

    def _make_private(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        # Not through a symbolic link, which could later point to another place.
        found = os.lstat(self.path)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(self.path))
        if found.st_uid != os.geteuid():
            raise StoreError(
                "state-folder-owner",
                f"task {self._task!r}: the state folder {str(self.path)!r} belongs to user"
                f" {found.st_uid}, this process runs as user {os.geteuid()}",
                fix="run as the user who owns it, give it to this user with chown,"
                " or name another 'state.dir'",
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            self.path.chmod(0o700)

    def _is_locked(self) -> StoreError:
        holder = _read_holder(self.path / _LOCK)
        who = f"process {holder.pid}"
        if holder.pid == os.getpid():
            who += " (this one)"
        elif not holder.pid:
            who = "another process"
        return StoreError(
            "store-locked",
            f"task {self._task!r}: the state folder {str(self.path)!r} is in use by {who}",
            fix="stop that process, or give each its own 'state.dir'",
        )


def remove_unused(root: Path, older_than_s: float, keep: AbstractSet[str]) -> list[str]:
    """Delete the folders of tasks that are not locked and were not used for a while.

    Kafka Streams does the same after ``state.cleanup.delay.ms``. A folder counts as used when the
    newest file in it was written, so a process that was killed just now does not lose its state.

    Args:
        root: the folder that has one folder per task.
        older_than_s: how long a folder must have been unused, in seconds.
        keep: names of tasks whose folders stay in any case.

    Returns:
        The names of the tasks whose folders were deleted, in order.
    """
    removed = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if folder.name.startswith(_REMOVING):
            # Left over by a process that ended during a removal.
            shutil.rmtree(folder, ignore_errors=True)
        elif folder.name not in keep and _removed(folder, older_than_s):
            removed.append(folder.name)
    if removed:
        log.info("deleted unused state of tasks %s in %s", ", ".join(removed), root)
    return removed


def _removed(folder: Path, older_than_s: float) -> bool:
    """Delete one folder if it belongs to a task, is not locked, and is old enough."""
    if folder.is_symlink():
        return False
    try:
        handle = _locked(folder / _LOCK)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        log.warning("cannot tell whether the state in %s is in use: %s", folder, error)
        return False
    if handle is None:
        return False
    try:
        if time.time() - _last_used(folder) < older_than_s:
            return False
        # Rename it first: a process that acquires the task meanwhile creates a new folder, and its
        # files are not deleted.
        doomed = folder.with_name(f"{_REMOVING}{folder.name}-{os.getpid()}")
        folder.rename(doomed)
    except OSError as error:
        log.warning("unused state in %s cannot be deleted: %s", folder, error)
        return False
    finally:
        os.close(handle)
    shutil.rmtree(doomed, ignore_errors=True)
    return True


def _last_used(folder: Path) -> float:
    """Return when the newest file under the folder was written."""
    newest = 0.0
    for parent, _, names in os.walk(folder):
        for name in names:
            # Files do not appear and disappear while the database is closed.
            newest = max(newest, os.lstat(os.path.join(parent, name)).st_mtime)
    return newest


def _locked(file: Path, flags: int = 0) -> int | None:
    """Open and lock a file; None if another process has it locked.

    Raises:
        OSError: if the file cannot be opened; ``FileNotFoundError`` if it does not exist.
    """
    handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # If the folder was removed between the two calls, the lock would be on a deleted file,
        # which no other process can see.
        if _is_same(handle, file):
            return handle
    except BlockingIOError:
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _is_same(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(file))
    except FileNotFoundError:
        return False


def _write_holder(handle: int) -> None:
    text = json.dumps({"pid": os.getpid(), "started_at": _process_started_at()})
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def _read_holder(file: Path) -> Holder:
    try:
        fields = json.loads(file.read_bytes())
        return Holder(int(fields["pid"]), float(fields["started_at"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Holder(0, 0.0)


#: The start of this process, if the operating system does not tell it.
_IMPORTED_AT = time.time()


def _process_started_at() -> float:
    """Return when this process began, in seconds since 1970."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _IMPORTED_AT
    return round(time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK"), 2)


#: Strong references, so that a folder that is not released keeps its lock.
_HELD: set[TaskDirectory] = set()


def _let_go_after_fork() -> None:
    """Close the copies of locks in a forked child, which would outlive a release by the parent."""
    for directory in list(_HELD):
        handle, directory._handle = directory._handle, None
        if handle is not None:
            os.close(handle)
    _HELD.clear()


os.register_at_fork(after_in_child=_let_go_after_fork)


def move_task(source: Path, target: Path, task: str) -> None:
    """Move the folder of a task; what the target had of it is deleted.

    Raises:
        StoreError: ``store-locked``, if a process uses one of the two folders.
    """
    taken, own = TaskDirectory(source, task), TaskDirectory(target, task)
    taken.acquire()
    try:
        own.acquire()
        own.release()
        aside = own.path.with_name(f"{_REMOVING}{task}")
        own.path.rename(aside)
        taken.path.rename(own.path)
    finally:
        taken.release()
    shutil.rmtree(aside, ignore_errors=True)

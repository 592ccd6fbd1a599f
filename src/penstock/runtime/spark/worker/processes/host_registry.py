"""Files on this host that say which slot server has a slot or a place of a pool."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.errors import StoreError, StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes.host_lock import host_lock
from penstock.runtime.spark.worker.processes.process_tree import Process
from penstock.state.engine.damaged import DISK_FULL, is_disk_full

#: Files of pools that were not written for so long are swept: their drivers have ended.
_OLD_S = 24 * 3600.0


class Entry(NamedTuple):
    """The entry of one slot server in this host's registry."""

    process: Process
    endpoint: Endpoint
    generation: int


class HostRegistry:
    """A file in a private folder that says which process on this host runs a slot.

    That process has the slot's databases open. If it does not answer any more, it must be ended
    before another process opens them. The folder holds no secret.
    """

    def __init__(self, application_id: str, state_dir: str, name: int | str) -> None:
        digest = hashlib.sha256(f"{application_id}|{state_dir}".encode()).hexdigest()[:16]
        self._path = private_folder() / f"{digest}-{name}.json"
        self._name = f"slot {name} of {application_id!r}"

    @classmethod
    def of_place(cls, pool: str, place: int) -> HostRegistry:
        """Return the file of one place of a pool: pools of other drivers have other names."""
        found = cls(pool, "", place)
        found._path = found._path.with_name(f"pool-{found._path.name}")
        found._name = f"place {place} of a pool"
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a file lock, so that only one task at a time looks for a server or starts one.

        Raises:
            StreamsError: ``worker-lost``, if another process holds the lock for too long.
        """
        with _room_in(self._path.parent):
            handle = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with host_lock(handle, f"the lock of {self._name}"):
                yield
        finally:
            os.close(handle)

    def read(self) -> Entry | None:
        """Return the server that was started last, if its process is still there."""
        return _living(self._path)

    def write(self, entry: Entry) -> None:
        text = json.dumps([entry.process, entry.endpoint, entry.generation])
        fresh = self._path.with_suffix(".new")
        with _room_in(self._path.parent):
            fresh.write_text(text)
            fresh.replace(self._path)


@contextlib.contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """Raise ``disk-full`` if the temporary folder is full; the driver waits and tries again."""
    try:
        yield
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise StoreError(
            DISK_FULL,
            f"the disk of the temporary folder {str(folder)!r} is full: {error}",
            fix="free some space, and the application continues; or give executors another folder"
            " (TMPDIR)",
        ) from error


def sweep_pools() -> None:
    """Delete the files of pools whose servers ended long ago: each driver has its own names."""
    for file in private_folder().glob("pool-*.json"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _OLD_S and _living(file) is None:
                file.unlink()
                file.with_suffix(".lock").unlink()


def _living(file: Path) -> Entry | None:
    try:
        read = json.loads(file.read_text())
        entry = Entry(Process(*read[0]), Endpoint(*read[1]), read[2])
    except (OSError, ValueError, TypeError, IndexError):
        return None
    return entry if entry.process.is_alive else None


def private_folder() -> Path:
    """Return a folder that this user owns and that only this user can read."""
    folder = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    with _room_in(folder.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StreamsError(
            "foreign-folder",
            f"the folder {str(folder)!r} belongs to another user",
            fix="delete it, or give this user a temporary folder of its own (TMPDIR)",
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder

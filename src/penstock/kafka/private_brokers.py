"""Where a running program notes its private broker, so that commands beside it find the broker."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.kafka.processes.detached import find_above
from penstock.kafka.processes.process_files import is_locked, locked

#: The note of one running program, below the folder in which it was started.
RUNNING = Path(".penstock") / "running"
_ADDRESS = "bootstrap"


@contextmanager
def noted_broker(servers: str, folder: Path | None = None) -> Iterator[bool]:
    """Note the address of a private broker inside a ``with`` block; yield whether that was done.

    It is not done if another program has noted its broker in this folder, or if the folder cannot
    be written to. The note is locked as long as the program runs: a killed program leaves a note
    that is not read any more.
    """
    here = (folder or Path.cwd()) / RUNNING
    lock = _note(here, servers)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            shutil.rmtree(here, ignore_errors=True)
            _remove_if_made(here.parent)
            os.close(lock)


def running_private_broker(start: Path | None = None) -> str | None:
    """Return the broker of a program that runs in this folder, or in the nearest one above."""
    found = find_above(RUNNING / _ADDRESS, start)
    if found is None or not is_locked(found):
        return None
    try:
        return (found / _ADDRESS).read_text(encoding="utf-8") or None
    except OSError:
        # The program has just ended.
        return None


def _note(here: Path, servers: str) -> int | None:
    lock = None
    try:
        lock = locked(here)
        if lock is None:
            return None
        ignore = here.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        (here / _ADDRESS).write_text(servers, encoding="utf-8")
    except OSError:
        if lock is not None:
            os.close(lock)
        return None
    return lock


def _remove_if_made(folder: Path) -> None:
    """Remove the project's folder of Penstock if nothing but its ``.gitignore`` is left."""
    with suppress(OSError):
        if [path.name for path in folder.iterdir()] == [".gitignore"]:
            shutil.rmtree(folder, ignore_errors=True)

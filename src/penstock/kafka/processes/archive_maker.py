"""Make an archive of a Java program's classes in the background, when the program has ended.

It is run by its path, so it imports only the standard library:
``python archive_maker.py CLASS_LIST ARCHIVE JAVA OPTION...``. It outlives the command that started
it, and runs only while the machine has nothing else to do.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_TIMEOUT_S = 600.0


def main(arguments: list[str]) -> int:
    """Make the archive of the listed classes, unless it exists or another process makes it.

    Some Java runtimes cannot write archives. Then an empty file says that it should not be tried
    again.
    """
    listed, archive = Path(arguments[0]), Path(arguments[1])
    _step_back()
    with open(archive.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        if not archive.exists():
            _make(listed, archive, arguments[2:])
        for each in archive.parent.glob(f"{archive.stem}.*.list"):
            each.unlink(missing_ok=True)
    return 0


def _make(listed: Path, archive: Path, command: list[str]) -> None:
    fresh = archive.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    drop_torn_line(listed)
    options = [f"-XX:SharedClassListFile={listed}", f"-XX:SharedArchiveFile={fresh}"]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run([command[0], *options, *command[1:]], timeout=_TIMEOUT_S, check=True)
    if not fresh.is_file():
        fresh.touch()
    fresh.replace(archive)


def drop_torn_line(listed: Path) -> None:
    """Remove the last line unless it is complete: a program that is killed leaves half a line."""
    text = listed.read_bytes()
    listed.write_bytes(text[: text.rfind(b"\n") + 1])


def _step_back() -> None:
    """Leave the processors to all other processes."""
    with suppress(OSError):
        os.nice(19)
        if sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The parent process of a broker. It ends the broker when the owner has ended, in any way.

It is run by its path, so it imports only the standard library:
``python watchdog.py OWNER_PID LOCK_FD PID_FILE SCRATCH COMMAND...``. The owner holds the other end
of standard input. The broker ends when that is closed, also because the owner has died.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

_GRACE_S = 15.0
_LOOK_EVERY_S = 0.25


def main(arguments: list[str]) -> int:
    """Run the command until it ends or the owner has ended; return the exit status.

    SCRATCH is a folder to delete in the end, or empty. If it is empty, the command may end
    regularly, so that its data needs no recovery. The command inherits LOCK_FD, and so holds
    the lock of its folder as long as it lives.
    """
    owner, lock, pid_file, scratch, *command = arguments
    # Ignore Ctrl-C: the broker must live until the owner has finished its work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(int(lock),))
    try:
        _write(pid_file, str(child.pid))
        while _has_owner(int(owner)):
            if child.poll() is not None:
                # The folder stays: the owner may start the broker again in it.
                return child.returncode
    finally:
        _end(child, gently=not scratch)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    return child.returncode


def _leave(_signal: int, _frame: object) -> None:
    raise SystemExit(143)


def _has_owner(owner: int) -> bool:
    """Wait a moment; return whether the owner lives.

    A forked child of the owner may keep the pipe open, so the owner's pid is checked, too.
    """
    readable, _, _ = select.select([0], [], [], _LOOK_EVERY_S)
    return not (readable and os.read(0, 64) == b"") and os.getppid() == owner


def _end(child: subprocess.Popen[bytes], *, gently: bool) -> None:
    if gently and child.poll() is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_S)
    if child.poll() is None:
        child.kill()
    child.wait()


def _write(file: str, text: str) -> None:
    with open(f"{file}.new", "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(f"{file}.new", file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The broker's parent process: ends the broker when its owner is gone, however the owner went.

Run by path, so it may import the standard library only:
``python watchdog.py OWNER_PID LOCK_FD PID_FILE SCRATCH COMMAND...``. The owner holds the other
end of standard input; closing it, by hand or by dying, is how a broker is ended.
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
    """Runs the command until it ends or the owner is gone; gives the command's exit status.

    SCRATCH is a folder that goes with its owner, or empty: without it the command is ended
    gently, so that what it stored needs no recovery. LOCK_FD is handed on to the command, which
    keeps the lock of its folder as long as it lives.
    """
    owner, lock, pid_file, scratch, *command = arguments
    # Ctrl-C is the owner's business: the broker is there until the owner has closed its work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(int(lock),))
    try:
        _write(pid_file, str(child.pid))
        while _has_owner(int(owner)):
            if child.poll() is not None:
                # The owner may start it again in the same folder, which therefore stays.
                return child.returncode
    finally:
        _end(child, gently=not scratch)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    return child.returncode


def _leave(_signal: int, _frame: object) -> None:
    raise SystemExit(143)


def _has_owner(owner: int) -> bool:
    """Waits a moment. A forked child may keep the pipe open, so the parent's pid counts too."""
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

"""Run a command that dies with the test and, on request, has a /tmp of its own.

Run by path, so it may import the standard library only:
``python launch.py OWNER_PID HOST_FOLDER COMMAND...``. It replaces itself by the command, so the
process id that the caller knows is the command's.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
#: What the folder of a host holds, and where the host's processes see it. /tmp comes last,
#: because the folder itself may lie there and cannot be seen any more afterwards.
PRIVATE = (("shm", "/dev/shm"), ("tmp", "/tmp"))


def main(arguments: list[str]) -> None:
    """Tie this process to its owner, give it its own folders, and become the command."""
    owner, host, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(owner):
        # The owner died before the line above, so no signal will come.
        sys.exit(1)
    if host:
        _enter(libc, host)
    os.execvp(command[0], command)


def _enter(libc: ctypes.CDLL, host: str) -> None:
    """See the host's folders as /tmp and /dev/shm, in this process and all its children."""
    _check(libc.unshare(_CLONE_NEWNS), "unshare")
    # Otherwise the mounts below would appear for every other process too.
    _mount(libc, b"none", b"/", _MS_REC | _MS_PRIVATE)
    for name, target in PRIVATE:
        _mount(libc, os.fsencode(os.path.join(host, name)), os.fsencode(target), _MS_BIND)


def _mount(libc: ctypes.CDLL, source: bytes, target: bytes, flags: int) -> None:
    _check(libc.mount(source, target, None, ctypes.c_ulong(flags), None), f"mount {target!r}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])

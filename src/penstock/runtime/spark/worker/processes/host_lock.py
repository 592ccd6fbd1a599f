"""A lock among the processes of one host, which a stopped holder does not keep for ever."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import time
from collections.abc import Iterator

from penstock.errors import StreamsError
from penstock.runtime.spark.worker.processes.process_tree import Process, this_process

log = logging.getLogger(__name__)

_LOOK_S = 0.05
#: A holder that was found stopped in so many checks in a row, which is five seconds, is ended.
#: Checks are counted, because time also passes while this process is paused.
_STOPPED_LOOKS = 100
#: Longer than it takes to end a server and to start another one.
_LONGEST_S = 90.0


@contextlib.contextmanager
def host_lock(handle: int, what: str) -> Iterator[None]:
    """Hold the lock of an open file; closing the file would release it, too.

    Args:
        what: what the lock is for, in words.

    Raises:
        StreamsError: ``worker-lost``, if another process holds it for too long.
    """
    _acquire(handle, what)
    try:
        _sign(handle, this_process())
        yield
    finally:
        # A process that is stopped later must not be taken for the holder.
        _sign(handle, None)
        fcntl.flock(handle, fcntl.LOCK_UN)


def _acquire(handle: int, what: str) -> None:
    deadline = time.monotonic() + _LONGEST_S
    stopped = 0
    while not _is_acquired(handle):
        holder = _holder(handle)
        stopped = stopped + 1 if holder is not None and holder.is_stopped else 0
        if holder is not None and stopped >= _STOPPED_LOOKS:
            log.warning("process %d is stopped and holds %s: ending it", holder.pid, what)
            holder.kill()
            stopped = 0
        if time.monotonic() > deadline:
            raise _busy(holder, what)
        time.sleep(_LOOK_S)


def _is_acquired(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(handle: int, holder: Process | None) -> None:
    # Without room on the disk the lock holds all the same; only its holder is not known.
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        if holder is not None:
            os.pwrite(handle, json.dumps(holder).encode(), 0)


def _holder(handle: int) -> Process | None:
    try:
        return Process(*json.loads(os.pread(handle, 1000, 0)))
    except (OSError, ValueError, TypeError):
        return None


def _busy(holder: Process | None, what: str) -> StreamsError:
    who = "another process" if holder is None else f"process {holder.pid}"
    return StreamsError(
        "worker-lost",
        f"{who} of this host holds {what} for more than {_LONGEST_S:.0f} s",
        fix="nothing to do if it ends: the batch runs again; else end that process",
    )

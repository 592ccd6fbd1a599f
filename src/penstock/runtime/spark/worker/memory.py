"""Memory of a worker: freed memory is kept for the next batch, garbage is collected between."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import time
from collections.abc import Iterator

# Parameters of ``mallopt``, named as in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGEST_MMAP_THRESHOLD = 32 * 1024 * 1024
#: Malloc's arenas: one for Python and one for all threads of the Kafka clients. By default each
#: of those threads would have its own.
_ARENAS = 2
#: Where several threads hold the collector all the time, garbage is collected after this time.
_LONGEST_S = 10.0


def keep_freed_memory() -> None:
    """Tell the C library not to return freed memory to the system between batches.

    Memory that was returned costs a page fault per page when it is needed again: about half the
    time of decoding and encoding JSON. Without glibc this function does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_M_TOP_PAD, 16 * 1024 * 1024)
    mallopt(_M_ARENA_MAX, _ARENAS)


class _Collector:
    """Python's garbage collector, switched off as long as at least one thread holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._was_enabled = False
        self._since = 0.0

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
                self._since = time.monotonic()
            self._holders += 1

    def let_go(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._was_enabled:
                gc.enable()
            elif self._was_enabled and time.monotonic() - self._since > _LONGEST_S:
                # Threads of several applications overlap, and the block might never end.
                self._since = time.monotonic()
                gc.collect(1)


_COLLECTOR = _Collector()


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switch Python's garbage collector off inside a ``with`` block.

    The collector would visit all records of a batch many times: half the time of reading them.
    Garbage in cycles is collected after the block. Several threads may be in such a block at once.
    """
    _COLLECTOR.hold()
    try:
        yield
    finally:
        _COLLECTOR.let_go()

"""Memory of a worker: what a batch has freed is kept, and its garbage is looked for after it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
from collections.abc import Iterator

# Names of glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGEST_MMAP_THRESHOLD = 32 * 1024 * 1024
#: One for Python and one for the threads of the clients, which would have one each.
_ARENAS = 2


def keep_freed_memory() -> None:
    """Tells the C library not to give memory back to the system between batches.

    Getting it again costs a page fault for every page: about half the time of decoding and
    encoding JSON. Without glibc nothing happens.
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
    """Python's search for circles, held up as long as anybody wants that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._was_enabled = False

    def hold(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._holders += 1

    def let_go(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._was_enabled:
                gc.enable()


_COLLECTOR = _Collector()


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Lets the search for circles wait: it would walk over all records of the batch many times.

    That is half the time of reading them. What a batch leaves behind is found after it. Several
    threads may ask for this at once.
    """
    _COLLECTOR.hold()
    try:
        yield
    finally:
        _COLLECTOR.let_go()

"""Keeps memory that a batch has freed, because the next batch wants the same again."""

from __future__ import annotations

import ctypes
import sys

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

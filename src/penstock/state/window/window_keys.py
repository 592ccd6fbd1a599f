"""The bytes of window and session keys, in Java's format for changelogs and segments.

A composite key is the serialized key with times of fixed size around it, in big-endian order, so
that byte order is key order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct

from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.windowed import Window, window_end

MAX_SEQUENCE = 2**31 - 1
#: How many windows are shared between keys; far more than are open at a time.
_SHARED_WINDOWS = 4096

_WINDOW_SUFFIX = Struct(">qi")
_SESSION_SUFFIX = Struct(">qq")
#: The size of the times behind the key of a session, in bytes.
SESSION_SUFFIX_SIZE = _SESSION_SUFFIX.size
_LONG = Struct(">q")
_INT = Struct(">i")

#: Stores ordered by time have two entries per record, which differ in their first byte.
TIME_FIRST = b"\x00"
KEY_FIRST = b"\x01"

WindowKey = tuple[bytes, int, int]
SessionKey = tuple[bytes, int, int]


#: Packs window start and sequence number: what follows the key in a window key.
window_suffix = _WINDOW_SUFFIX.pack


def window_key(key: bytes, start: int, sequence: int = 0) -> bytes:
    """Return key, window start, sequence number."""
    return key + _WINDOW_SUFFIX.pack(start, sequence)


def split_window_key(data: bytes) -> WindowKey:
    start, sequence = _WINDOW_SUFFIX.unpack_from(data, len(data) - 12)
    return data[:-12], start, sequence


def window_key_time(data: bytes) -> int:
    start: int = _LONG.unpack_from(data, len(data) - 12)[0]
    return start


def session_key(key: bytes, start: int, end: int) -> bytes:
    """Return key, session end, session start: the end decides which sessions expire."""
    return key + _SESSION_SUFFIX.pack(end, start)


def session_keys(keys: Sequence[bytes], starts: Sequence[int], ends: Sequence[int]) -> list[bytes]:
    """Return what ``session_key`` returns for each session."""
    times = map(_SESSION_SUFFIX.pack, ends, starts)
    return [key + suffix for key, suffix in zip(keys, times, strict=True)]


def split_session_key(data: bytes) -> SessionKey:
    """Return key, start, end."""
    end, start = _SESSION_SUFFIX.unpack_from(data, len(data) - 16)
    return data[:-16], start, end


def session_key_time(data: bytes) -> int:
    end: int = _LONG.unpack_from(data, len(data) - 16)[0]
    return end


def time_first_window_key(key: bytes, start: int, sequence: int = 0) -> bytes:
    return TIME_FIRST + _LONG.pack(start) + key + _INT.pack(sequence)


def split_time_first_window_key(data: bytes) -> WindowKey:
    start = _LONG.unpack_from(data, 1)[0]
    sequence = _INT.unpack_from(data, len(data) - 4)[0]
    return data[9:-4], start, sequence


def time_first_session_key(key: bytes, start: int, end: int) -> bytes:
    return TIME_FIRST + _SESSION_SUFFIX.pack(end, start) + key


def split_time_first_session_key(data: bytes) -> SessionKey:
    """Return key, start, end."""
    end, start = _SESSION_SUFFIX.unpack_from(data, 1)
    return data[17:], start, end


def time_first_bound(time: int) -> bytes:
    """Return the lower bound of all time-first keys of that time."""
    return TIME_FIRST + _LONG.pack(time)


def highest_window_key(key: bytes, latest_start: int) -> bytes:
    """Return an upper bound of the window keys of keys up to ``key`` and up to that start."""
    return _highest(key, _WINDOW_SUFFIX.pack(max(latest_start, 0), MAX_SEQUENCE))


def highest_session_key(key: bytes, latest_end: int) -> bytes:
    """Return an upper bound of the session keys of keys up to ``key`` and up to that end."""
    return _highest(key, _SESSION_SUFFIX.pack(max(latest_end, 0), MAX_LONG))


def _highest(key: bytes, suffix: bytes) -> bytes:
    # After a shorter key comes its time, where a longer key with the same start has further bytes
    # of the key. So any prefix can have the highest composite key. Kafka Streams assumes that times
    # begin with a zero byte, and loses entries of some keys.
    return max(key[:size] + suffix for size in range(len(key) + 1))


def after(data: bytes) -> bytes:
    """Return the next key after ``data``, to make an inclusive bound exclusive."""
    return data + b"\x00"


def shared_windows(size_ms: int) -> Callable[[int], Window]:
    """Return a function from start to window that shares windows between keys, for speed."""
    shared: dict[int, Window] = {}

    def window_at(start: int) -> Window:
        window = shared.get(start)
        if window is None:
            if len(shared) >= _SHARED_WINDOWS:
                shared.clear()
            window = shared[start] = window_from(start, size_ms)
        return window

    return window_at


def window_from(start: int, size_ms: int) -> Window:
    """Return the window of that size, limited to the last possible time."""
    return Window(start, window_end(start, size_ms))

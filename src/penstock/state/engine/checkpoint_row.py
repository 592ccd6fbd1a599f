"""The row of a map that holds its checkpoint, kept apart from every key of the store.

A store's key may be any bytes. So keys that begin with the bytes of the checkpoint's key are stored
with one zero byte inserted behind them. This keeps the order of keys, and all other keys stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.state.bytes_store import BytesStore, Entry, KeyRange

CHECKPOINT_KEY = b"\xff" * 24 + b"checkpoint"
_SIZE = len(CHECKPOINT_KEY)


def stored_key(key: bytes) -> bytes:
    """Return the key of the map for a key of the store.

    >>> stored_key(b"ann")
    b'ann'
    >>> stored_key(CHECKPOINT_KEY) == CHECKPOINT_KEY
    False
    """
    if key < CHECKPOINT_KEY or not key.startswith(CHECKPOINT_KEY):
        return key
    return CHECKPOINT_KEY + b"\0" + key[_SIZE:]


def stored_range(keys: KeyRange) -> KeyRange:
    return stored_key(keys[0]), stored_key(keys[1])


def scan_rows(
    store: BytesStore, start: bytes | None, end: bytes | None, *, reverse: bool
) -> Iterator[Entry]:
    """Scan the rows of the store, without the checkpoint, under the keys of the store."""
    if end is not None and end <= CHECKPOINT_KEY:
        return store.scan(start, end, reverse=reverse)
    low = None if start is None else stored_key(start)
    high = None if end is None else stored_key(end)
    return _store_rows(store.scan(low, high, reverse=reverse))


def _store_rows(entries: Iterator[Entry]) -> Iterator[Entry]:
    for entry in entries:
        key = entry[0]
        if key < CHECKPOINT_KEY or not key.startswith(CHECKPOINT_KEY):
            yield entry
        elif key != CHECKPOINT_KEY:
            yield CHECKPOINT_KEY + key[_SIZE + 1 :], entry[1]

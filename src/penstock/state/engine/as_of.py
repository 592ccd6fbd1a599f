"""A store as it was at an earlier moment, while it is written on.

The snapshots of rocksdict 0.3.29 answer single keys only: their iterators show the present rows. So
what is overwritten is kept here, as long as somebody reads the earlier moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from penstock.errors import UnavailableError
from penstock.state.bytes_store import BytesStore, Entry, Write

_NOTHING = b""


class Undo:
    """The values that keys had at one moment, for the keys that were written since.

    Later moments are linked behind it, so a write is noted once, in the newest.
    """

    __slots__ = ("__weakref__", "_old", "is_whole", "later")

    def __init__(self) -> None:
        self._old: dict[bytes, bytes | None] = {}
        self.later: Undo | None = None
        #: False once something was overwritten that is not kept any more.
        self.is_whole = True

    def __len__(self) -> int:
        """Return how many keys were written since, up to the next moment."""
        return len(self._old)

    def note(self, store: BytesStore, writes: Collection[Write]) -> None:
        """Keep what the writes are going to replace. Call it before they are applied."""
        old = self._old
        keys = [key for key in dict(writes) if key not in old]
        for key, value in zip(keys, store.multi_get(keys), strict=True):
            old[key] = value

    def keys(self) -> set[bytes]:
        """Return the keys that were written up to the next moment."""
        return set(self._old)

    def find(self, key: bytes) -> tuple[bool, bytes | None]:
        """Return whether a key was written since, and its value before."""
        undo: Undo | None = self
        while undo is not None:
            if key in undo._old:
                return True, undo._old[key]
            undo = undo.later
        return False, None

    def all(self) -> dict[bytes, bytes | None]:
        """Return the values before of all keys that were written since."""
        links: list[Undo] = [self]
        while (later := links[-1].later) is not None:
            links.append(later)
        found: dict[bytes, bytes | None] = {}
        for undo in reversed(links):
            found |= undo._old
        return found


class StoreAsOf:
    """Reads a store as of the moment at which an ``Undo`` began. All threads may read.

    Reading raises ``rows-overwritten`` once what was overwritten is not kept as a whole.
    """

    def __init__(self, store: BytesStore, undo: Undo) -> None:
        self._store, self._undo = store, undo

    @property
    def is_whole(self) -> bool:
        """Whether everything that was overwritten since is kept."""
        undo: Undo | None = self._undo
        while undo is not None:
            if not undo.is_whole:
                return False
            undo = undo.later
        return True

    def changed_until(self, later: StoreAsOf) -> set[bytes] | None:
        """Return the keys that were written from this moment to a later one.

        None if that is not known: what was overwritten is not kept, or it is another store.
        """
        found: set[bytes] = set()
        undo: Undo | None = self._undo
        while undo is not later._undo:
            if undo is None or not undo.is_whole:
                return None
            found |= undo.keys()
            undo = undo.later
        return found

    def _check(self) -> None:
        """Refuse to answer if something is missing; ask after everything was looked up."""
        if not self.is_whole:
            raise UnavailableError(
                "rows-overwritten",
                "too many rows were overwritten since this moment, so it is not kept any more",
                fix="read a newer one",
            )

    def get(self, key: bytes) -> bytes | None:
        is_old, value = self._undo.find(key)
        if is_old:
            self._check()
            return value
        value = self._store.get(key)
        # It may have been written between the two: then the old value was noted before.
        is_old, before = self._undo.find(key)
        self._check()
        return before if is_old else value

    def scan(self, start: bytes | None, end: bytes | None) -> Iterator[Entry]:
        """Yield the entries of ``[start, end)`` in key order; None is an open bound."""
        # In this order: what is written before the scan begins is noted, and what is written after
        # it does not show in the scan.
        rows = self._store.scan(start, end)
        old = self._undo.all()
        self._check()
        low = start or _NOTHING
        gone = iter(
            sorted(
                (key, value)
                for key, value in old.items()
                if value is not None and key >= low and (end is None or key < end)
            )
        )
        before = next(gone, None)
        for key, value in rows:
            while before is not None and before[0] < key:
                yield before
                before = next(gone, None)
            if before is not None and before[0] == key:
                yield before
                before = next(gone, None)
            elif key not in old:
                yield key, value
        if before is not None:
            yield before
            yield from gone
